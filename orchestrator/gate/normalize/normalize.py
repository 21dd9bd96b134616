"""Turns an effect into one exact call, which is checked, shown, hashed and sent; a method is never guessed. Pure."""

from dataclasses import dataclass, field, replace
from typing import Any, Final

from bitrix.catalogue import names
from bitrix.catalogue.catalogue import Catalogue, Entity, Method
from bitrix.catalogue.names import is_method_name
from bitrix.client.batch import find_references
from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import Effect
from orchestrator.domain.effect import EffectKind as EffectKindName
from orchestrator.gate.call import effect_kinds, fields, params, permissions, targets
from orchestrator.gate.call.effect import Call, Refuse
from orchestrator.gate.call.kinds.base import KindRequest
from orchestrator.gate.call.kinds.registry import KINDS
from orchestrator.gate.call.lookup import Lookup
from orchestrator.gate.call.origin_marks import ORIGINATOR
from orchestrator.gate.call.params import Refusal, build_refusal
from orchestrator.gate.call.permissions import find_visible_users
from orchestrator.gate.normalize import batch, sums
from orchestrator.gate.normalize.moments import localize_times
from orchestrator.gate.normalize.nearest_method import find_nearest_method
from state.stored import JsonObject


@dataclass(frozen=True, kw_only=True)
class NormalizeContext:
    catalogue: Catalogue
    portal: str
    actor: Actor
    effect_id: str


def normalize(effect: Effect, *, catalogue: Catalogue, portal: str, actor: Actor, effect_id: str) -> Call | Refuse:
    """Raises nothing (S004-24, S004-25, S004-27, S004-69). Idempotent: normalizing the result gives the same call."""
    bench = NormalizeContext(catalogue=catalogue, portal=portal, actor=actor, effect_id=effect_id)
    try:
        return _build_any_call(effect, bench)
    except Refusal as refusal:
        return refusal.verdict


def _build_any_call(effect: Effect, bench: NormalizeContext) -> Call:
    proposed = params.parse_params(effect.params)
    kind = effect_kinds.resolve_kind(effect.kind, effect.method)
    if kind != "bitrix":
        return _build_other_kind(kind, effect, proposed, bench)
    spec = find_method(effect.method, bench.catalogue)
    if spec.name == "batch":
        return _build_batch(spec, proposed, bench)
    call = build_call(spec, proposed, bench, origin=bench.effect_id)
    _check_plain(call)
    return call


def find_method(method: str, catalogue: Catalogue) -> Method:
    """Regardless of case; raises Refusal for malformed and unlisted names."""
    name = method.strip()
    spec = catalogue.find(name) if is_method_name(name) else None
    if spec is not None:
        return spec
    code = "gate-method-unknown" if is_method_name(name) else "gate-method-odd"
    core = name.strip("/").removesuffix(".json").removesuffix(".xml")
    if own := effect_kinds.list_steps_like(core):
        raise build_refusal(code, method=name, hint=f" There is: {', '.join(own)}.")
    near = find_nearest_method(core, catalogue)
    raise build_refusal(code, method=name, hint=f" Did you mean {near}?" if near else "")


def build_call(spec: Method, proposed: JsonObject, bench: NormalizeContext, *, origin: str) -> Call:
    """`origin` marks the record that it creates. Checks no rules and rights. Raises Refusal."""
    spelled = params.convert_ids(spec, params.normalize_names(spec, proposed))
    params.check_inner_names(spec, spelled)
    lookup = Lookup(spec=spec, params=spelled, catalogue=bench.catalogue)
    spelled = _number_kind_of_record(spec, spelled, lookup.kind)
    # a caller may write only these origin marks, so that normalizing again changes nothing
    spelled_fields = params.normalize_fields(
        spec, spelled, entity=lookup.definition, marks={"originatorid": ORIGINATOR, "originid": origin}
    )
    _check_kind_of_record(spec, spelled_fields, lookup.kind)
    done = fill_system_fields(spec, spelled_fields, actor=bench.actor, origin=origin, entity=lookup.entity, definition=lookup.definition)
    params.check_required(spec, done.params)
    lookup = lookup.follow(done.params)
    for tie in lookup.bound:
        if not find_references(tie.written) and (tie.number is None or not tie.entity):
            raise build_refusal("gate-param-invalid", param=tie.path, expected=_LETTERED if tie.is_coded else _PAIRED)
    names_owner = permissions.names_owner(spec, spelled_fields.get("filter"))
    call = Call.from_lookup(lookup, portal=bench.portal, system_fields=done.system_fields, names_owner=names_owner)
    return localize_times(sums.round_sums(sums.extract_currencies(call, locale=bench.actor.locale)), bench.actor.time_zone)


_LETTERED: Final = "references such as @deal:NAME, or kinds of records and their numbers such as D_481"
_PAIRED: Final = "the number of a record, with its kind beside it"


def _number_kind_of_record(spec: Method, proposed: dict[str, object], entity: str) -> dict[str, object]:
    """The portal takes only numbers, not words, for a kind of record."""
    name = spec.target_entity.removeprefix("@")
    if not spec.target_entity.startswith("@") or name not in _NUMBERED_KINDS or not isinstance(proposed.get(name), str):
        return proposed
    number = names.find_kind_number(entity)
    return proposed if number is None else {**proposed, name: number}


def _check_kind_of_record(spec: Method, proposed: JsonObject, entity: str) -> None:
    path = spec.target_entity.removeprefix("@")
    kind_value = targets.get_at_path(proposed, path) if spec.target_entity.startswith("@") and not entity else None
    if kind_value is not None:
        if find_references(kind_value) or spec.owner == "self" or _is_list_condition(spec, path, kind_value):
            return
        raise build_refusal("gate-param-invalid", param=path, expected="a kind of record such as deal or 2")


def _check_plain(call: Call) -> None:
    """Outside a batch a reference `$result[...]` has no meaning. Raises Refusal."""
    for tie in call.lookup.bound if call.lookup is not None else ():
        if tie.number is None:
            raise build_refusal("gate-param-invalid", param=tie.path, expected="the number of a record")
    for path, place in call.places.items():
        if targets.as_id(place) is None and not _is_list_condition(call.spec, path, place):
            raise build_refusal("gate-param-invalid", param=path, expected="the number of a record")


def _is_list_condition(spec: Method, path: str, condition: object) -> bool:
    """A read by several values is about no single record: only who sees all may ask for it."""
    return spec.reads_only and path.startswith("filter.") and isinstance(condition, list)


def _build_other_kind(name: EffectKindName, effect: Effect, proposed: dict[str, object], bench: NormalizeContext) -> Call:
    kind = KINDS.get(name)
    method = kind.find_method(effect.method) if kind is not None else None
    if kind is None or method is None:
        hint = params.build_hint(effect.method, effect_kinds.list_methods(name))
        raise build_refusal("gate-kind-method", kind=name, method=effect.method, hint=hint)
    keys = effect.provenance.keys
    request = KindRequest(
        method=method,
        effect_id=bench.effect_id,
        person=bench.actor.key,
        role=bench.actor.role,
        zone=bench.actor.time_zone,
        locale=bench.actor.locale,
        sees=find_visible_users(bench.actor),
        keys=keys,
    )
    spec, valid = method.spec, kind.normalize(request, proposed)
    about = kind.find_targets(valid)
    return Call(
        kind=name,
        method=spec.name,
        params=valid,
        spec=spec,
        classes=spec.classes,
        portal=bench.portal,
        entity=spec.entity,
        targets=about,
        entities=targets.find_definitions(*(target[0] for target in about), catalogue=bench.catalogue),
        proposed_essence=kind.build_essence(spec.name, valid),
    )


def _build_batch(spec: Method, proposed: dict[str, object], bench: NormalizeContext) -> Call:
    outer = params.normalize_names(spec, proposed)
    params.check_required(spec, outer)
    calls: dict[str, Call] = {}
    for command in batch.unpack_commands(outer["cmd"]):
        row = find_method(command.method, bench.catalogue)
        call = build_call(row, command.params, bench, origin=f"{bench.effect_id}:{command.key}")
        calls[command.key] = batch.bind_command(replace(call, key=command.key), calls)
    return batch.build_batch(spec, tuple(calls.values()), halt=batch.parse_halt(outer.get("halt")), portal=bench.portal)


_NUMBERED_KINDS = frozenset({"entityTypeId", "ownerTypeId"})
_MARKED_ENTITIES = frozenset({"lead", "deal", "contact", "company", "activity"})


@dataclass(frozen=True, kw_only=True)
class EnrichedParams:
    """As they will be sent, and the names of the fields that this program added."""

    params: dict[str, object]
    system_fields: frozenset[str] = field(default_factory=frozenset)


def fill_system_fields(
    spec: Method, params: JsonObject, *, actor: Actor, origin: str, entity: str, definition: Entity | None
) -> EnrichedParams:
    """Origin marks, the responsible person and the filter of a list. Raises Refusal if it cannot be limited."""
    result = dict(params)
    added: set[str] = set(spec.forced)
    if actor.bitrix_user_id is not None:
        for name in filter(None, (spec.responsible, spec.author)):
            added |= _set_person(spec, result, name, actor.bitrix_user_id, entity)
    if spec.marked and entity in _MARKED_ENTITIES:
        mark = names.list_origin_fields(in_items=spec.name.startswith("crm.item."))
        result[spec.fields_at] = {**result.get(spec.fields_at, {}), mark[0]: ORIGINATOR, mark[1]: origin}
        added |= set(mark)
    allowed = find_visible_users(actor)
    if allowed is not None and any(path.startswith("filter.") for path in spec.target):
        permissions.check_filter(spec, result.get("filter"))
    also = definition.also_owned_by if definition is not None else ()
    if spec.owner == "filter" and allowed is not None and not permissions.is_owned_otherwise(result.get("filter"), also, allowed):
        result["filter"] = permissions.narrow_filter(spec, result.get("filter"), allowed)
        added.add(f"filter.{spec.owner_filter.lstrip('@')}")
    return EnrichedParams(params=result, system_fields=frozenset(added))


def _set_person(spec: Method, params: dict[str, Any], name: str, user: int, entity: str) -> set[str]:
    """Unless the caller named one."""
    place: JsonObject = params.get(spec.fields_at, {}) if spec.fields_at else params
    field_key = fields.to_field_key(name, entity)
    own_names = {one for one in place if fields.to_field_key(one, entity) == field_key}
    if any(place[one] not in (None, "", 0, "0", [], {}) for one in own_names):
        return set()
    filled = {**{one: value for one, value in place.items() if one not in own_names}, name: user}
    if spec.fields_at:
        params[spec.fields_at] = filled
    else:
        params.clear()
        params.update(filled)
    return {name}

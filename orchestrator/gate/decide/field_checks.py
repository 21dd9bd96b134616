"""The portal silently ignores unknown field names. If its list cannot be read, no call is refused."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from bitrix.catalogue import names
from bitrix.catalogue.catalogue import ALSO_FILTERED, ALSO_TAKEN, FILLED, TASKS_FILTERED, Method
from bitrix.catalogue.names import CRM
from bitrix.errors import BitrixError
from orchestrator.directory.ranking import find_similar_codes
from orchestrator.directory.reference import Reference
from orchestrator.directory.reference_data import Field
from orchestrator.directory.standard_fields import list_standard_fields
from orchestrator.domain.actor import Actor
from orchestrator.gate.call import critical_fields, fields, multifields, permissions
from orchestrator.gate.call.effect import Call, Facts, Refuse
from orchestrator.gate.call.reasons import refuse
from orchestrator.language.text import quote
from state.stored import JsonObject

_MOVABLE: Final = "categoryId"
"""Immutable by the portal's list, yet crm.item.update moves a deal to another funnel with it."""
_DEAL_UPDATE: Final = "crm.deal.update"
_FUNNEL: Final = "categoryid"
_OWN_NUMBER: Final = "id"


def find_field_problem(call: Call, *, facts: Facts, actor: Actor) -> Refuse | None:
    """None also if the portal's list is not known."""
    return next((problem for leaf in call.leaves for problem in _find_problems(leaf, facts, actor)), None)


def _find_problems(call: Call, facts: Facts, actor: Actor) -> Iterator[Refuse]:
    place = f"{call.key}: " if call.key else ""
    if call.method == _DEAL_UPDATE:
        yield from _check_funnel(call, facts, place)
    known = facts.field_lists.get(find_list_name(call))
    if not known:
        return
    for name in extract_names_to_check(call):
        if name not in known and not _is_taken(call.spec, name, find_list_name(call)) and not _is_original(call, name, known):
            yield _refuse_unknown(call, name, known, actor, place)
    if not call.reads_only:
        yield from _check_locked_fields(call, known, facts, place)
    if call.spec.verb == "add":
        yield from _check_missing_fields(call, known, place)


def _check_funnel(call: Call, facts: Facts, place: str) -> Iterator[Refuse]:
    field_values = call.written_fields
    for name in field_values:
        if fields.to_field_key(name, call.entity) == _FUNNEL:
            is_unchanged = critical_fields.has_value(call, name, field_values[name], critical_fields.find_current_record(call, facts))
            if not is_unchanged:
                number = next((number for kind, number in call.targets if kind == "deal"), 0)
                yield refuse("gate-move-funnel", param=f"{place}{name}", id=number)


def may_have(spec: Method, name: str) -> bool:
    """Whether every portal has a field of that name for the method's filter or, if it writes, takes a value for it."""
    key = fields.to_field_key(name, spec.entity)
    if not spec.reads_only and (key == _OWN_NUMBER or (spec.name == _DEAL_UPDATE and key == _FUNNEL)):
        return False
    lists = {list_name: known for list_name in _list_names(spec) if (known := list_standard_fields(list_name))}
    return not lists or any(_may_have(spec, name, list_name, known) for list_name, known in lists.items())


def _may_have(spec: Method, name: str, list_name: str, known: Mapping[str, Field]) -> bool:
    field = known.get(name)
    if field is None:
        return _is_taken(spec, name, list_name)
    return spec.reads_only or not _is_locked(spec, field)


def _is_taken(spec: Method, name: str, list_name: str) -> bool:
    if spec.reads_only:
        return name in ALSO_FILTERED or (list_name == "task" and name in TASKS_FILTERED)
    if list_name.startswith("item:"):
        return multifields.is_multifield(name)
    return name in ALSO_TAKEN.get(list_name, ()) or (name in names.MULTIFIELDS and spec.entity != "deal")


def _is_original(call: Call, name: str, known: Mapping[str, Field]) -> bool:
    return call.params.get("useOriginalUfNames") == "Y" and any(field.upper_name == name for field in known.values())


def _is_locked(spec: Method, field: Field) -> bool:
    return field.read_only or (field.immutable and spec.verb == "update" and field.code != _MOVABLE)


def _refuse_unknown(call: Call, name: str, known: Mapping[str, Field], actor: Actor, place: str) -> Refuse:
    titles = {code: field.title for code, field in known.items() if call.reads_only or not field.read_only}
    near = [f"{code} {quote(titles[code], actor.locale)}" if titles[code] else code for code in find_similar_codes(name, titles, most=2)]
    near_titles = (
        ", ".join(quote(titles[code], actor.locale) for code in find_similar_codes(name, titles, most=2) if titles[code]) or "none"
    )
    if call.reads_only:
        args = {"near": ", ".join(near) or "none", "titles": near_titles}
        return refuse("gate-filter-field", method=call.method, param=f"{place}filter.{name}", field=name, **args)
    hint = f" Did you mean {', '.join(near)}?" if near else ""
    return refuse("gate-param-unknown", method=call.method, param=f"{place}{call.spec.fields_at}.{name}", titles=near_titles, hint=hint)


def _check_locked_fields(call: Call, known: Mapping[str, Field], facts: Facts, place: str) -> Iterator[Refuse]:
    record = critical_fields.find_current_record(call, facts)
    for name, value in extract_names_to_check(call).items():
        field = known.get(name)
        if field is None or (call.spec.verb == "update" and critical_fields.has_value(call, name, value, record)):
            continue
        if _is_locked(call.spec, field):
            title = f" «{field.title}»" if field.title else ""
            yield refuse("gate-param-reserved", param=f"{place}{name}{title}")


def _check_missing_fields(call: Call, known: Mapping[str, Field], place: str) -> Iterator[Refuse]:
    """Of tasks the portal itself reports them."""
    if find_list_name(call) == "task":
        return
    field_values = call.written_fields
    for code, field in known.items():
        if not field.required or field.read_only or fields.to_field_key(code, call.entity) in FILLED:
            continue
        if fields.find_value(field_values, code, call.entity) in (None, "", [], {}):
            title = f" «{field.title}»" if field.title else ""
            yield refuse("gate-param-missing", method=call.method, param=f"{place}{code}{title}")


log = logging.getLogger(__name__)

_WRITES = frozenset({"add", "update"})
_CRM_KINDS = frozenset(CRM.values())


def find_list_name(call: Call) -> str:
    """Such as "deal", "item:2", "task"; "" if the call's fields are not checked."""
    if _is_item_write(call.spec):
        return f"item:{call.params.get('entityTypeId')}"
    return next(iter(_list_names(call.spec)), "")


def _list_names(spec: Method) -> Sequence[str]:
    """Those of all kinds of records that the method may be about."""
    if _is_item_write(spec):
        return [f"item:{number}" for number in CRM]
    if spec.name in {"tasks.task.add", "tasks.task.update", "tasks.task.list"}:
        return ["task"]
    family, _, verb = spec.name.rpartition(".")
    is_checked = spec.entity in _CRM_KINDS and family == f"crm.{spec.entity}" and verb in {*_WRITES, "list"}
    return [spec.entity] if is_checked else []


def _is_item_write(spec: Method) -> bool:
    family, _, verb = spec.name.rpartition(".")
    return family == "crm.item" and verb in _WRITES


def extract_names_to_check(call: Call) -> JsonObject:
    """What a write itself writes, or the conditions of a list's filter."""
    if call.reads_only:
        return permissions.extract_conditions(call.params.get("filter")) if call.spec.verb == "list" else {}
    place = call.params.get(call.spec.fields_at)
    return {name: value for name, value in place.items() if name not in call.system_fields} if isinstance(place, Mapping) else {}


async def load_field_lists(call: Call, lists: Reference) -> Mapping[str, Mapping[str, Field]]:
    """By name; lists that cannot be read are missing."""
    field_lists: dict[str, Mapping[str, Field]] = {}
    for leaf in call.leaves:
        name, to_check = find_list_name(leaf), extract_names_to_check(leaf)
        if not name or not (to_check or leaf.spec.verb == "add"):
            continue
        try:
            field_lists[name] = await lists.load_fields(name, has=frozenset(to_check).issubset)
        except BitrixError:
            continue
        except Exception:  # an unforeseen form of a list must not prevent the check of the call
            log.exception("a list of fields cannot be read", extra={"action": "field_list_failed", "fields_of": name})
    return field_lists

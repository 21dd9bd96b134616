"""What the gate adds to a call: origin marks, the responsible person, the limits of what the speaker may see. Ring 2, pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bitrix import names
from bitrix.catalogue import Method
from orchestrator.gate import fields, filters
from orchestrator.gate.rights import find_visible_users
from orchestrator.messages import Actor

ORIGINATOR = "sdelka"
_MARKED_ENTITIES = frozenset({"lead", "deal", "contact", "company", "activity"})


@dataclass(frozen=True, kw_only=True)
class EnrichedParams:
    """Parameters as they will be sent, and the names of what was added."""

    params: dict[str, Any]
    system_fields: frozenset[str] = field(default_factory=frozenset)


def fill_system_fields(spec: Method, params: Mapping[str, Any], *, actor: Actor, origin: str, entity: str) -> EnrichedParams:
    """`params` with what the system sets; raises Refusal when the filter cannot be limited to what the actor may see.

    DESIGN §3 "Enrich" and "Rights". `origin` is the effect id, with the command's key inside a batch.
    """
    result = dict(params)
    added: set[str] = set(spec.forced)
    if spec.responsible and actor.bitrix_user_id is not None:
        added |= _set_responsible(spec, result, actor.bitrix_user_id, entity)
    if spec.marked and entity in _MARKED_ENTITIES:
        mark = find_mark_fields(spec)
        result[spec.fields_at] = {**result.get(spec.fields_at, {}), mark[0]: ORIGINATOR, mark[1]: origin}
        added |= set(mark)
    allowed = find_visible_users(actor)
    if allowed is not None and any(path.startswith("filter.") for path in spec.target):
        filters.check_filter(result.get("filter"))
    if spec.owner == "filter" and allowed is not None:
        result["filter"] = filters.narrow_filter(spec, result.get("filter"), allowed)
        added.add(f"filter.{spec.owner_filter.lstrip('@')}")
    return EnrichedParams(params=result, system_fields=frozenset(added))


def find_mark_fields(spec: Method) -> tuple[str, str]:
    """The two fields that carry our mark, in the spelling of the method's family."""
    return names.list_origin_fields(in_items=spec.name.startswith("crm.item."))


def build_marks(origin: str) -> dict[str, str]:
    """The marks by squeezed field name: the only values a caller may bring along, so that normalising twice is the same."""
    return {"originatorid": ORIGINATOR, "originid": origin}


def _set_responsible(spec: Method, params: dict[str, Any], user: int, entity: str) -> set[str]:
    """Put the speaker where nobody is named; a name in any spelling counts."""
    place = params.get(spec.fields_at, {}) if spec.fields_at else params
    wanted = fields.to_field_key(spec.responsible, entity)
    given = {name for name in place if fields.to_field_key(name, entity) == wanted}
    if any(place[name] not in (None, "", 0, "0", [], {}) for name in given):
        return set()
    filled = {**{name: value for name, value in place.items() if name not in given}, spec.responsible: user}
    if spec.fields_at:
        params[spec.fields_at] = filled
    else:
        params.clear()
        params.update(filled)
    return {spec.responsible}

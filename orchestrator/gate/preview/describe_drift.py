"""Describes what somebody changed in a record while its card waited, field by field. The only data read from the portal here are names."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from bitrix.errors import BitrixError
from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call import critical_fields, fields
from orchestrator.gate.call.effect import Call
from orchestrator.gate.call.ports import Names
from orchestrator.gate.preview.field_words import find_title, format_record_value
from orchestrator.gate.preview.format_values import Reader
from state.stored import JsonObject

CHANGED: Final = Notice(code="changed-meanwhile")
"""Says that the record changed, without naming fields."""
DRIFTED: Final = "changed-values"
"""The code of the sentence that names the changed fields."""
_MAX_NAMED: Final = 3
"""How many changed fields the sentence names; the others are only counted."""


@dataclass(frozen=True, kw_only=True)
class ChangedField:
    """A field of a record whose present value differs from the value on the card."""

    call: Call
    """The call, or the command of a batch, whose card showed it; `Call.entity` is the kind of the record."""
    name: str
    old: JsonObject
    now: JsonObject


async def build_drift_notice(fields_changed: Iterable[ChangedField], *, actor: Actor, names: Names) -> Notice:
    """Return the message that names each changed field with its old and new value: «сумма изменилась: 1 000 000 → 1 200 000 ₽».

    If the fields cannot be named, the message only says that the record changed.
    """
    critical_first = sorted(fields_changed, key=lambda changed: not _is_critical(changed))
    if not critical_first:
        return CHANGED
    reader = Reader(names=names, locale=actor.locale, zone=actor.time_zone, user=actor.bitrix_user_id or 0)
    try:
        sentences = [await _describe_change(changed, reader) for changed in critical_first[:_MAX_NAMED]]
    except BitrixError:
        return CHANGED
    if len(critical_first) > _MAX_NAMED:
        sentences.append(Notice(code="changed-more", args={"count": len(critical_first) - _MAX_NAMED}))
    return Notice(code=DRIFTED, args={"changes": [sentence.model_dump(mode="json") for sentence in sentences]})


def _is_critical(changed: ChangedField) -> bool:
    key = fields.to_field_key(changed.name, changed.call.entity)
    return key in critical_fields.to_field_keys(changed.call.spec.critical, changed.call.entity)


async def _describe_change(changed: ChangedField, reader: Reader) -> Notice:
    part, name = changed.call, changed.name
    before, after = [await format_record_value(part, name, record, reader) for record in (changed.old, changed.now)]
    unit = _find_common_unit(before, after)
    args = {
        "field": critical_fields.to_field_code(part, name),
        "name": await find_title(part, name, reader),
        "before": before.removesuffix(unit) or before,
        "after": after,
    }
    return Notice(code="changed-field", args=args)


def _find_common_unit(before: str, after: str) -> str:
    """Return the currency sign, with the space before it, with which both sums `before` and `after` end; "" if there is no such sign."""
    unit = before[len(before.rstrip("₽$€")) :]
    space = before[: -len(unit)][-1:] if unit else ""
    return f"{space}{unit}" if unit and space.isspace() and after.endswith(f"{space}{unit}") else ""

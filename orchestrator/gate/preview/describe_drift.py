"""What somebody changed in a record while its card waited. Only names are read from the portal."""

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
DRIFTED: Final = "changed-values"
_MAX_NAMED: Final = 3
"""The others are only counted."""


@dataclass(frozen=True, kw_only=True)
class ChangedField:
    call: Call
    """The command whose card showed the field; its `entity` is the kind of the record."""
    name: str
    old: JsonObject
    now: JsonObject


async def build_drift_notice(fields_changed: Iterable[ChangedField], *, actor: Actor, names: Names) -> Notice:
    """«Сумма изменилась: 1 000 000 → 1 200 000 ₽»; without names it only says that the record changed."""
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
    unit = before[len(before.rstrip("₽$€")) :]
    space = before[: -len(unit)][-1:] if unit else ""
    return f"{space}{unit}" if unit and space.isspace() and after.endswith(f"{space}{unit}") else ""

"""Words for written fields that do not hold what was sent: what was left as it was, and what stands there now instead."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from bitrix.catalogue.names import is_custom_field
from bitrix.errors import BitrixError
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call import critical_fields
from orchestrator.gate.call.ports import UnmetField
from orchestrator.gate.preview.field_words import find_title, format_record_value
from orchestrator.gate.preview.format_values import Reader
from orchestrator.language.text import quote

_WITHIN: Final = 5.0
_MOST: Final = 5
"""Fields put in words."""


@dataclass(frozen=True, kw_only=True)
class UnmetWords:
    now: Mapping[str, str] = field(default_factory=dict)
    """By code: what a field holds that something in the portal has changed at once."""
    notice: Notice | None = None


async def describe_unmet(unmet: Sequence[UnmetField], reader: Reader | None) -> UnmetWords:
    """By codes if the portal does not name them in time; raises no errors of the network."""
    now: dict[str, str] = {}
    names: dict[str, str] = {}
    try:
        async with asyncio.timeout(_WITHIN):
            for unmet_field in unmet[:_MOST] if reader is not None else ():
                names[unmet_field.code] = await find_title(unmet_field.call, unmet_field.name, reader)
                if unmet_field.is_other:
                    now[unmet_field.code] = await _format_now(unmet_field, reader)
    except (BitrixError, TimeoutError):
        now.clear()
    rest = _build_left_notice([one for one in unmet if one.code not in now], names, reader)
    if not now:
        return UnmetWords(notice=rest)
    values = "; ".join(f"{names[code]}: {words}" for code, words in now.items())
    args = {"values": values, "left": rest is not None, **({"rest": rest.model_dump(mode="json")} if rest is not None else {})}
    return UnmetWords(now=now, notice=Notice(code="changed-otherwise", args=args))


def _build_left_notice(left: Sequence[UnmetField], names: Mapping[str, str], reader: Reader | None) -> Notice | None:
    if not left:
        return None
    first = left[0]
    field_code, title = critical_fields.to_field_code(first.call, first.name), names.get(first.code, first.name)
    if reader is not None and is_custom_field(first.name) and title != first.name:  # only the portal has words for it
        field_code = quote(title, reader.locale)
    code = "not-taken" if first.call.spec.verb == "add" else "not-changed"
    return Notice(code=code, args={"field": field_code, "more": len(left) - 1})


async def _format_now(unmet: UnmetField, reader: Reader) -> str:
    name = unmet.call.spec.stands_for.get(unmet.name, unmet.name)
    return await format_record_value(unmet.call, name, unmet.record, reader)

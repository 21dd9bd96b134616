"""Words for written fields that do not hold what was sent: what was left as it was, and what stands there now instead."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from bitrix.errors import BitrixError
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call import critical_fields
from orchestrator.gate.call.ports import UnmetField
from orchestrator.gate.preview.field_words import find_title, format_record_value, name_field
from orchestrator.gate.preview.format_values import Reader

_WITHIN: Final = 5.0
_MOST: Final = 5
"""Fields put in words."""


@dataclass(frozen=True, kw_only=True)
class UnmetWords:
    now: Mapping[str, str] = field(default_factory=dict)
    """By code: what a field holds that something in the portal has changed at once."""
    notice: Notice | None = None


async def describe_unmet(unmet: Sequence[UnmetField], reader: Reader | None) -> UnmetWords:
    """By codes without a reader, or if the portal does not name them in time; raises no errors of the network."""
    now: dict[str, str] = {}
    names: dict[str, str] = {}
    field_codes = {one.code: critical_fields.to_field_code(one.call, one.name) for one in unmet}
    if reader is not None:
        try:
            async with asyncio.timeout(_WITHIN):
                for one in unmet[:_MOST]:
                    names[one.code] = await find_title(one.call, one.name, reader)
                    field_codes[one.code] = await name_field(one.call, one.name, reader)
                    if one.is_other:
                        now[one.code] = await _format_now(one, reader)
        except (BitrixError, TimeoutError):
            now.clear()
    rest = _build_left_notice([one for one in unmet if one.code not in now], field_codes)
    if not now:
        return UnmetWords(notice=rest)
    values = "; ".join(f"{names[code]}: {words}" for code, words in now.items())
    args = {"values": values, "left": rest is not None, **({"rest": rest.model_dump(mode="json")} if rest is not None else {})}
    return UnmetWords(now=now, notice=Notice(code="changed-otherwise", args=args))


def _build_left_notice(left: Sequence[UnmetField], field_codes: Mapping[str, str]) -> Notice | None:
    if not left:
        return None
    code = "not-taken" if left[0].call.spec.verb == "add" else "not-changed"
    return Notice(code=code, args={"field": field_codes[left[0].code], "more": len(left) - 1})


async def _format_now(unmet: UnmetField, reader: Reader) -> str:
    name = unmet.call.spec.stands_for.get(unmet.name, unmet.name)
    return await format_record_value(unmet.call, name, unmet.record, reader)

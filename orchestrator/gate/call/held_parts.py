"""Finds how to read what a call changes if that is no record of its own, such as a department, a stage or a calendar event. Pure.

Its present values stand on the card as the old ones. They are no part of the before-image: before such a call runs, its card is drawn
again and compared.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Final

from orchestrator.gate.call import fields
from orchestrator.gate.call.effect import Call, Facts, Part
from orchestrator.gate.call.targets import as_id
from state.stored import JsonObject

MOST_READS: Final = 10
"""How many commands of a batch have their old values read; each is a request of its own."""
_PORTAL_TIME: Final = "%d.%m.%Y %H:%M:%S"
_ALIASES: Final = {"type": "CAL_TYPE", "crm_fields": "UF_CRM_CAL_EVENT", "section": "SECT_ID"}
"""What calls name otherwise than the row of a calendar event does."""
_TIMES: Final = {"from": ("DATE_FROM", "TZ_OFFSET_FROM"), "to": ("DATE_TO", "TZ_OFFSET_TO")}
"""What a calendar event calls its times: the parameter of a call, the field that is read, and the offset of its time zone in seconds."""


@dataclass(frozen=True, kw_only=True)
class PartRead:
    """The call that reads a part, `number` its id."""

    part: Part
    params: JsonObject

    @property
    def method(self) -> str:
        """The reading method."""
        return self.part[0]

    @property
    def number(self) -> int:
        """The id of the part."""
        return self.part[1]


def list_part_reads(call: Call) -> Iterator[PartRead]:
    """Yield for each command of `call` that updates a part how this part is read, at most `MOST_READS`."""
    found = (read for leaf in call.leaves if (read := _find_part_read(leaf)) is not None)
    yield from (read for _, read in zip(range(MOST_READS), found, strict=False))


def find_part(call: Call, facts: Facts) -> JsonObject | None:
    """Return the present values of the part that `call` updates; None if it updates no part, or the part could not be read."""
    read = _find_part_read(call)
    return facts.parts.get(read.part) if read is not None else None


def updates_part(call: Call) -> bool:
    """Return whether the call updates something that is no record of its own and has values that could be read."""
    return _find_part_read(call) is not None


def _find_part_read(call: Call) -> PartRead | None:
    if call.reads_only or call.spec.verb != "update" or not call.spec.before or call.targets or call.unknown_target:
        return None
    first = call.spec.required[0] if call.spec.required and call.spec.required[0].lower().endswith("id") else "id"
    number = next((found for path in (first, "id", "ID") if (found := as_id(call.params.get(path))) is not None), None)
    return None if number is None else PartRead(part=(call.spec.before, number), params={**call.params, "id": number})


def to_part(row: JsonObject) -> JsonObject:
    """Return the row of a part; what calls name otherwise is added under their names, times with their time zone."""
    times = {name: moment for name, places in _TIMES.items() if (moment := _read_time(row, *places))}
    return {**row, **{name: row[place] for name, place in _ALIASES.items() if place in row}, **times}


def _read_time(row: JsonObject, name: str, offset: str) -> str:
    """Return a time that the portal writes as "24.11.2026 15:00:00" as ISO 8601; "" if the row does not have it so."""
    seconds = fields.parse_number(row.get(offset))
    try:
        moment = datetime.strptime(str(row.get(name)), _PORTAL_TIME)  # noqa: DTZ007 - the zone is given beside it
        return "" if seconds is None else moment.replace(tzinfo=timezone(timedelta(seconds=int(seconds)))).isoformat()
    except ValueError:
        return ""

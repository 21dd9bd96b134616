"""How to read what a call changes if it is no record, such as a department or a calendar event. Pure.

These values are not in the before-image: before the call runs, its card is drawn again and compared.
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
"""Each is a request of its own."""
_PORTAL_TIME: Final = "%d.%m.%Y %H:%M:%S"
_ALIASES: Final = {"type": "CAL_TYPE", "crm_fields": "UF_CRM_CAL_EVENT", "section": "SECT_ID"}
_TIMES: Final = {"from": ("DATE_FROM", "TZ_OFFSET_FROM"), "to": ("DATE_TO", "TZ_OFFSET_TO")}


@dataclass(frozen=True, kw_only=True)
class PartRead:
    part: Part
    params: JsonObject

    @property
    def method(self) -> str:
        return self.part[0]

    @property
    def number(self) -> int:
        return self.part[1]


def list_part_reads(call: Call) -> Iterator[PartRead]:
    reads = (read for leaf in call.leaves if (read := _find_part_read(leaf)) is not None)
    yield from (read for _, read in zip(range(MOST_READS), reads, strict=False))


def find_part(call: Call, facts: Facts) -> JsonObject | None:
    read = _find_part_read(call)
    return facts.parts.get(read.part) if read is not None else None


def updates_part(call: Call) -> bool:
    return _find_part_read(call) is not None


def _find_part_read(call: Call) -> PartRead | None:
    if call.reads_only or call.spec.verb != "update" or not call.spec.before or call.targets or call.unknown_target:
        return None
    first = call.spec.required[0] if call.spec.required and call.spec.required[0].lower().endswith("id") else "id"
    number = next((part_id for path in (first, "id", "ID") if (part_id := as_id(call.params.get(path))) is not None), None)
    return None if number is None else PartRead(part=(call.spec.before, number), params={**call.params, "id": number})


def to_part(row: JsonObject) -> JsonObject:
    times = {name: moment for name, places in _TIMES.items() if (moment := _read_time(row, *places))}
    return {**row, **{name: row[place] for name, place in _ALIASES.items() if place in row}, **times}


def _read_time(row: JsonObject, name: str, offset: str) -> str:
    seconds = fields.parse_number(row.get(offset))
    try:
        moment = datetime.strptime(str(row.get(name)), _PORTAL_TIME)  # noqa: DTZ007 - the zone is given beside it
        return "" if seconds is None else moment.replace(tzinfo=timezone(timedelta(seconds=int(seconds)))).isoformat()
    except ValueError:
        return ""

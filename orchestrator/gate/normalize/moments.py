"""Times in the zone of the person who asks, so that the card shows the very text that is sent. Pure.

The portal would read a time without an offset in its own zone, and another offset may be another day.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo

from orchestrator.gate.call import fields
from orchestrator.gate.call.effect import Call
from orchestrator.language.date_format import to_bitrix_date, to_bitrix_datetime

_MOMENT: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?", re.ASCII
)


def localize_times(call: Call, zone: str, find_kind: Callable[[str], str] | None = None) -> Call:
    """Of what the call writes; `find_kind` gives "date" or "datetime" for fields that the catalogue does not name. Idempotent."""
    if call.reads_only or call.kind != "bitrix":
        return call
    new_values = call.written_fields
    fresh = {name: localize_value(value, _find_kind(call, name, find_kind), zone) for name, value in new_values.items()}
    if fresh == dict(new_values):
        return call
    place = call.spec.fields_at
    return replace(call, params={**call.params, place: fresh} if place else {**call.params, **fresh})


def localize_value(value: object, kind: str, zone: str) -> object:
    """Anything but a moment stays."""
    if isinstance(value, list):
        return [localize_value(item, kind, zone) for item in value]
    if kind not in {"date", "datetime"} or not isinstance(value, str) or _MOMENT.fullmatch(value.strip()) is None:
        return value
    try:
        written = datetime.fromisoformat(value.strip())
        here = written if written.tzinfo is not None else written.replace(tzinfo=ZoneInfo(zone))
        here = here.astimezone(UTC).astimezone(ZoneInfo(zone))  # a time that the change of clocks leaves out becomes the one that follows
    except (ValueError, OverflowError):  # no such day, or beyond the year 9999
        return value
    if kind == "datetime":
        return to_bitrix_datetime(here)
    is_here = written.tzinfo is None or written.utcoffset() == here.utcoffset()
    is_day = (written.hour, written.minute) == (0, 0)  # midnight of any zone means the day itself
    return value if is_here else to_bitrix_date(written.date() if is_day else here.date())


def _find_kind(call: Call, name: str, find_kind: Callable[[str], str] | None) -> str:
    info = fields.find_field_info(call.entities.get(call.entity), call.spec.stands_for.get(name, name))
    return info.kind if info is not None else find_kind(name) if find_kind is not None else ""

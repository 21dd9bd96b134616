"""Reads cron lines that people write: five fields, with an error that names the field that is wrong. Pure.

The fields are minute, hour, day of the month, month, day of the week (0 and 7 are Sunday; names such as MON and JAN are accepted).
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal

from cronsim import CronSim, CronSimError

Field = Literal["minute", "hour", "day", "month", "weekday"]
Fault = Literal["length", "fields", "field", "never", "often"]
FIELDS: Final[tuple[Field, ...]] = ("minute", "hour", "day", "month", "weekday")
LONGEST: Final = 100
"""How many characters a cron line may have."""
MOST_A_DAY: Final = 288
"""How many moments of one line may fall on one day: one every five minutes."""
_SOME_MOMENT: Final = datetime(2000, 1, 1, tzinfo=UTC)


class CronError(ValueError):
    """A cron line cannot be accepted: `fault` says why; `field` and `written` say which field is wrong and what stands there.

    `count` is how many fields or moments a day the line has, where these are at fault.
    """

    def __init__(self, fault: Fault, *, field: Field | None = None, written: str = "", count: int = 0) -> None:
        """Keep what is wrong with the line."""
        super().__init__(f"cron line: {fault} {field or ''} {written}".strip())
        self.fault = fault
        self.field = field
        self.written = written
        self.count = count


@dataclass(frozen=True, slots=True)
class CronLine:
    """A cron line that was checked, with one space between its fields. Only `parse_cron` builds it."""

    text: str


def parse_cron(text: str) -> CronLine:
    """Return the line in its only accepted form.

    Raises CronError for a line that is too long, has not five fields, has a wrong field, never fires or fires more than `MOST_A_DAY` times
    on a day.
    """
    if len(text) > LONGEST:
        raise CronError("length", count=len(text))
    parts = text.upper().split()
    if len(parts) != len(FIELDS):
        raise CronError("fields", count=len(parts))
    for place, written in enumerate(parts):
        if not _is_field(place, written):
            raise CronError("field", field=FIELDS[place], written=written)
    line = " ".join(parts)
    try:
        cron_sim = CronSim(line, _SOME_MOMENT)
        first = next(cron_sim, None)
    except CronSimError:
        first = None
    if first is None:
        raise CronError("never")
    often = len(cron_sim.minutes) * len(cron_sim.hours)
    if often > MOST_A_DAY:
        raise CronError("often", count=often)
    return CronLine(line)


def _is_field(place: int, written: str) -> bool:
    """Return whether the text can stand in this field of a line; the other fields are left open, so that only this one can be at fault."""
    alone = ["*"] * len(FIELDS)
    alone[place] = written
    try:
        CronSim(" ".join(alone), _SOME_MOMENT)
    except CronSimError:
        return False
    return True

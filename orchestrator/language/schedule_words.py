from collections.abc import Sequence
from functools import reduce
from typing import Final

from orchestrator.domain.cron_lines import CronLine
from orchestrator.domain.cron_shapes import CronShape, find_shape
from orchestrator.domain.outputs import Notice

LAST_SHORT_DAY: Final = 28


def describe_line(line: CronLine, zone: str, *, reader_zone: str = "") -> Notice | None:
    """None for a line that no short sentence tells. The zone is named unless it is the reader's."""
    shape = find_shape(line)
    if shape is None:
        return None
    notice = _describe_shape(shape)
    if zone == reader_zone or shape.kind == "minutes":
        return notice
    return Notice(code="schedule-in-zone", args={"when": notice.model_dump(), "zone": zone})


def _describe_shape(shape: CronShape) -> Notice:
    times = _join([Notice(code="schedule-word", args={"text": f"{hour}:{minute:02}"}) for hour, minute in shape.times])
    match shape.kind:
        case "minutes":
            return Notice(code="schedule-each-minutes", args={"count": shape.every})
        case "hours":
            return Notice(code="schedule-each-hours", args={"count": shape.every, "minute": shape.minute})
        case "daily":
            return Notice(code="schedule-daily", args={"times": times})
        case "workdays":
            return Notice(code="schedule-workdays", args={"times": times})
        case "weekly":
            days = _join([Notice(code="schedule-weekday", args={"day": day}) for day in shape.weekdays])
            return Notice(code="schedule-weekly", args={"days": days, "times": times})
        case "monthly":
            days = _join([Notice(code="schedule-monthday", args={"day": day}) for day in shape.days])
            rare = "yes" if max(shape.days) > LAST_SHORT_DAY else "no"
            return Notice(code="schedule-monthly", args={"days": days, "times": times, "rare": rare})
        case "month_end":
            return Notice(code="schedule-month-end", args={"times": times})


def _join(words: Sequence[Notice]) -> dict[str, object]:
    if not words:
        return Notice(code="schedule-word", args={"text": ""}).model_dump()
    *first, last = [word.model_dump() for word in words]
    if not first:
        return last
    begun = reduce(lambda joined, other: Notice(code="schedule-comma", args={"first": joined, "then": other}).model_dump(), first)
    return Notice(code="schedule-and", args={"first": begun, "then": last}).model_dump()

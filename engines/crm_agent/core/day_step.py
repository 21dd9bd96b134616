"""Step day: code shows the person's day as /today does; the model is told how much there is of what."""

from collections.abc import Iterator, Mapping

from orchestrator.domain.message_views import DailyBody
from orchestrator.domain.outputs import DayPart
from state.model.shown_lists import ShownList, ShownRow
from state.stored import JsonObject

_FIRST_PLACE = 100
"""No plan has so many steps: the lists of a day stand behind them."""


def describe_day(day: DailyBody) -> JsonObject:
    """No titles: anybody may have written them."""
    return {
        "day": {section.code: section.table.total for section in day.sections},
        "text": "code shows the person all of it below your words, which name no record and no number",
        **({"unread": list(day.unread)} if day.unread else {}),
    }


def build_day_parts(days: Mapping[tuple[int, int], DailyBody]) -> tuple[DayPart, ...]:
    return tuple(DayPart(body=day.to_json()) for day in days.values())


def list_day_rows(days: Mapping[tuple[int, int], DailyBody], shown: int) -> Iterator[ShownList]:
    """So that «третью» can mean a row of a list; its first `shown` rows are seen."""
    for (iteration, _), day in days.items():
        for number, section in enumerate(day.sections, start=_FIRST_PLACE):
            table = section.table
            rows = tuple(ShownRow(row.target, "" if table.is_prose else row.label) for row in table.rows[:shown])
            yield ShownList(place=f"{iteration}.{number}", total=table.total, rows=rows)

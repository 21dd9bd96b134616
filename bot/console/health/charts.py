"""Charts, each with a table for screen readers. Names are data: no tooltip makes HTML of them."""

from collections.abc import Sequence
from typing import Final

from nicegui import ui

from bot.console.visit import Visit
from bot.console.widgets import build_panel, cut_text, show_empty, show_heading
from bot.console.words import format_count, format_duration, format_money
from bot.monitoring.figures import Figures
from orchestrator.language.date_format import format_short_day

_MOST_PEOPLE: Final = 15
_LONGEST_NAME: Final = 40
_GOOD, _BAD, _WARN, _PLAIN = "#2b8a57", "#d0473f", "#b7791f", "#3b82c4"
"""Each stands out from the ground of both themes."""


def draw_figures(visit: Visit, figures: Figures) -> None:
    show_heading(visit.say("console-health-charts"))
    sentence = visit.say("console-health-as-of", time=f"{visit.tr.format_time(figures.at)}", cut="yes" if figures.is_cut else "no")
    ui.label(sentence).classes("muted small")
    with ui.element("div").classes("health-charts"):
        _draw_calls(visit, figures)
        _draw_waits(visit, figures)
        _draw_usage(visit, figures)


def _draw_calls(visit: Visit, figures: Figures) -> None:
    names = [visit.say("console-health-end", end=end) for end in ("succeeded", "refused", "unknown")]
    days = [format_short_day(day_calls.day, visit.tr.locale) for day_calls in figures.days]
    values = [[day.succeeded for day in figures.days], [day.refused for day in figures.days], [day.unknown for day in figures.days]]
    series = [
        {"name": name, "type": "bar", "stack": "calls", "data": data, "itemStyle": {"color": colour}, "barMaxWidth": 36}
        for name, data, colour in zip(names, values, (_GOOD, _BAD, _WARN), strict=True)
    ]
    with _build_chart(visit, "calls"):
        if not any(map(sum, values)):
            show_empty(visit.say("console-health-no-calls"))
            return
        _draw_picture(
            {"xAxis": {"type": "category", "data": days}, "yAxis": _COUNTS, "series": series, "legend": {"data": names, "top": 0}}
        )
        _draw_table(
            visit, (visit.say("console-health-day"), *names), [(day, *map(str, row)) for day, *row in zip(days, *values, strict=True)]
        )


def _draw_waits(visit: Visit, figures: Figures) -> None:
    groups = [visit.say("console-health-wait", group=number) for number in range(len(figures.waits))]
    with _build_chart(visit, "waits"):
        if not sum(figures.waits):
            show_empty(visit.say("console-health-no-waits"))
            return
        if figures.median_wait is not None:
            ui.label(visit.say("console-health-median", waited=format_duration(visit.tr, figures.median_wait))).classes("muted small")
        series = [{"type": "bar", "data": list(figures.waits), "itemStyle": {"color": _PLAIN}, "barMaxWidth": 48}]
        _draw_picture({"xAxis": {"type": "category", "data": groups, "axisLabel": _WRAPPED}, "yAxis": _COUNTS, "series": series})
        columns = (visit.say("console-health-waited"), visit.say("console-health-cards"))
        _draw_table(visit, columns, [(group, str(count)) for group, count in zip(groups, figures.waits, strict=True)])


def _draw_usage(visit: Visit, figures: Figures) -> None:
    people = figures.usage[:_MOST_PEOPLE]
    has_money = any(person.money is not None for person in people)
    with _build_chart(visit, "usage"):
        if not people:
            show_empty(visit.say("console-health-no-usage"))
            return
        if not has_money:
            ui.label(visit.say("console-health-no-prices")).classes("muted small")
        names = [cut_text(person.name, limit=_LONGEST_NAME) for person in people]
        data = [float(person.money or 0) if has_money else person.tokens for person in people]
        _draw_picture(
            {
                "xAxis": {"type": "value", "axisLabel": {"hideOverlap": True, ":formatter": _GROUPED}},
                "yAxis": {"type": "category", "data": names, "inverse": True, "axisLabel": {"width": 130, "overflow": "truncate"}},
                "series": [{"type": "bar", "data": data, "itemStyle": {"color": _PLAIN}, "barMaxWidth": 28}],
            },
            rows=len(people),
        )
        columns = [visit.say("console-health-person"), visit.say("console-health-tokens")]
        rows = [[name, format_count(visit.tr, person.tokens)] for name, person in zip(names, people, strict=True)]
        if has_money:
            columns.append(visit.say("console-health-money"))
            for row, person_usage in zip(rows, people, strict=True):
                row.append(format_money(visit.tr, person_usage.money, figures.currency) if person_usage.money is not None else "—")
        _draw_table(visit, columns, rows)


_GROUPED: Final = "value => value.toLocaleString(document.documentElement.lang || 'ru')"
"""Writes numbers as the language of the page does."""
_COUNTS: Final[dict[str, object]] = {"type": "value", "minInterval": 1}
_WRAPPED: Final[dict[str, object]] = {"interval": 0, "width": 62, "overflow": "break"}


def _build_chart(visit: Visit, chart: str) -> ui.element:
    panel = build_panel().classes("health-chart")
    with panel:
        ui.label(visit.say("console-health-chart", chart=chart)).classes("strong").props("role=heading aria-level=3")
    return panel


def _draw_picture(options: dict[str, object], *, rows: int = 0) -> None:
    """Screen readers pass over it: what it says stands in the table."""
    grid = {"left": 8, "right": 36, "bottom": 8, "top": 40 if "legend" in options else 16, "containLabel": True}
    whole = {"animation": False, "grid": grid, "tooltip": {"trigger": "axis", "renderMode": "richText"}, **options}
    chart = ui.echart(whole, renderer="svg").classes("health-picture").props("aria-hidden=true")
    if rows:
        chart.style(f"height: {max(rows * 34 + 60, 160)}px")


def _draw_table(visit: Visit, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    with ui.element("details").classes("health-values"):
        with ui.element("summary"):
            ui.label(visit.say("console-health-values"))
        with ui.element("table"):
            with ui.element("thead"), ui.element("tr"):
                for name in columns:
                    with ui.element("th").props("scope=col"):
                        ui.label(name)
            with ui.element("tbody"):
                for row in rows:
                    with ui.element("tr"):
                        for value in row:
                            with ui.element("td"):
                                ui.label(value).classes("text").props("dir=auto")

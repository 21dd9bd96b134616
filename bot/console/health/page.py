"""Charts stand apart from what changes every second: drawn anew once a minute at most.

Each has a table for screen readers. Names are data: no tooltip makes HTML of them.
"""

from collections.abc import Sequence
from typing import Final

from nicegui import ui

from bot.console.health.view import HealthGlance, HealthView, LeaseRow, LimitView, load_health
from bot.console.policy.words import name_call
from bot.console.visit import Visit
from bot.console.widgets import build_panel, cut_text, show_badge, show_empty, show_heading
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


_STATES: Final = {"closed": "good", "open": "bad", "half-open": "warn"}
_OWNER: Final = 8
"""Characters of a process's id, enough to tell processes apart."""
_NEAR: Final = 0.8
"""The share of a limit from which on its bar warns."""


async def show_health(visit: Visit) -> None:
    """Charts come when the browser has the page: their figures take a while."""
    checks = visit.services.health
    glance = HealthGlance(checks) if checks is not None else None
    runs: dict[str, str] = {}
    refresh = await visit.keep_current(lambda: load_health(visit, glance, runs), lambda view: _draw(visit, view))
    if glance is not None:
        visit.begin_when_connected(lambda: glance.follow(refresh))
    charts = ui.element("div").classes("health-figures")

    async def show_charts() -> None:
        with charts:
            await visit.keep_current(
                lambda: visit.services.figures.read(visit.opened_as.time_zone), lambda figures: draw_figures(visit, figures)
            )

    visit.begin_when_connected(show_charts)


def _draw(visit: Visit, view: HealthView) -> None:
    if view.is_frozen:
        with build_panel().classes("health-frozen"):
            ui.label(visit.say("console-health-frozen")).classes("strong")
    show_heading(visit.say("console-health-parties"))
    _draw_parties(visit, view)
    with ui.element("div").classes("health-grid"):
        _draw_queue(visit, view)
        if view.limits is not None:
            _draw_limits(visit, view.limits)
        _draw_leases(visit, view)
        _draw_providers(visit, view)


def _draw_parties(visit: Visit, view: HealthView) -> None:
    if not view.parties:
        show_empty(visit.say("console-health-unknown"))
    with ui.element("div").classes("health-parties"):
        for party in view.parties:
            with build_panel().classes("health-party" if party.ok else "health-party health-bad"):
                with ui.element("div").classes("health-line"):
                    ui.label(visit.say("console-health-party", party=party.name)).classes("strong")
                    show_badge(visit.say("console-health-works", ok="yes" if party.ok else "no"), tone="good" if party.ok else "bad")
                ui.label(visit.say("console-health-since", since=visit.tr.format_time(party.since))).classes("muted small")
                if party.why:
                    ui.label(cut_text(_say_why(visit, party.why), limit=300)).classes("text small")


def _say_why(visit: Visit, why: str) -> str:
    """What the check says where there are no words."""
    return visit.say("console-health-why", why=why.replace(" ", "-"), said=why)


def _draw_queue(visit: Visit, view: HealthView) -> None:
    with build_panel().classes("health-part"):
        _name_part(visit.say("console-health-queue"))
        if view.queue is None:
            show_empty(visit.say("console-health-unknown"))
            return
        with ui.element("dl").classes("health-facts"):
            for row in view.queue:
                with ui.element("dt"):
                    ui.label(visit.say("console-health-row", kind=row.kind))
                with ui.element("dd").classes("health-line"):
                    ui.label(str(row.count)).classes("bad strong" if row.is_bad else "strong" if row.count else "muted")
                    if row.oldest and row.count:
                        ui.label(visit.say("console-health-oldest", since=visit.tr.format_time(row.oldest))).classes("muted small")
            with ui.element("dt"):
                ui.label(visit.say("console-health-size"))
            with ui.element("dd"):
                ui.label(visit.say("console-health-megabytes", count=view.megabytes))


def _draw_limits(visit: Visit, limits: LimitView) -> None:
    with build_panel().classes("health-part"):
        _name_part(visit.say("console-health-limits"))
        if limits.burst is None or limits.level is None:
            ui.label(visit.say("console-health-unlimited")).classes("muted")
        else:
            _draw_bar(visit.say("console-health-level", level=limits.level, burst=limits.burst), limits.level / limits.burst)
            ui.label(visit.say("console-health-rate", rate=limits.rate)).classes("muted small")
        ui.label(visit.say("console-health-waiting", waiting=limits.waiting, flying=limits.in_flight)).classes("small")
        sentence = visit.say("console-health-operating", budget=limits.budget, used="yes" if limits.methods else "no")
        ui.label(sentence).classes("muted small")
        for method_time in limits.methods:
            name = name_call(visit, method_time.method)
            if method_time.seconds is None:
                with ui.element("div").classes("health-line"):
                    ui.label(name)
                    show_badge(visit.say("console-health-refused"), tone="bad")
            else:
                words = visit.say("console-health-seconds", name=name, seconds=method_time.seconds)
                _draw_bar(words, method_time.seconds / limits.budget if limits.budget else 0.0)


def _draw_bar(words: str, share: float) -> None:
    ui.label(words).classes("small")
    bar = ui.linear_progress(value=min(max(share, 0.0), 1.0), show_value=False).props("aria-hidden=true rounded")
    bar.classes("health-bar health-near" if share >= _NEAR else "health-bar")


def _name_session(visit: Visit, row: LeaseRow) -> str:
    kind, _, id_ = row.session.partition(":")
    return row.name or visit.say("console-health-session", kind=kind, id=row.run_title or id_, session=row.session)


def _draw_leases(visit: Visit, view: HealthView) -> None:
    with build_panel().classes("health-part"):
        _name_part(visit.say("console-health-leases", count=view.lease_count))
        if not view.leases:
            show_empty(visit.say("console-health-no-leases"))
        for row in view.leases:
            with ui.element("div").classes("health-line"):
                ui.label(cut_text(_name_session(visit, row), limit=120)).classes("text")
                sentence = visit.say("console-health-until", until=visit.tr.format_time(row.until), owner=row.owner[:_OWNER])
                ui.label(sentence).classes("muted small")
        if view.lease_count > len(view.leases):
            ui.label(visit.say("console-health-more", count=view.lease_count - len(view.leases))).classes("muted small")


def _draw_providers(visit: Visit, view: HealthView) -> None:
    if not view.providers:
        return
    with build_panel().classes("health-part"):
        _name_part(visit.say("console-health-providers"))
        for name, state in view.providers:
            with ui.element("div").classes("health-line"):
                ui.label(cut_text(name, limit=120)).classes("text")
                show_badge(visit.say("console-health-breaker", state=state), tone=_STATES.get(state, "plain"))


def _name_part(name: str) -> None:
    ui.label(name).classes("strong").props("role=heading aria-level=3")

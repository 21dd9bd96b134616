"""Charts stand apart from what changes every second: drawn anew once a minute at most."""

from typing import Final

from nicegui import ui

from bot.console.health.charts import draw_figures
from bot.console.health.glance import HealthGlance
from bot.console.health.view import HealthView, LeaseRow, LimitView, load_health
from bot.console.policy.words import name_call
from bot.console.visit import Visit
from bot.console.widgets import build_panel, cut_text, show_badge, show_empty, show_heading

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

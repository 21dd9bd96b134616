"""Who asked for which calls, who decided, and what came of them."""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Final
from urllib.parse import urlencode

from nicegui import ui
from nicegui.element import Element

from bot.console.audit.query import ADDRESS, OUTCOMES, AuditSearch, parse_search
from bot.console.audit.search import AT_ONCE, PAGE, AuditRow, FoundRows, Wanted, load_rows, understand
from bot.console.visit import Visit, VisitOver
from bot.console.widgets import cut_text, show_badge
from bot.console.words import show_record
from bot.monitoring.journal_watch import JournalHealth

TONES: Final[Mapping[str, str]] = {
    "waiting": "live",
    "approved": "live",
    "started": "live",
    "succeeded": "good",
    "denied": "plain",
    "expired": "plain",
    "superseded": "plain",
    "refused": "bad",
    "unknown": "warn",
}
_FIELDS: Final = 4
"""At most so many changed fields, and records, on a line."""
_NAMED: Final = 5


class AuditPage:
    def __init__(self, visit: Visit) -> None:
        self._visit = visit
        self._search = parse_search(visit.query)
        self._chosen = self._search
        self._rows: list[AuditRow] = []
        self._after = ""
        self._wanted: Wanted = understand(visit, self._search)

    async def show(self) -> None:
        await show_health(self._visit)
        page = await load_rows(self._visit, self._wanted, limit=AT_ONCE)
        self._draw_form()
        self._draw_meaning()
        self._place = ui.element("div").classes("found")
        self._more = ui.button(self._visit.say("console-audit-more"), on_click=self._show_more, color=None).props("outline no-caps")
        self._none = ui.label(self._visit.say("console-audit-none")).classes("empty-line")
        self._add(page)
        if len(page.rows) == AT_ONCE and page.after:
            self._more.set_visibility(False)
            self._visit.begin_when_connected(self._show_rest)

    async def _show_rest(self) -> None:
        self._add(await load_rows(self._visit, self._wanted, self._after, limit=PAGE - AT_ONCE))

    def _draw_form(self) -> None:
        say = self._visit.say
        with ui.element("div").classes("panel audit-form").props("role=search"):
            self._draw_people()
            self._input("record", say("console-audit-record"), self._search.record)
            self._input("method", say("console-audit-method"), self._search.method)
            words = {outcome: say("console-audit-outcome", outcome=outcome) for outcome in OUTCOMES}
            chosen = ui.select(words, value=self._search.outcome or None, label=say("console-audit-how"), clearable=True)
            chosen.props("outlined dense").on_value_change(lambda event: self._choose("outcome", event.value))
            self._input("since", say("console-audit-from"), self._search.since, kind="date")
            self._input("until", say("console-audit-to"), self._search.until, kind="date")
            with ui.element("div").classes("audit-buttons"):
                search = ui.button(say("console-audit-find"), icon="search", on_click=self._find, color=None)
                search.props("unelevated no-caps").classes("main-button")
                if not self._search.is_empty:
                    ui.link(say("console-audit-reset"), AuditSearch().to_address())
                ui.space()
                with ui.element("div").classes("audit-saving"):
                    for name, save in (("CSV", self._save_csv), ("JSON", self._save_json)):
                        button = ui.button(name, icon="download", on_click=save, color=None)
                        button.props(f'flat dense no-caps aria-label="{say("console-audit-save")} {name}"')

    def _draw_people(self) -> None:
        viewer = self._visit.viewer
        if not viewer.is_lead:
            return
        known = [person for person in self._visit.services.access.list_people() if viewer.may_see_run(person.key)]
        people = {actor.key: cut_text(actor.name, limit=120) for actor in known}
        if self._search.person:
            people.setdefault(self._search.person, cut_text(self._search.person, limit=120))
        label = self._visit.say("console-audit-person")
        chosen = ui.select(people, value=self._search.person or None, label=label, clearable=True, with_input=True)
        chosen.props("outlined dense").on_value_change(lambda event: self._choose("person", event.value))

    def _input(self, name: str, label: str, value: str, *, kind: str = "text") -> None:
        field = ui.input(label, value=value).props(f"outlined dense type={kind} maxlength=300" + (" stack-label" if kind == "date" else ""))
        field.on_value_change(lambda event: self._choose(name, event.value))
        field.on("keydown.enter", self._find)

    def _choose(self, name: str, value: object) -> None:
        self._chosen = self._chosen.with_value(name, value)

    def _find(self) -> None:
        ui.navigate.to(self._chosen.to_address())

    def _draw_meaning(self) -> None:
        """What was not understood, or which actions the words fit."""
        if self._wanted.problem:
            ui.label(self._visit.say("console-audit-problem", about=self._wanted.problem)).classes("warn-line").props("role=alert")
            return
        if self._wanted.calls.title:
            sentence = self._visit.say("console-audit-titled", words=cut_text(self._wanted.calls.title, limit=120))
            ui.label(sentence).classes("muted small").props("dir=auto")
        if self._wanted.methods:
            names = ", ".join(self._wanted.methods[:_NAMED])
            count = max(0, len(self._wanted.methods) - _NAMED)
            ui.label(self._visit.say("console-audit-actions", named=names, count=count)).classes("muted small")

    async def _show_more(self) -> None:
        self._add(await load_rows(self._visit, self._wanted, self._after))

    def _add(self, page: FoundRows) -> None:
        self._rows.extend(page.rows)
        self._after = page.after
        with self._place:
            for row in page.rows:
                draw_row(self._visit, row)
        self._more.set_visibility(bool(page.after))
        self._none.set_visibility(not self._rows)
        self._none.set_text(self._visit.say("console-audit-none-yet" if page.after else "console-audit-none"))

    def _save_csv(self) -> None:
        names = {name: self._visit.say("console-audit-column", column=name) for name in COLUMNS}
        self._save(write_csv(self._rows, lambda name: names[name]), "csv", "text/csv; charset=utf-8")

    def _save_json(self) -> None:
        self._save(write_json(self._rows), "json", "application/json")

    def _save(self, content: bytes, ending: str, kind: str) -> None:
        """Only with the rights with which it was loaded."""
        if self._visit.is_over:
            raise VisitOver
        day = self._visit.services.clock.now().date().isoformat()
        ui.download.content(content, f"sdelka-audit-{day}.{ending}", kind)


def draw_row(visit: Visit, row: AuditRow) -> Element:
    with ui.element("article").classes("line audit-row") as box:
        with ui.element("div").classes("audit-head"):
            show_badge(visit.say("console-audit-outcome", outcome=row.outcome), tone=TONES.get(row.outcome, "plain"))
            ui.link(cut_text(row.what, limit=200), build_address(row.effect_id, row.event_id)).classes("strong audit-what").props(
                "dir=auto"
            )
            ui.label(visit.tr.format_time(row.at)).classes("muted small audit-when")
        with ui.element("div").classes("audit-facts"):
            ui.label(cut_text(row.asked_by_name, limit=120)).props("dir=auto")
            if row.decided_by or row.decision:
                ui.label(describe_decision(visit, row)).classes("muted").props("dir=auto")
            for record in row.records[:_FIELDS]:
                show_record(visit, record)
            if row.run_id:
                ui.link(cut_text(row.run_name, limit=80), f"/runs/{row.run_id}")
        if row.reason:
            ui.label(cut_text(row.reason, limit=300)).classes("audit-reason").props("dir=auto")
        for change in row.changes[:_FIELDS]:
            ui.label(cut_text(change.format(), limit=300)).classes("audit-change").props("dir=auto")
        if len(row.changes) > _FIELDS:
            ui.label(visit.say("card-more", count=len(row.changes) - _FIELDS)).classes("muted small")
    return box


def describe_decision(visit: Visit, row: AuditRow) -> str:
    sentence = visit.say("console-audit-decision", decision=row.decision)
    way = visit.say("history-via", via=row.decided_via) if row.decided_via and row.decided_by else ""
    return ", ".join(part for part in (f"{sentence}: {cut_text(row.decided_by, limit=120)}" if row.decided_by else sentence, way) if part)


def build_address(effect_id: str, event_id: str) -> str:
    return f"{ADDRESS}/{effect_id}?{urlencode({'at': event_id})}"


async def show_audit(visit: Visit) -> None:
    await AuditPage(visit).show()


_SHOWN = 3


async def show_health(visit: Visit) -> None:

    async def load() -> JournalHealth:
        return visit.services.journal_watch.look()

    await visit.keep_current(load, lambda health: _draw(visit, health))


def _draw(visit: Visit, health: JournalHealth) -> None:
    at = visit.tr.format_time(health.checked_at) if health.checked_at is not None else ""
    if health.faults:
        with ui.element("div").classes("red-line").props("role=alert"):
            ui.icon("gpp_bad").props("aria-hidden=true")
            with ui.element("div"):
                ui.label(visit.say("console-audit-damaged", count=len(health.faults), checked=at)).classes("strong")
                if visit.opened_as.role == "admin":
                    for fault in tuple(dict.fromkeys(health.faults))[:_SHOWN]:
                        ui.label(cut_text(fault, limit=300)).classes("small")
        return
    state = "whole" if at else "cannot" if health.cannot else "running"
    with ui.element("div").classes("health-line muted small"):
        ui.icon("verified_user" if at else "hourglass_empty").props("aria-hidden=true")
        ui.label(visit.say("console-audit-health", state=state, checked=at, records=health.records))


_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n")
COLUMNS: Final = ("at", "person", "what", "method", "records", "changes", "outcome", "decision", "decided_by", "via", "run", "id")


def write_json(rows: Sequence[AuditRow]) -> bytes:
    return json.dumps([asdict(row) for row in rows], ensure_ascii=False, indent=2).encode()


def write_csv(rows: Sequence[AuditRow], say: Callable[[str], str]) -> bytes:
    """UTF-8 with a byte order mark, by which spreadsheets know the encoding."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow([say(name) for name in COLUMNS])
    writer.writerows([keep_text(cell) for cell in _list_cells(row)] for row in rows)
    return text.getvalue().encode("utf-8-sig")


def _list_cells(row: AuditRow) -> Sequence[str]:
    person = f"{row.asked_by_name} ({row.asked_by})" if row.asked_by_name != row.asked_by else row.asked_by
    changes = "; ".join(change.format() for change in row.changes)
    decision = (row.outcome, row.decision, row.decided_by, row.decided_via)
    return (row.at, person, row.what, row.method, ", ".join(row.records), changes, *decision, row.run_name, row.effect_id)


def keep_text(cell: str) -> str:
    """No spreadsheet calculates it."""
    return f"'{cell}" if cell.lstrip().startswith(_FORMULA) or cell.startswith(_FORMULA) else cell

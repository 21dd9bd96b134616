import asyncio
from dataclasses import dataclass
from typing import Final

from nicegui import ui

from bot.console.people.changes import ask_to_end, open_invitation
from bot.console.people.view import InvitationRow, PeopleView, PersonRow, Sees, TokenRow, load_people
from bot.console.policy.words import format_reasons
from bot.console.visit import Visit
from bot.console.widgets import cut_text, show_badge, show_empty, show_heading, show_text
from orchestrator.language.date_format import format_short_day
from orchestrator.reports.policy_explain import Ability, Outcome

_LONGEST_NAME = 120


@dataclass(frozen=True)
class PeoplePage:
    """`place` of dialogs is outside of what is redrawn."""

    visit: Visit
    dialogs: ui.element

    @property
    def may_change(self) -> bool:
        return self.visit.opened_as.role == "admin"


async def show_people(visit: Visit) -> None:
    page = PeoplePage(visit, ui.element("div"))
    if page.may_change:
        with ui.element("div").classes("people-head"):
            ui.button(visit.say("console-people-invite"), icon="person_add", on_click=lambda: open_invitation(visit, page.dialogs)).props(
                "unelevated no-caps color=primary"
            )
    await visit.keep_current(lambda: load_people(visit), lambda view: _draw(page, view))


def _draw(page: PeoplePage, view: PeopleView) -> None:
    visit = page.visit
    show_heading(visit.say("console-people-who"), count=len(view.people))
    _draw_people(page, view)
    if page.may_change:
        show_heading(visit.say("console-people-invitations"), count=len(view.invitations))
        if not view.invitations:
            show_empty(visit.say("console-people-no-invitations"))
        for invitation in view.invitations:
            _draw_invitation(page, invitation)
    if view.tokens:
        show_heading(visit.say("console-people-tokens"), count=len(view.tokens))
        for token in view.tokens:
            _draw_token(visit, token)


def _draw_people(page: PeoplePage, view: PeopleView) -> None:
    columns = ("name", "role", "sees", "mode", "place", "lead", "last", "more")
    names = {name: page.visit.say("console-people-column", column=name) for name in columns}
    with ui.element("div").classes("people-box"), ui.element("table").classes("people-table"):
        with ui.element("thead"), ui.element("tr"):
            for name in columns:
                with ui.element("th").props("scope=col"):
                    ui.label(names[name])
        with ui.element("tbody"):
            for row in view.people:
                with ui.element("tr").classes("" if row.is_present else "people-out"):
                    _draw_person(page, row, names)


def _draw_person(page: PeoplePage, row: PersonRow, names: dict[str, str]) -> None:
    visit = page.visit
    with _cell(""):
        ui.label(cut_text(row.name, limit=_LONGEST_NAME)).classes("strong text").props("dir=auto")
        ui.label(_describe_accounts(visit, row)).classes("muted small")
        if not row.is_present:
            since = "" if row.out_since == "?" else visit.tr.format_time(row.out_since)
            show_badge(visit.say("console-people-dismissed", since=since, known="yes" if since else "no"), tone="bad")
    with _cell(names["role"]):
        ui.label(visit.say("console-role", role=row.role))
        ui.label(visit.say("console-people-listed", fixed="yes" if row.is_fixed else "no")).classes("muted small")
    with _cell(names["sees"]):
        ui.label(_describe_sees(visit, row.sees))
    with _cell(names["mode"]):
        ui.label(visit.say("console-people-mode", mode=row.mode))
    with _cell(names["place"]):
        ui.label(visit.say("console-people-locale", locale=row.locale))
        ui.label(row.zone).classes("muted small")
    with _cell(names["lead"]):
        ui.label(cut_text(row.lead, limit=_LONGEST_NAME) or "—")
        if row.away is not None:
            ui.label(_describe_absence(visit, row)).classes("muted small")
    with _cell(names["last"]):
        ui.label(visit.tr.format_time(row.last_at) if row.last_at else "—")
    with _cell(""):
        _draw_actions(page, row)


def _draw_actions(page: PeoplePage, row: PersonRow) -> None:
    visit = page.visit
    if row.is_present:
        what = ui.button(visit.say("console-people-what"), on_click=lambda: show_abilities(visit, page.dialogs, row))
        what.props("flat dense no-caps").props["aria-label"] = visit.say("console-people-what-of", name=row.name)
    if page.may_change and not row.is_fixed and row.is_present:
        end = ui.button(visit.say("console-people-end"), on_click=lambda: ask_to_end(visit, page.dialogs, row.key, row.name))
        end.props("flat dense no-caps").classes("people-end")
        end.props["aria-label"] = visit.say("console-people-end-of", name=row.name)


def _cell(label: str) -> ui.element:
    """On a narrow screen the label stands before it."""
    cell = ui.element("td")
    if label:
        cell.props["data-label"] = label
    return cell


def _draw_invitation(page: PeoplePage, row: InvitationRow) -> None:
    visit = page.visit
    with ui.element("div").classes("line people-line"):
        ui.label(_name_employee(visit, row.employee)).classes("strong")
        ui.label(visit.say("console-role", role=row.role))
        ui.label(visit.say("console-people-invited-by", name=cut_text(row.by, limit=_LONGEST_NAME))).classes("muted")
        until = visit.say("console-people-until", expires=visit.tr.format_time(row.expires_at), over="yes" if row.is_expired else "no")
        show_badge(until, tone="bad" if row.is_expired else "good")
        ui.space()
        ui.button(visit.say("console-people-withdraw"), on_click=lambda: ask_to_end(visit, page.dialogs, row.key, "")).props(
            "flat dense no-caps"
        ).classes("people-end")


def _draw_token(visit: Visit, row: TokenRow) -> None:
    with ui.element("div").classes("line people-line"):
        ui.label(row.name).classes("strong mono")
        ui.label(visit.say("console-role", role=row.role))
        mode = visit.say("console-people-mode", mode=row.mode)
        ui.label(visit.say("console-people-rights", sees=_describe_sees(visit, row.sees), mode=mode)).classes("muted")
        if row.employee is not None:
            ui.label(_name_employee(visit, row.employee)).classes("muted")
        if row.for_customers:
            show_badge(visit.say("console-people-customers"), tone="warn")
        if not row.may_approve:
            show_badge(visit.say("console-people-no-approval"))


def _describe_accounts(visit: Visit, row: PersonRow) -> str:
    number = row.key.partition(":")[2]
    employee = "" if row.employee is None else str(row.employee)
    sentence = visit.say("console-people-account", telegram=number, employee=employee, known="yes" if employee else "no")
    others = ", ".join(key.partition(":")[2] for key in row.accounts)
    return f"{sentence} · {visit.say('console-people-others', others=others)}" if others else sentence


def _describe_sees(visit: Visit, sees: Sees) -> str:
    if isinstance(sees, str):
        return visit.say("console-people-sees", sees=sees)
    return visit.say("console-people-sees-some", people=", ".join(_name_employee(visit, number) for number in sees))


def _describe_absence(visit: Visit, row: PersonRow) -> str:
    until = format_short_day(row.away, visit.tr.locale, has_year=True) if row.away is not None else ""
    return visit.say("console-people-away", until=until, deputy=row.deputy, named="yes" if row.deputy else "no")


def _name_employee(visit: Visit, number: int) -> str:
    access = visit.services.access
    name = next((access.find_name(key) for key, user in access.map_employees().items() if user == number), "")
    return cut_text(name, limit=_LONGEST_NAME) or visit.say("console-people-employee", number=str(number))


_TONES: Final[dict[Outcome, str]] = {
    "alone": "good",
    "card": "warn",
    "lead": "warn",
    "two_people": "warn",
    "refused": "bad",
    "planned": "plain",
}


async def show_abilities(visit: Visit, place: ui.element, row: PersonRow) -> None:
    """A dialog in `place`."""
    actor = visit.services.access.find_actor_by_key(row.key)
    if visit.actor.role == "manager" or actor is None:
        return
    abilities = await asyncio.to_thread(visit.services.policy.list_abilities, actor)
    with place, ui.dialog() as dialog, ui.element("div").classes("people-dialog"):
        dialog.on("hide", dialog.delete)
        ui.label(visit.say("console-people-what-of", name=actor.name)).classes("strong").props("role=heading aria-level=2")
        ui.label(visit.say("console-people-what-why")).classes("muted small")
        for outcome, tone in _TONES.items():
            _show_group(visit, outcome, tone, [ability for ability in abilities if ability.outcome == outcome])
        ui.button(visit.say("console-people-close"), on_click=dialog.close).props("flat no-caps")
    dialog.open()


def _show_group(visit: Visit, outcome: Outcome, tone: str, abilities: list[Ability]) -> None:
    if not abilities:
        return
    show_badge(visit.say("console-people-outcome", outcome=outcome), tone=tone)
    with ui.element("ul").classes("people-acts"):
        for ability in abilities:
            with ui.element("li"):
                show_text(visit.say("console-people-act", act=ability.act))
                if reasons := format_reasons(visit, ability.reasons):
                    show_text(reasons, classes="muted small")

"""Submits what the command line submits. A link stands on the page once: nothing else keeps it."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from nicegui import ui

from bot.access.invitations import MadeInvitation, build_invitation, build_removal, fetch_bot_name
from bot.console.visit import Visit
from bot.console.widgets import ask_first, cut_text, tell
from orchestrator.domain.actor import Actor, Role
from orchestrator.domain.errors import SettingsError
from orchestrator.features.people.staff import Employee

_DOOR: Final = "console"
_HOURS: Final = (24, 48, 24 * 7, 24 * 30)
_ROLES: Final[tuple[Role, ...]] = ("manager", "lead", "admin")
_LONGEST_NAME: Final = 120


async def ask_to_end(visit: Visit, place: ui.element, key: str, name: str) -> None:
    """Without `name` the key is of a link."""
    number = key.partition(":")[2]
    question = visit.say("console-people-withdraw-sure")
    if name:
        question = visit.say("people-revoke", name=cut_text(name, limit=_LONGEST_NAME), id=number)
    label = visit.say("button-people-remove" if name else "console-people-withdraw-yes")
    ask_first(visit, place, question, label, lambda: _submit_end(visit, key), is_grave=True)


async def _submit_end(visit: Visit, key: str) -> None:
    actor = visit.actor
    if actor.role != "admin" or visit.services.access.is_fixed(key):
        tell(visit, visit.say("console-people-not-yours"), tone="negative")
        return
    row = build_removal(key, now=visit.services.clock.now(), actor=actor.model_dump(mode="json"), door=_DOOR)
    await visit.services.orchestrator.receive([row])
    tell(visit, visit.say("console-people-ended"))


async def open_invitation(visit: Visit, place: ui.element) -> None:
    if visit.actor.role != "admin":
        return
    if visit.services.settings.telegram_bot_token is None:
        ui.notify(visit.say("console-people-no-telegram"), type="warning")
        return
    try:
        employees: Sequence[Employee] = await visit.services.orchestrator.tools.queries["employees"]()
    except Exception:  # noqa: BLE001 - whatever the portal did, there is nobody to choose from
        ui.notify(visit.say("console-people-no-portal"), type="negative")
        return
    with place, ui.dialog().props("persistent") as dialog, ui.element("div").classes("people-dialog"):
        dialog.on("hide", dialog.delete)
        InvitationForm(visit, dialog, employees).draw()
    dialog.open()


@dataclass(frozen=True)
class InvitationForm:
    visit: Visit
    dialog: ui.dialog
    employees: Sequence[Employee]

    def draw(self) -> None:
        visit = self.visit
        ui.label(visit.say("console-people-invite")).classes("strong").props("role=heading aria-level=2")
        names = {employee.user_id: f"{cut_text(employee.name, limit=_LONGEST_NAME)} · №{employee.user_id}" for employee in self.employees}
        who = ui.select(names, label=visit.say("console-people-employee-field"), with_input=True).props("outlined")
        roles = {role: visit.say("console-role", role=role) for role in _ROLES}
        role = ui.select(roles, value="manager", label=visit.say("console-people-column", column="role")).props("outlined")
        hours = ui.select(
            {number: visit.say("console-people-hours", hours=number) for number in _HOURS},
            value=48,
            label=visit.say("console-people-works"),
        ).props("outlined")
        second = ui.checkbox(visit.say("console-people-second")).props("dense")
        warning = ui.label("").classes("people-warning").props("role=status aria-live=polite")
        second.set_visibility(False)
        warning.set_visibility(False)

        def follow() -> None:
            accounts = self._find_accounts(who.value)
            second.set_value(False)  # what was confirmed was about somebody else
            second.set_visibility(bool(accounts))
            warning.set_visibility(bool(accounts))
            warning.set_text(visit.say("console-people-taken", names=", ".join(accounts)) if accounts else "")

        async def make() -> None:
            if not button.enabled:
                return
            if not isinstance(who.value, int) or role.value not in _ROLES or hours.value not in _HOURS:
                ui.notify(visit.say("console-people-choose"), type="warning")
                return
            if self._find_accounts(who.value) and not second.value:
                ui.notify(visit.say("console-people-confirm-second"), type="warning")
                return
            button.disable()  # a second press would make a link that nobody sees
            try:
                await self._make(who.value, role.value, hours.value)
            finally:
                if not button.is_deleted:
                    button.enable()

        who.on_value_change(follow)
        with ui.element("div").classes("people-buttons"):
            ui.button(visit.say("console-people-cancel"), on_click=self.dialog.close, color=None).props("flat no-caps")
            button = ui.button(visit.say("console-people-make"), on_click=make, color=None)
            button.props("unelevated no-caps").classes("main-button")

    def _find_accounts(self, user_id: object) -> list[str]:
        access = self.visit.services.access
        return [access.find_name(key) for key, number in access.map_employees().items() if number == user_id]

    async def _make(self, user_id: int, role: Role, hours: int) -> None:
        visit = self.visit
        actor = visit.actor
        if actor.role != "admin":
            return
        employee: Employee = await visit.services.orchestrator.tools.queries["employee"](user_id)
        if not employee.known or not employee.works:
            ui.notify(visit.say("console-people-unfit", known="yes" if employee.known else "no"), type="negative")
            return
        try:
            bot = await asyncio.to_thread(fetch_bot_name, visit.services.settings)
        except SettingsError:
            ui.notify(visit.say("console-people-no-bot"), type="negative")
            return
        invitation = _build(visit, bot, employee, role, hours, actor)
        await visit.services.orchestrator.receive([invitation.row])
        self._show_link(invitation, employee)

    def _show_link(self, invitation: MadeInvitation, employee: Employee) -> None:
        """Shown in place of the form, once."""
        visit = self.visit
        self.dialog.clear()
        with self.dialog, ui.element("div").classes("people-dialog"):
            ui.label(visit.say("console-people-link", name=cut_text(employee.name, limit=_LONGEST_NAME))).classes("strong")
            ui.input(visit.say("console-people-link-field"), value=invitation.link).props("readonly outlined").classes("people-link")
            until = visit.tr.format_time(invitation.expires_at)
            ui.label(visit.say("console-people-link-once", expires=until)).classes("muted text")
            with ui.element("div").classes("people-buttons"):
                ui.button(visit.say("console-people-close"), on_click=self.dialog.close, color=None).props("flat no-caps")
                copy = ui.button(visit.say("console-people-copy"), icon="content_copy", color=None)
                copy.props("unelevated no-caps").classes("main-button").on_click(lambda: self._copy(invitation.link))

    def _copy(self, link: str) -> None:
        ui.clipboard.write(link)
        ui.notify(self.visit.say("console-people-copied"))


def _build(visit: Visit, bot: str, employee: Employee, role: Role, hours: int, actor: Actor) -> MadeInvitation:
    return build_invitation(
        bot,
        employee.user_id,
        role,
        employee.name,
        hours=hours,
        now=visit.services.clock.now(),
        actor=actor.model_dump(mode="json"),
        door=_DOOR,
    )

"""Buttons and dialogs, outside of what is redrawn: nothing typed is lost when a card changes."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final

from nicegui import ui

from bot.console.approvals.shown_cards import ShownCard
from bot.console.visit import Visit
from bot.console.widgets import cut_text, show_badge
from bot.http_api.approvals.card_models import Confirmation, to_confirmation
from bot.http_api.approvals.confirmations import DecisionConflict, DecisionRequest, DecisionResult, decide
from bot.http_api.approvals.freeze import describe_freeze
from bot.http_api.server.errors import ApiError
from orchestrator.domain.inputs import IN_CONSOLE, LONGEST_REASON

SECOND: Final = "second_confirmation_required"
_SAID: Final = {
    "executed": ("good", "console-approvals-executed"),
    "partly": ("warn", "console-approvals-partly"),
    "denied": ("plain", "console-approvals-denied"),
    "refused": ("bad", "console-approvals-refused"),
    "unknown": ("warn", "console-approvals-unknown"),
    "running": ("live", "console-approvals-running"),
    "accepted": ("live", "console-approvals-accepted"),
}
"""By status of a decision that counted: tone and sentence."""
_CONFLICTS: Final = {
    "confirmation_changed": "console-approvals-changed",
    "confirmation_expired": "console-approvals-expired",
    "confirmation_executed": "console-approvals-first-approved",
    "confirmation_approved": "console-approvals-first-approved",
    "confirmation_refused": "console-approvals-first-approved",
    "confirmation_unknown": "console-approvals-first-approved",
    "confirmation_denied": "console-approvals-first-denied",
    "confirmation_superseded": "console-approvals-replaced",
    "fingerprint_mismatch": "console-approvals-outdated",
}
"""By code of a decision that was not accepted."""
_NOT_FOUND: Final = 404


@dataclass(frozen=True, kw_only=True)
class Outcome:
    tone: str
    text: str
    card: Confirmation
    """As it is now; the new one if what it would change has changed."""
    is_second: bool = False
    """A second confirmation is needed, with the fingerprint of `card`."""


async def decide_card(visit: Visit, card: Confirmation, *, approve: bool, reason: str = "") -> Outcome:
    """As the page showed it. Raises VisitOver if rights have changed, and StoreError."""
    wish = DecisionRequest(approve=approve, fingerprint=card.fingerprint, reason=reason, via=IN_CONSOLE)
    try:
        done = await decide(visit.services.desk, visit.caller, card.id, wish)
    except DecisionConflict as why:
        return await _explain_conflict(visit, why)
    except ApiError as why:
        return await _explain_refusal(visit, card, why)
    return _describe_result(visit, done)


def _describe_result(visit: Visit, done: DecisionResult) -> Outcome:
    if done.status == SECOND:
        return Outcome(tone="warn", text="", card=done.card, is_second=True)
    tone, code = _SAID[done.status]
    return Outcome(tone=tone, text=visit.tr.translate(code), card=done.card)


async def _explain_conflict(visit: Visit, why: DecisionConflict) -> Outcome:
    if why.code == "frozen":
        standing = await visit.services.desk.switch.fetch_freeze()
        return Outcome(tone="warn", text=visit.say_notice(describe_freeze("frozen-card", standing)), card=why.card)
    by = why.card.decided.by.name if why.card.decided is not None else ""
    code = _CONFLICTS.get(why.code, "console-approvals-not-counted")
    return Outcome(tone="warn", text=visit.tr.translate(code, who=by, known="yes" if by else "no"), card=why.card)


async def _explain_refusal(visit: Visit, card: Confirmation, why: ApiError) -> Outcome:
    """In their language; the error's own sentence is for programs."""
    if why.status == _NOT_FOUND:
        return Outcome(tone="bad", text=visit.say("console-not-found"), card=card)
    found_card = await visit.services.desk.find_card(visit.caller, card.id)
    now = to_confirmation(found_card, visit.viewer, visit.tr) if found_card is not None else card
    if why.status == 403:  # noqa: PLR2004 - forbidden
        return Outcome(tone="bad", text=now.why_not or visit.say("console-approvals-forbidden"), card=now)
    return Outcome(tone="bad", text=visit.say("console-approvals-not-worked"), card=now)


_MOST_SAID: Final = 3
_LONGEST_TITLE: Final = 200
_ICONS: Final = {"good": "check_circle", "warn": "error", "bad": "cancel", "live": "hourglass_top", "plain": "info"}


class DecisionDesk:
    """Made where outcomes are to be shown, before the cards are drawn."""

    def __init__(self, visit: Visit) -> None:
        self._visit = visit
        self._busy: set[str] = set()
        self._said: list[ui.element] = []
        self._denying: Confirmation | None = None
        self._confirming: Confirmation | None = None
        """While its dialog is open: it never becomes another one under the eyes of the person."""
        self.whole: set[str] = set()
        """Cards that the person asked to see in full."""
        self.refresh: Callable[[], Awaitable[None]] | None = None
        self._outcomes = ui.element("div").classes("outcomes").props("role=status aria-live=polite")
        self._build_denial()
        self._build_second()

    def _build_denial(self) -> None:
        visit = self._visit
        with ui.dialog() as self._denial, ui.card().classes("dialog"):
            ui.label(visit.say("console-approvals-deny-title")).classes("strong").props("role=heading aria-level=2")
            self._denied = ui.label().classes("text muted").props("dir=auto")
            self._reason = ui.textarea(visit.say("console-approvals-reason")).props(f"outlined autogrow maxlength={LONGEST_REASON}")
            self._reason.classes("wide")
            _show_dialog_buttons(visit, self._denial, visit.say("console-approvals-deny-now"), self._deny)

    def _build_second(self) -> None:
        visit = self._visit
        with ui.dialog() as self._second, ui.card().classes("dialog"):
            ui.label(visit.say("console-approvals-second-title")).classes("strong").props("role=heading aria-level=2")
            self._sure = ui.label().classes("text").props("dir=auto")
            ui.label(visit.say("console-approvals-second")).classes("muted")
            _show_dialog_buttons(visit, self._second, visit.say("console-approvals-second-now"), self._confirm)

    async def approve(self, card: Confirmation, button: ui.button) -> None:
        """What cannot be undone is asked for once more."""
        await self._decide(card, button, approve=True)

    def open_denial(self, card: Confirmation) -> None:
        self._denying = card
        self._denied.set_text(cut_text(card.title, limit=_LONGEST_TITLE))
        self._reason.set_value("")
        self._denial.open()

    async def show_whole(self, shown_card: ShownCard) -> None:
        self.whole.add(shown_card.card.id)
        if self.refresh is not None:
            await self.refresh()

    async def _deny(self) -> None:
        card, self._denying = self._denying, None
        self._denial.close()
        if card is not None:
            await self._decide(card, None, approve=False, reason=str(self._reason.value or "").strip())

    async def _confirm(self) -> None:
        card, self._confirming = self._confirming, None
        self._second.close()
        if card is not None:
            await self._decide(card, None, approve=True)

    async def _decide(self, card: Confirmation, button: ui.button | None, *, approve: bool, reason: str = "") -> None:
        """Once, however often it is pressed meanwhile."""
        if card.id in self._busy:
            return
        self._busy.add(card.id)
        if button is not None:
            button.disable()
        try:
            outcome = await decide_card(self._visit, card, approve=approve, reason=reason)
        finally:
            self._busy.discard(card.id)
            if button is not None and not button.is_deleted:
                button.enable()
        with self._visit.page:
            if not outcome.is_second:
                self._say(outcome)
            elif self._second.value or self._denial.value:
                self._say(replace(outcome, text=self._visit.say("console-approvals-second-later")))
            else:
                self._confirming = outcome.card
                self._sure.set_text(cut_text(outcome.card.title, limit=_LONGEST_TITLE))
                self._second.open()

    def _say(self, outcome: Outcome) -> None:
        """The newest first."""
        with self._outcomes, ui.element("div").classes(f"outcome outcome-{outcome.tone}") as notice:
            ui.icon(_ICONS[outcome.tone]).props("aria-hidden=true")
            with ui.element("div").classes("outcome-words"):
                ui.label(outcome.text).classes("text").props("dir=auto")
                title = cut_text(outcome.card.title, limit=_LONGEST_TITLE)
                ui.link(title, f"/approvals/{outcome.card.id}").classes("small").props("dir=auto")
            close = ui.button(icon="close", on_click=lambda: self._hide(notice), color=None).props("flat round dense")
            close.props(f'aria-label="{self._visit.say("console-approvals-close")}"')
        notice.move(target_index=0)
        self._said.insert(0, notice)
        for old in self._said[_MOST_SAID:]:
            self._hide(old)

    def _hide(self, notice: ui.element) -> None:
        if notice in self._said:
            self._said.remove(notice)
            notice.delete()


def _show_dialog_buttons(visit: Visit, dialog: ui.dialog, words: str, act: Callable[[], Awaitable[None]]) -> None:
    with ui.row().classes("dialog-buttons"):
        ui.button(visit.say("console-approvals-back"), on_click=dialog.close, color=None).props("flat no-caps")
        ui.button(words, on_click=act, color=None).props("unelevated no-caps").classes("act-bad")


def show_buttons(desk: DecisionDesk, visit: Visit, shown_card: ShownCard) -> None:
    """With a reason for what the person may not do."""
    card = shown_card.card
    with ui.row().classes("approval-buttons"):
        if shown_card.is_cut:
            show_badge(visit.say("console-approvals-cut"), tone="warn")
            _show_button(visit.say("console-approvals-show-whole"), "unfold_more", shown_card, lambda: desk.show_whole(shown_card))
        elif card.may_approve:
            dangerous = card.taps > 1 or shown_card.risk == "high"
            words = visit.say("console-approvals-approve-danger" if dangerous else "console-approvals-approve")
            yes = _show_button(words, "check", shown_card, lambda: desk.approve(card, yes))
            yes.classes("act-bad" if dangerous else "act-good").props(remove="outline").props("unelevated")
        if card.may_deny:
            words = visit.say("console-approvals-withdraw" if shown_card.is_own and not card.may_approve else "console-approvals-deny")
            _show_button(words, "close", shown_card, lambda: desk.open_denial(card))
    if card.why_not:
        with ui.element("div").classes("why-not"):
            ui.icon("lock").props("aria-hidden=true")
            ui.label(card.why_not).classes("text small").props("dir=auto")


def _show_button(words: str, icon: str, shown_card: ShownCard, act: Callable[[], Awaitable[None] | None]) -> ui.button:
    button = ui.button(words, icon=icon, on_click=act, color=None).props("outline no-caps")
    button.props["aria-label"] = f"{words}: {cut_text(shown_card.card.title, limit=_LONGEST_TITLE)}"
    return button

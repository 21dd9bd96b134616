"""Draws cards, whole and as lines. All texts are shown as text."""

from typing import Final

from nicegui import ui

from bot.console.approvals.controls import DecisionDesk, show_buttons
from bot.console.approvals.shown_cards import MOST_COMMANDS, CardBundle, CardCommand, CardRow, ShownCard
from bot.console.visit import Visit
from bot.console.widgets import LONGEST, cut_text, is_web_address, show_badge, show_spans
from bot.rendering.cards import LONG

_RISKS: Final = {"high": "bad", "mid": "warn", "low": "plain"}
_STATES: Final = {
    "requested": ("live", "console-approvals-state-requested"),
    "approved": ("live", "console-approvals-state-approved"),
    "executed": ("good", "console-approvals-state-executed"),
    "denied": ("plain", "console-approvals-state-denied"),
    "expired": ("plain", "console-approvals-state-expired"),
    "superseded": ("plain", "console-approvals-state-superseded"),
    "refused": ("bad", "console-approvals-state-refused"),
    "unknown": ("warn", "console-approvals-state-unknown"),
}
_MARKS: Final = {"success": ("good", "check"), "error": ("bad", "error"), "not_run": ("plain", "pause"), "unknown": ("warn", "help")}
"""By outcome of a command: tone and icon."""
_SHORT: Final = 400
_LONGEST_REASON: Final = 2_000
_ROWS_OF_LINE: Final = 2


def show_bundle(desk: DecisionDesk, visit: Visit, bundle: CardBundle) -> None:
    if not bundle.is_plan:
        show_card(desk, visit, bundle.cards[0])
        return
    with ui.element("section").classes("plan"):
        ui.label(visit.say("console-approvals-plan", count=len(bundle.cards))).classes("strong").props("role=heading aria-level=2")
        for card in bundle.cards:
            show_card(desk, visit, card, level=3)


def show_card(desk: DecisionDesk, visit: Visit, shown_card: ShownCard, *, is_alone: bool = False, level: int = 2) -> None:
    """`is_alone` on its own page, which needs no link to itself."""
    card, waits = shown_card.card, shown_card.card.state == "requested"
    with ui.element("article").classes(f"panel approval {f'approval-{shown_card.risk}' if waits else ''}"):
        with ui.element("div").classes("approval-head"):
            show_spans(shown_card.heading, classes="approval-title", limit=_SHORT).props(f"role=heading aria-level={level}")
            with ui.element("div").classes("badges"):
                show_state(visit, shown_card)
        if card.total:
            ui.label(visit.say("card-sum", sum=card.total)).classes("strong")
        _show_rows(visit, shown_card, shown_card.rows)
        _show_commands(visit, shown_card)
        if shown_card.following:
            show_spans(shown_card.following, classes="muted", limit=None if shown_card.is_whole else LONGEST)
        if shown_card.state:
            show_spans(shown_card.state, classes="approval-state")
        _show_reasons(visit, shown_card)
        with ui.element("div").classes("approval-foot"):
            _show_facts(visit, shown_card, is_alone=is_alone)
            if waits:
                show_buttons(desk, visit, shown_card)


def show_state(visit: Visit, shown_card: ShownCard) -> None:
    """The risk of a card that waits, otherwise its state; and the safety mode."""
    state = shown_card.card.state
    tone, code = _STATES[state]
    if state != "requested":
        show_badge(visit.tr.translate(code), tone=tone)
    elif shown_card.risk != "low":
        show_badge(visit.say("console-approvals-risk", level=shown_card.risk), tone=_RISKS[shown_card.risk])
    if shown_card.is_undo:
        show_badge(visit.say("card-undo"))
    if shown_card.mode in {"canary", "shadow"}:
        show_badge(visit.say("console-approvals-mode", mode=shown_card.mode))


def _show_rows(visit: Visit, shown_card: ShownCard, rows: tuple[CardRow, ...]) -> None:
    """A table on wide screens, one below the other on narrow ones."""
    if not rows:
        return
    limit = None if shown_card.is_whole else LONGEST
    with ui.element("dl").classes("changes"):
        for row in rows:
            with ui.element("div").classes("change"):
                with ui.element("dt"):
                    ui.label(cut_text(row.name, limit=_SHORT)).classes("muted text").props("dir=auto")
                    if row.loss:
                        ui.label(row.loss).classes("strong text").props("dir=auto")
                with ui.element("dd").classes("change-values"):
                    if row.before:
                        _show_value(visit, row.before, "change-before", limit, is_open=shown_card.is_outward)
                        ui.icon("arrow_forward").classes("change-arrow").props(f'aria-label="{visit.say("console-approvals-becomes")}"')
                    _show_value(visit, row.after or "—", "change-after", limit, is_open=shown_card.is_outward)


def _show_value(visit: Visit, text: str, classes: str, limit: int | None, *, is_open: bool) -> None:
    """Folded if long, unless it goes to somebody outside."""
    visible = text if limit is None else cut_text(text, limit=limit)
    if is_open or len(visible) <= LONG * 2:
        ui.label(visible).classes(f"text {classes}").props("dir=auto")
        return
    with ui.element("div").classes("fold"):
        ui.label(visible).classes(f"text fold-text {classes}").props("dir=auto")
        more = ui.button(visit.say("console-approvals-unfold"), icon="unfold_more", color=None)
        more.props("flat dense no-caps aria-expanded=false")
        more.on("click", js_handler=_TOGGLE)


_TOGGLE: Final = """(event) => {
  const button = event.currentTarget || event.target.closest("button");
  button.setAttribute("aria-expanded", String(button.closest(".fold").classList.toggle("fold-open")));
}"""


def _show_commands(visit: Visit, shown_card: ShownCard) -> None:
    commands = shown_card.commands if shown_card.is_whole else shown_card.commands[:MOST_COMMANDS]
    if not commands:
        return
    with ui.element("ol").classes("commands"):
        for command in commands:
            with ui.element("li").classes("command"):
                _show_command(visit, shown_card, command)
    if len(commands) < len(shown_card.commands):
        ui.label(visit.say("card-more", count=len(shown_card.commands) - len(commands))).classes("muted")


def _show_command(visit: Visit, shown_card: ShownCard, command: CardCommand) -> None:
    with ui.element("div").classes("command-head"):
        if command.outcome in _MARKS:
            tone, icon = _MARKS[command.outcome]
            ui.icon(icon).classes(f"tone-{tone}").props(f'aria-label="{visit.say("console-approvals-command", outcome=command.outcome)}"')
        show_spans(command.heading, limit=_SHORT)
    _show_rows(visit, shown_card, command.rows)
    if command.error:
        ui.label(cut_text(command.error, limit=_SHORT)).classes("text small tone-bad").props("dir=auto")


def _show_reasons(visit: Visit, shown_card: ShownCard) -> None:
    if shown_card.card.state == "requested" and shown_card.reasons:
        with ui.element("div").classes("reasons"):
            ui.icon("info").props("aria-hidden=true")
            words = ". ".join(reason.rstrip(".") for reason in shown_card.reasons)
            ui.label(cut_text(words, limit=_LONGEST_REASON)).classes("text").props("dir=auto")
    if shown_card.card.comment:
        with ui.element("div").classes("reasons reasons-plain"):
            ui.icon("smart_toy").props(f'aria-label="{visit.say("console-approvals-comment")}"')
            ui.label(cut_text(shown_card.card.comment, limit=_LONGEST_REASON)).classes("text muted").props("dir=auto")


def _show_facts(visit: Visit, shown_card: ShownCard, *, is_alone: bool) -> None:
    card = shown_card.card
    with ui.element("div").classes("facts small muted"):
        ui.label(visit.say("console-approvals-asked", who=cut_text(card.asked_by.name or card.asked_by.id, limit=_SHORT)))
        if card.state == "requested":
            ui.label(visit.say("console-approvals-until", until=visit.tr.format_time(card.expires_at)))
            if shown_card.deciders:
                ui.label(visit.say("console-approvals-told", who=shown_card.deciders))
        else:
            ui.label(visit.tr.format_time(card.asked_at))
        if is_web_address(shown_card.url):
            ui.link(visit.say("console-approvals-record"), shown_card.url, new_tab=True).props('rel="noopener noreferrer"')
        if card.run is not None:
            ui.link(visit.say("console-approvals-run"), f"/runs/{card.run.id}")
        if not is_alone:
            ui.link(visit.say("console-approvals-open"), f"/approvals/{card.id}")
        ui.link(visit.say("console-approvals-why"), f"/audit/{shown_card.effect_id}")


def show_line(visit: Visit, shown_card: ShownCard, *, among_decided: bool = False) -> None:
    """Leads to its page; among decided cards one that waits says so."""
    card = shown_card.card
    with ui.link(target=f"/approvals/{card.id}").classes("line approval-line"):
        ui.label(cut_text(card.title, limit=_SHORT)).classes("strong text").props("dir=auto")
        if words := summarize_changes(shown_card):
            ui.label(words).classes("text muted").props("dir=auto")
        with ui.element("div").classes("badges"):
            if among_decided and card.state == "requested":
                tone, code = _STATES[card.state]
                show_badge(visit.tr.translate(code), tone=tone)
            show_state(visit, shown_card)
            ui.label(card.asked_by.name or card.asked_by.id).classes("small muted")
            moment = card.expires_at if card.state == "requested" else card.asked_at
            code = "console-approvals-until" if card.state == "requested" else "console-approvals-at"
            ui.label(visit.tr.translate(code, until=visit.tr.format_time(moment))).classes("small muted")


def summarize_changes(shown_card: ShownCard) -> str:
    """In one line, such as "Сумма: 1 000 000 ₽ → 1 200 000 ₽"."""
    rows = shown_card.rows[:_ROWS_OF_LINE]
    parts = [f"{row.name}: {row.loss or row.before} → {row.after}" if row.before else f"{row.name}: {row.after}" for row in rows]
    return cut_text("; ".join(" ".join(part[:_SHORT].split()) for part in parts), limit=_SHORT)

"""Renders the card of a plan: values, state and outcome of each step. Pure."""

from collections.abc import Sequence

from bot.i18n.translate import Translator
from bot.rendering.card_reasons import MOST_REASONS, list_reasons, render_reasons
from bot.rendering.cards import (
    explain_refusal,
    format_undo_offer,
    render_changes,
    render_following,
    render_outcome_details,
    render_state,
    render_waiting,
)
from bot.rendering.headings import format_change, render_heading
from bot.rendering.spans import Span, Spans, build_spans, format_bold, join_blocks
from orchestrator.domain.card_view import CardView, Preview, PreviewLine, PreviewPart
from orchestrator.gate.preview.old_texts import shorten_preview
from orchestrator.language.text import format_number
from state.model.card import Card

_MARKS = {"approved": "⏳ ", "executed": "✅ ", "refused": "⚠️ ", "denied": "✖ ", "expired": "⌛ ", "unknown": "❓ ", "superseded": "✖ "}
"""By the status of its card."""
_TOLD_AS_ONE = frozenset({"approved", "elsewhere"})
"""Told as on the card of a single call."""
_FATES, _LONGEST_FATE = 900, 200
"""Characters for all outcomes, and for one: one message must hold them."""


def render_plan_card(view: CardView, tr: Translator) -> Spans:
    as_one = _is_told_as_one(view)
    count = len(view.members) + view.steps_hidden
    room = 0 if as_one else min(_LONGEST_FATE, _FATES // count)
    undo_for_all, offers = _list_undo_offers(view, tr, is_over=not as_one and not view.card.is_waiting)
    steps_with_offers = zip(view.steps, offers, strict=True)
    reasons = [list_reasons(CardView.from_card(card), tr, about_fields=False) if card.is_waiting else [] for card in view.members]
    waiting = [one for one, card in zip(reasons, view.members, strict=True) if card.is_waiting]
    shared = [reason for reason in waiting[0] if all(reason in one for one in waiting)] if waiting else []
    shared_reasons = [*list_reasons(view, tr, about_fields=True), *shared][:MOST_REASONS]
    own = {number: [reason for reason in one if reason not in shared_reasons] for (number, _), one in zip(view.steps, reasons, strict=True)}
    steps = join_blocks(
        [_render_step(number, card, tr, room, undo=offer, reasons=own[number]) for (number, card), offer in steps_with_offers], "\n\n"
    )
    waits = "yes" if view.hidden_waits else "no"
    left_out = tr.translate("plan-hidden", count=view.steps_hidden, waits=waits) if view.steps_hidden else ""
    hidden = build_spans(Span(left_out, "italic")) if left_out else ()
    blocks = [format_bold(tr.translate("plan-head", count=count)), steps, hidden]
    if view.card.is_waiting:
        blocks.extend(render_waiting(view, tr, reasons=shared_reasons))
    elif as_one:
        blocks.append(render_state(view, tr))
    else:
        done = sum(card.status == "executed" for card in view.members)
        deciders = ", ".join(dict.fromkeys(card.approved_by_name for card in view.members if card.approved_by_name))
        over = tr.translate("plan-over", done=done, count=len(view.members), who=deciders, approved="yes" if deciders else "no")
        blocks.append(join_blocks([format_bold(over), build_spans(undo_for_all)], "\n"))
    return join_blocks(blocks, "\n\n")


def _list_undo_offers(view: CardView, tr: Translator, *, is_over: bool) -> tuple[str, list[str]]:
    """One for all steps of a finished plan. A lead's copy has no undo buttons."""
    offers = ["" if view.is_copy or card.status != "executed" else format_undo_offer(card, tr) for card in view.members]
    same = {offer for offer, card in zip(offers, view.members, strict=True) if card.status == "executed"}
    return (same.pop(), [""] * len(offers)) if is_over and len(same) == 1 else ("", offers)


def render_plan_details(view: CardView, tr: Translator) -> Spans:
    steps = [_render_step_details(number, card, tr) for number, card in view.steps]
    spans = build_spans(tr.translate("details-asked", who=view.card.requested_by_name))
    return join_blocks([*steps, render_reasons(view, tr), spans], "\n\n")


def _render_step_details(number: int, card: Card, tr: Translator) -> Spans:
    view = CardView.from_card(card)
    record = f" {format_number(view.preview.id, tr.locale)}" if view.preview.id else ""
    head = format_bold(build_spans(f"{number}. ", render_heading(view.preview, card.method, tr), record))
    return join_blocks([head, render_changes(view, tr)], "\n")


def _is_told_as_one(view: CardView) -> bool:
    """It runs, others decide, or all steps ended the same."""
    ends = {(card.status, card.denied_by_name, card.reason) for card in view.members}
    return str(view.card.status) in _TOLD_AS_ONE or (len(ends) == 1 and view.card.status in {"denied", "expired"})


def _render_step(number: int, card: Card, tr: Translator, fate_room: int, *, undo: str, reasons: Sequence[str]) -> Spans:
    preview = shorten_preview(Preview.model_validate(card.preview or {}), tr.locale, is_done=card.status == "executed")
    head = build_spans(f"{number}. {_MARKS.get(str(card.status), '')}", format_bold(render_heading(preview, card.method, tr)))
    changes = [_render_change(line) for line in preview.lines if line.after != preview.title or preview.verb != "add"]
    parts = [_render_command(item, tr) for item in preview.items]
    outcome = _trim(_render_fate(card, tr), fate_room) if fate_room else ""
    outcome_details = render_outcome_details(CardView.from_card(card), tr)
    fate = build_spans(Span(outcome, "italic")) if outcome else ()
    why = build_spans(Span(". ".join(reasons), "italic")) if reasons else ()
    return join_blocks([head, *changes, *parts, why, fate, outcome_details, build_spans(undo), render_following(card, tr)], "\n")


def _render_command(item: PreviewPart, tr: Translator) -> Spans:
    """Numbers on this card are the steps'."""
    changes = "; ".join(format_change(line, with_name=True) for line in item.lines)
    return build_spans("• ", render_heading(item, item.method, tr), f" — {changes}" if changes else "")


def _trim(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _render_change(line: PreviewLine) -> Spans:
    before, after = (", ".join(value.split("\n")) for value in (line.before, line.after))
    return build_spans(f"{line.name}: {before} → " if before else f"{line.name}: ", format_bold(after))


def _render_fate(card: Card, tr: Translator) -> str:
    """ "" where the mark says enough."""
    match str(card.status):
        case "refused" if card.code:
            return explain_refusal(card, tr)
        case "refused":
            return tr.translate("card-not-done", method=card.method)
        case "denied" if card.denied_by and card.denied_by == card.requested_by:
            return tr.translate("plan-step-left-out")
        case "denied":
            return tr.translate("plan-step-denied", who=card.denied_by_name, reason=card.reason, reasoned="yes" if card.reason else "no")
        case "unknown":
            return tr.translate("plan-step-unknown")
        case "expired":
            return tr.translate("plan-step-expired")
        case "superseded":
            return tr.translate("plan-step-closed")
        case "executed" if card.undone_at:
            return tr.translate("card-undone", who=card.undone_by, at=card.undone_at)
        case _:
            return ""

"""Renders the card of a plan with several waiting steps: a line for each step, with its values, its state and what came of it. Pure."""

from bot.i18n.translate import Translator
from bot.rendering.batches import list_items
from bot.rendering.cards import render_following, render_outcome_details, render_waiting
from bot.rendering.headings import render_heading
from bot.rendering.spans import Spans, build_spans, format_bold, join_blocks
from orchestrator.domain.card_view import CardView, Preview, PreviewLine
from orchestrator.gate.call.escape_text import escape_text
from state.card import Card

_MARKS = {"approved": "⏳ ", "executed": "✅ ", "refused": "⚠️ ", "denied": "✖ ", "expired": "⌛ ", "unknown": "❓ "}
"""The mark before a step that no longer waits, by the status of its card."""


def render_plan_card(view: CardView, tr: Translator) -> Spans:
    """Return the text of the card: the steps with each old and new value, and while some wait, the reasons and who asked."""
    steps = join_blocks([_render_step(number, card, tr) for number, card in enumerate(view.members, start=1)], "\n")
    blocks = [format_bold(tr.translate("plan-head", count=len(view.members))), steps]
    if view.card.is_waiting:
        blocks.extend(render_waiting(view, tr))
    else:
        done = sum(card.status == "executed" for card in view.members)
        blocks.append(format_bold(tr.translate("plan-over", done=done, count=len(view.members))))
    return join_blocks(blocks, "\n\n")


def _render_step(number: int, card: Card, tr: Translator) -> Spans:
    preview = Preview.model_validate(card.preview or {})
    head = build_spans(f"{number}. {_MARKS.get(str(card.status), '')}", render_heading(preview, card.method, tr))
    changes = [_render_change(line) for line in preview.lines if line.after != preview.title or preview.verb != "add"]
    parts = list_items(preview.items, {}, tr) if preview.items else []
    told = _render_fate(card, tr)
    made = render_outcome_details(CardView.from_card(card), tr)
    lines = [join_blocks([head, join_blocks(changes, "; ")], " — "), *parts]
    return join_blocks([*lines, format_bold(told) if told else (), made, render_following(card, tr)], "\n")


def _render_change(line: PreviewLine) -> Spans:
    before, after = (", ".join(value.split("\n")) for value in (line.before, line.after))
    return build_spans(f"{line.name}: {before} → " if before else f"{line.name}: ", format_bold(after))


def _render_fate(card: Card, tr: Translator) -> str:
    """Return what came of a step that no longer waits, where the mark does not say enough; otherwise ""."""
    match str(card.status):
        case "refused" if card.code:
            return tr.translate(card.code, **card.args) if tr.has_message(card.code) else escape_text(card.detail, locale=tr.locale)
        case "refused":
            return tr.translate("card-not-done", method=card.method)
        case "denied":
            return tr.translate("plan-step-denied", who=card.denied_by_name, reason=card.reason, reasoned="yes" if card.reason else "no")
        case "unknown":
            return tr.translate("plan-step-unknown")
        case "expired":
            return tr.translate("plan-step-expired")
        case "executed" if card.undone_at:
            return tr.translate("card-undone", who=card.undone_by, at=card.undone_at)
        case _:
            return ""

"""Maps each kind of outbox message to the function that renders its text; plans, questions and groups are rendered here. Pure."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

from bot.i18n.translate import Translator
from bot.rendering.card_reasons import COUNTED, MOST_REASONS, list_reasons, render_reasons
from bot.rendering.cards import (
    explain_refusal,
    format_undo_offer,
    render_card,
    render_changes,
    render_details,
    render_following,
    render_outcome_details,
    render_state,
    render_waiting,
)
from bot.rendering.daily import render_daily, render_reminder
from bot.rendering.headings import format_change, render_heading
from bot.rendering.record_changes import render_history, render_news
from bot.rendering.replies import render_reply
from bot.rendering.spans import Span, Spans, build_spans, format_bold, join_blocks
from orchestrator.domain.card_view import CardView, Preview, PreviewLine, PreviewPart, group_commands
from orchestrator.domain.message_views import CallLine, EditBody, WaitingBody
from orchestrator.domain.outputs import Code, Reply, SentFile, Toast
from orchestrator.gate.preview.old_texts import shorten_preview
from orchestrator.language.text import format_number, trim_text
from state.model.card import Card
from state.stored import JsonObject

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
    views = [CardView.from_card(card) for card in view.members]
    others = {reason.code for one in views for reason in one.reasons} - {COUNTED}
    unsaid = {COUNTED} if others else frozenset()
    reasons = [list_reasons(one, tr, about_fields=False, left_out=unsaid) if one.card.is_waiting else [] for one in views]
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
    parts = [_render_line(line, tr) for line in group_commands(preview.items)]
    outcome = trim_text(_render_fate(card, tr), limit=fate_room) if fate_room else ""
    outcome_details = render_outcome_details(CardView.from_card(card), tr)
    fate = build_spans(Span(outcome, "italic")) if outcome else ()
    why = build_spans(Span(". ".join(reasons), "italic")) if reasons else ()
    return join_blocks([head, *changes, *parts, why, fate, outcome_details, build_spans(undo), render_following(card, tr)], "\n")


def _render_line(line: Sequence[PreviewPart], tr: Translator) -> Spans:
    """Numbers on this card are the steps'."""
    item = line[0]
    changes = "; ".join(format_change(change, with_name=True) for change in item.lines)
    if len(line) == 1:
        return build_spans("• ", render_heading(item, item.method, tr), f" — {changes}" if changes else "")
    names = join_blocks([build_spans(Span(one.title or str(one.id), url=one.url)) for one in line], ", ")
    head = render_heading(item.model_copy(update={"title": ""}), item.method, tr)
    return build_spans("• ", head, f" × {len(line)}", f" — {changes}: " if changes else ": ", names)


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


_CHOSEN: Final = frozenset({"flag", "stage", "category", "user", "choice"})
"""Their buttons say enough without a list."""
_SHORT: Final = 30


def render_edit(body: JsonObject, tr: Translator) -> Spans:
    edit = EditBody.model_validate(body)
    if edit.notice is not None:
        return build_spans(tr.translate_notice(edit.notice))
    return build_spans(format_bold(tr.translate("edit-which"))) if edit.what == "fields" else _render_value_question(edit, tr)


def _render_value_question(edit: EditBody, tr: Translator) -> Spans:
    objection = build_spans("⚠️ ", tr.translate_notice(edit.objection)) if edit.objection else ()
    spans = build_spans(format_bold(tr.translate("edit-new-value", field=edit.name)), "\n", tr.translate("edit-now", value=edit.value))
    choices = () if all(len(label) <= _SHORT for label in edit.options) and edit.field_kind in _CHOSEN else edit.options
    options = join_blocks([build_spans(f"{number}. {label}") for number, label in enumerate(choices, start=1)], "\n")
    code = "edit-how-options" if edit.options else "edit-how-again" if edit.objection else "edit-how"
    how = build_spans(Span(tr.translate(code, kind=edit.field_kind), "italic"))
    return join_blocks([objection, spans, options, how], "\n\n")


def render_waiting_cards(body: JsonObject, tr: Translator) -> Spans:
    waiting = WaitingBody.model_validate(body)
    rows = [_render_waiting_card(card, waiting.chat, tr) for card in waiting.cards]
    more = waiting.count - len(rows)
    tail = build_spans(tr.translate("card-more", count=more)) if more > 0 else ()
    return build_spans(format_bold(tr.translate("pending", count=waiting.count)), "\n", join_blocks([*rows, tail], "\n"))


def _render_waiting_card(card: CallLine, chat: str, tr: Translator) -> Spans:
    words = "".join(span.text for span in render_heading(card.preview or Preview(), card.method, tr))
    asker = tr.translate("pending-asked-by", who=card.who, until=tr.format_time(card.until))
    return build_spans("• ", Span(words, url=build_message_link(chat, card.ref)), f" · {asker}")


def build_message_link(session: str, ref: str) -> str:
    """ "" for chats without addresses. `ref` is "<number>" or, in a former group, "<number>@<chat>"."""
    _, chat, *thread = session.split(":")
    number, _, place = ref.partition("@")
    chat = place or chat
    if not chat.startswith("-100") or not number.isdecimal():
        return ""
    return "/".join(["https://t.me/c", chat.removeprefix("-100"), *thread, number])


def render_people_message(body: JsonObject, tr: Translator) -> Spans:
    """A single sentence; names are inserted as plain text."""
    about: JsonObject = body.get("about") or {}
    args = {**body.get("args", {}), **({"name": about.get("name") or about.get("key", "")} if about else {})}
    return build_spans(tr.translate(str(body["code"]), **args))


Renderer = Callable[[JsonObject, Translator], Spans]
T = TypeVar("T")


def _build_renderer(parse: Callable[[JsonObject], T], render: Callable[[T, Translator], Spans]) -> Renderer:
    return lambda body, tr: render(parse(body), tr)


def _render_card(view: CardView, tr: Translator) -> Spans:
    return render_plan_card(view, tr) if view.is_plan else render_card(view, tr)


def _render_details(view: CardView, tr: Translator) -> Spans:
    return render_plan_details(view, tr) if view.members else render_details(view, tr)


def _render_toast(toast: Toast, tr: Translator) -> Spans:
    return build_spans(tr.translate_notice(toast.notice))


def _render_code(code: Code, _tr: Translator) -> Spans:
    return build_spans(Span(code.text, "code"))


def _render_sent_file(file: SentFile, tr: Translator) -> Spans:
    notice = tr.translate("run-sent-file", name=file.name)
    return build_spans(f"{notice}\n{file.caption}" if file.caption else notice)


RENDERERS: Final[Mapping[str, Renderer]] = {
    "reply": _build_renderer(Reply.model_validate, render_reply),
    "toast": _build_renderer(Toast.model_validate, _render_toast),
    "code": _build_renderer(Code.model_validate, _render_code),
    "sent": _build_renderer(SentFile.model_validate, _render_sent_file),
    "card": _build_renderer(CardView.from_body, _render_card),
    "details": _build_renderer(CardView.from_body, _render_details),
    "news": render_news,
    "daily": render_daily,
    "reminder": render_reminder,
    "people": render_people_message,
    "edit": render_edit,
    "waiting": render_waiting_cards,
    "history": render_history,
}


def render_message(kind: str, body: JsonObject, tr: Translator) -> Spans:
    """Raises KeyError for an unknown kind, ValidationError for a malformed body."""
    return RENDERERS[kind](body, tr)

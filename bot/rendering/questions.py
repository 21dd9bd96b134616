"""Renders the questions of editing a card, and a group's open cards. Pure."""

from typing import Final

from bot.i18n.translate import Translator
from bot.rendering.headings import render_heading
from bot.rendering.spans import Span, Spans, build_spans, format_bold, join_blocks
from orchestrator.domain.card_view import Preview
from orchestrator.domain.message_views import CallLine, EditBody, WaitingBody
from state.stored import JsonObject

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

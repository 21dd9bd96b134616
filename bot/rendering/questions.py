"""Renders the questions of a card edit, and the list of open cards in a group. Pure; no text is read as markup."""

from collections.abc import Mapping
from typing import Any

from bot.i18n.translate import Translator, as_notice
from bot.rendering.replies import render_heading
from bot.rendering.spans import Span, Spans, build_spans, format_bold, join_blocks
from orchestrator.domain.card_view import Preview

Body = Mapping[str, Any]


def render_edit(body: Body, tr: Translator) -> Spans:
    """Return the text of a body of kind "edit": which field, which value, or the outcome."""
    match body["what"]:
        case "fields":
            return build_spans(format_bold(tr.translate("edit-which")))
        case "value":
            return _render_value_question(body, tr)
        case _:
            return build_spans(tr.translate_notice(as_notice(body["notice"])))


def _render_value_question(body: Body, tr: Translator) -> Spans:
    objection = build_spans("⚠️ ", tr.translate_notice(as_notice(body["objection"]))) if body.get("objection") else ()
    asked = build_spans(
        format_bold(tr.translate("edit-new-value", field=body["name"])), "\n", tr.translate("edit-now", value=body["value"])
    )
    options = join_blocks([build_spans(f"{number}. {label}") for number, label in enumerate(body.get("options") or (), start=1)], "\n")
    how = build_spans(Span(tr.translate("edit-how-options" if options else "edit-how", kind=body.get("field_kind", "")), "italic"))
    return join_blocks([objection, asked, options, how], "\n\n")


def render_waiting_cards(body: Body, tr: Translator) -> Spans:
    """Return the text of a body of kind "waiting": the open cards of a group, each with a link to its message."""
    rows = [_render_waiting_card(card, str(body["chat"]), tr) for card in body["cards"]]
    more = body["count"] - len(rows)
    tail = build_spans(tr.translate("card-more", count=more)) if more > 0 else ()
    return build_spans(format_bold(tr.translate("pending", count=body["count"])), "\n", join_blocks([*rows, tail], "\n"))


def _render_waiting_card(card: Body, chat: str, tr: Translator) -> Spans:
    what = join_blocks(
        [build_spans(Span(span.text)) for span in render_heading(Preview.model_validate(card["preview"]), card["method"], tr)], ""
    )
    words = "".join(span.text for span in what)
    told = tr.translate("card-asked-by", who=card["who"], until=tr.format_time(card["until"]))
    return build_spans("• ", Span(words, url=build_message_link(chat, str(card["ref"]))), f" · {told}")


def build_message_link(session: str, ref: str) -> str:
    """Return the address of a message in a supergroup, "" for chats without such addresses.

    `ref` contains the chat if the group has moved.
    """
    _, chat, *thread = session.split(":")
    number, _, place = ref.partition("@")
    chat = place or chat
    if not chat.startswith("-100") or not number.isdecimal():
        return ""
    return "/".join(["https://t.me/c", chat.removeprefix("-100"), *thread, number])

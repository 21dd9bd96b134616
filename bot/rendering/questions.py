"""What stands around cards: the questions of an edit, and the list of what waits in a group. Ring 3, pure; no text is markup."""

from collections.abc import Mapping
from typing import Any

from bot.i18n.translate import Translator, as_notice
from bot.rendering.replies import heading
from bot.rendering.spans import Span, Spans, bold, joined, spans

Body = Mapping[str, Any]


def edit_text(body: Body, tr: Translator) -> Spans:
    """A body of kind "edit": which field, which value, or what became of it."""
    match body["what"]:
        case "fields":
            return spans(bold(tr.say("edit-which")))
        case "value":
            return _value(body, tr)
        case _:
            return spans(tr.notice(as_notice(body["notice"])))


def _value(body: Body, tr: Translator) -> Spans:
    objection = spans("⚠️ ", tr.notice(as_notice(body["objection"]))) if body.get("objection") else ()
    asked = spans(bold(tr.say("edit-new-value", field=body["name"])), "\n", tr.say("edit-now", value=body["value"]))
    options = joined([spans(f"{number}. {label}") for number, label in enumerate(body.get("options") or (), start=1)], "\n")
    how = spans(Span(tr.say("edit-how-options" if options else "edit-how", kind=body.get("field_kind", "")), "italic"))
    return joined([objection, asked, options, how], "\n\n")


def waiting_text(body: Body, tr: Translator) -> Spans:
    """A body of kind "waiting": what waits in a group, each with the way to its card."""
    rows = [_waits(card, str(body["chat"]), tr) for card in body["cards"]]
    more = body["count"] - len(rows)
    tail = spans(tr.say("card-more", count=more)) if more > 0 else ()
    return spans(bold(tr.say("pending", count=body["count"])), "\n", joined([*rows, tail], "\n"))


def _waits(card: Body, chat: str, tr: Translator) -> Spans:
    what = joined([spans(Span(span.text)) for span in heading(card["preview"], card["method"], tr)], "")
    words = "".join(span.text for span in what)
    told = tr.say("card-asked-by", who=card["who"], until=tr.clock(card["until"]))
    return spans("• ", Span(words, url=message_link(chat, str(card["ref"]))), f" · {told}")


def message_link(session: str, ref: str) -> str:
    """The address of a message in a supergroup, "" for chats where messages have none. `ref` says where it is if the group has moved."""
    _, chat, *thread = session.split(":")
    number, _, place = ref.partition("@")
    chat = place or chat
    if not chat.startswith("-100") or not number.isdecimal():
        return ""
    return "/".join(["https://t.me/c", chat.removeprefix("-100"), *thread, number])

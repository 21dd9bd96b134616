"""Every kind of message that goes out, and the words it is shown with: the one table that all doors draw from. Ring 3, pure."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from bot.i18n.translate import Translator, as_notice
from bot.rendering.cards import card_text
from bot.rendering.daily import daily_text, reminder_text
from bot.rendering.details import details_text
from bot.rendering.history import history_text
from bot.rendering.news import news_text
from bot.rendering.people import people_text
from bot.rendering.questions import edit_text, waiting_text
from bot.rendering.replies import reply_text
from bot.rendering.spans import Span, Spans, spans
from orchestrator.messages import Reply

Draw = Callable[[Mapping[str, Any], Translator], Spans]


def _reply(body: Mapping[str, Any], tr: Translator) -> Spans:
    return reply_text(Reply.model_validate(body), tr)


def _toast(body: Mapping[str, Any], tr: Translator) -> Spans:
    return spans(tr.notice(as_notice(body["notice"])))


def _code(body: Mapping[str, Any], tr: Translator) -> Spans:
    del tr
    return spans(Span(str(body["text"]), "code"))


TEXTS: Final[Mapping[str, Draw]] = {
    "reply": _reply,
    "toast": _toast,
    "code": _code,
    "card": card_text,
    "details": details_text,
    "news": news_text,
    "daily": daily_text,
    "reminder": reminder_text,
    "people": people_text,
    "edit": edit_text,
    "waiting": waiting_text,
    "history": history_text,
}


def text_of(kind: str, body: Mapping[str, Any], tr: Translator) -> Spans:
    """What a row of that kind says; KeyError for a kind that nobody draws, pydantic's error for a reply that is none."""
    return TEXTS[kind](body, tr)

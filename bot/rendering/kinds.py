"""The table of all message kinds with their renderers, used by every door; renders people messages itself.

Pure; no text is read as markup.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from bot.i18n.translate import Translator, as_notice
from bot.rendering.cards import render_card, render_details
from bot.rendering.daily import render_daily, render_reminder
from bot.rendering.questions import render_edit, render_waiting_cards
from bot.rendering.record_changes import render_history, render_news
from bot.rendering.replies import render_reply
from bot.rendering.spans import Span, Spans, build_spans
from orchestrator.domain.outputs import Reply


def render_people_message(body: Mapping[str, Any], tr: Translator) -> Spans:
    """Return the text of a message about people; names are inserted as plain text."""
    about: Mapping[str, Any] = body.get("about") or {}
    args = {**body.get("args", {}), **({"name": about.get("name") or about.get("key", "")} if about else {})}
    return build_spans(tr.translate(str(body["code"]), **args))


Renderer = Callable[[Mapping[str, Any], Translator], Spans]


def _render_reply(body: Mapping[str, Any], tr: Translator) -> Spans:
    return render_reply(Reply.model_validate(body), tr)


def _render_toast(body: Mapping[str, Any], tr: Translator) -> Spans:
    return build_spans(tr.translate_notice(as_notice(body["notice"])))


def _render_code(body: Mapping[str, Any], tr: Translator) -> Spans:
    del tr
    return build_spans(Span(str(body["text"]), "code"))


RENDERERS: Final[Mapping[str, Renderer]] = {
    "reply": _render_reply,
    "toast": _render_toast,
    "code": _render_code,
    "card": render_card,
    "details": render_details,
    "news": render_news,
    "daily": render_daily,
    "reminder": render_reminder,
    "people": render_people_message,
    "edit": render_edit,
    "waiting": render_waiting_cards,
    "history": render_history,
}


def render_message(kind: str, body: Mapping[str, Any], tr: Translator) -> Spans:
    """Return the text of a message; raises KeyError for an unknown kind and pydantic's error for a malformed reply."""
    return RENDERERS[kind](body, tr)

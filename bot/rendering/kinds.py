"""Maps each kind of outbox message to the function that renders its text. Pure."""

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from bot.i18n.translate import Translator
from bot.rendering.cards import render_card, render_details
from bot.rendering.daily import render_daily, render_reminder
from bot.rendering.plan_cards import render_plan_card, render_plan_details
from bot.rendering.questions import render_edit, render_waiting_cards
from bot.rendering.record_changes import render_history, render_news
from bot.rendering.replies import render_reply
from bot.rendering.spans import Span, Spans, build_spans
from orchestrator.domain.card_view import CardView
from orchestrator.domain.outputs import Code, Reply, SentFile, Toast
from state.stored import JsonObject


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

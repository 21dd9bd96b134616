"""Renders a record's history, and changes that others made. Pure. Text from the CRM is never markup."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from bot.i18n.translate import Translator
from bot.rendering.spans import Span, Spans, build_spans, format_bold, join_blocks
from orchestrator.domain.card_view import PreviewLine
from orchestrator.domain.message_views import HistoryBody, HistoryEntry, NewsBody, NewsItem
from orchestrator.language.text import format_number, quote, trim_text
from state.stored import JsonObject

BELL: Final = "🔔 "
_LINES: Final = 8
"""Of one change; others are counted."""
_VALUE: Final = 120


class HistoryButton(NamedTuple):
    text: str
    words: tuple[str, ...]


def render_history(body: JsonObject, tr: Translator) -> Spans:
    history = HistoryBody.model_validate(body)
    blocks = [_render_head(history, tr), *(_render_entry(entry, tr) for entry in history.entries)]
    if not history.entries:
        blocks.append(build_spans(tr.translate("history-none")))
    if history.pages > 1:
        place = tr.translate("history-page", page=history.page + 1, pages=history.pages, total=history.total)
        blocks.append(build_spans(Span(place, "italic")))
    return join_blocks(blocks, "\n\n")


def build_history_buttons(body: JsonObject, tr: Translator) -> list[list[HistoryButton]]:
    """Empty for a single page."""
    history, row = HistoryBody.model_validate(body), []
    if history.page > 0:
        row.append(HistoryButton(tr.translate("button-history-newer"), _build_page_words(history, history.page - 1)))
    if history.page + 1 < history.pages:
        row.append(HistoryButton(tr.translate("button-history-older"), _build_page_words(history, history.page + 1)))
    return [row] if row else []


def _build_page_words(body: HistoryBody, page: int) -> tuple[str, ...]:
    return ("history", body.record.replace(":", "."), str(page), body.screen)


def _render_head(body: HistoryBody, tr: Translator) -> Spans:
    title = quote(body.title, tr.locale) if body.title else ""
    name = Span(f"{title} {format_number(body.number, tr.locale)}".strip(), url=body.url)
    gone = f" · {tr.translate('history-deleted')}" if body.deleted else ""
    return format_bold(build_spans(f"{tr.translate('history-head', entity=body.entity)} ", name, gone))


def _render_entry(entry: HistoryEntry, tr: Translator) -> Spans:
    if entry.what == "portal":
        head = build_spans(format_bold(entry.when), " · ", " · ".join(part for part in (entry.by, tr.translate("history-portal")) if part))
        return join_blocks([head, *_render_lines(entry.lines, tr)], "\n")
    parts = [entry.by, tr.translate("history-call", status=entry.status), *_render_decision(entry, tr)]
    if entry.undo:
        parts.append(tr.translate("history-undo"))
    head = build_spans(format_bold(entry.when), " · ", " · ".join(part for part in parts if part))
    undone = [build_spans(tr.translate("history-undone", when=entry.undone))] if entry.undone else []
    return join_blocks([head, *_render_deed(entry, tr), *_render_lines(entry.lines, tr), *undone], "\n")


def _render_decision(entry: HistoryEntry, tr: Translator) -> list[str]:
    """Empty for a call neither decided nor successful."""
    if not entry.decided:
        return [tr.translate("history-free")] if entry.status == "succeeded" else []
    who = entry.decided_by or tr.translate("history-self")
    way = tr.translate("history-via", via=entry.via) if entry.via else ""
    return [", ".join(part for part in (tr.translate("history-decided", who=who, status=entry.status), way) if part)]


def _render_deed(entry: HistoryEntry, tr: Translator) -> list[Spans]:
    """Empty if the changed fields are listed."""
    if entry.verb == "update" and entry.lines:
        return []
    done = tr.describe_call(entry.method, entry.verb, entry.entity)
    return [build_spans(done or tr.translate("history-other", method=entry.method))]


def _render_lines(lines: Sequence[PreviewLine], tr: Translator) -> list[Spans]:
    first = [_render_line(line) for line in lines[:_LINES]]
    return [*first, build_spans(tr.translate("card-more", count=len(lines) - _LINES))] if len(lines) > _LINES else first


def _render_line(line: PreviewLine) -> Spans:
    if not (line.before or line.after):
        return build_spans(line.name)
    before = f"{_trim_value(line.before)} → " if line.before else ""
    return build_spans(f"{line.name}: {before}", format_bold(_trim_value(line.after)))


def _trim_value(value: str) -> str:
    return trim_text(" ".join(value.split()), limit=_VALUE)


def render_news(body: JsonObject, tr: Translator) -> Spans:
    news = NewsBody.model_validate(body)
    if len(news.items) == 1 and not news.more:
        item = news.items[0]
        head = build_spans(BELL, format_bold(_render_record_heading(item, tr)), _render_authors(item, tr))
        return join_blocks([head, *(build_spans(line) for line in _format_news_lines(item))], "\n")
    rows = [
        build_spans(
            "• ",
            _render_record_heading(item, tr),
            _render_authors(item, tr),
            f" — {'; '.join(_format_news_lines(item))}" if item.lines else "",
        )
        for item in news.items
    ]
    rows.append(build_spans(tr.translate("news-more", count=news.more) if news.more else ""))
    title = tr.translate("news-several", count=len(news.items) + news.more)
    return build_spans(BELL, format_bold(title), "\n", join_blocks(rows, "\n"))


def _render_record_heading(item: NewsItem, tr: Translator) -> Spans:
    what = f"{item.what}-" if item.what in {"added", "deleted"} else ""
    words = tr.translate(f"news-{what}{item.entity}")
    if item.kind and not what:
        words = item.kind[0].upper() + item.kind[1:]
    return build_spans(words, " ", Span(quote(item.title, tr.locale), url=item.url))


def _render_authors(item: NewsItem, tr: Translator) -> str:
    names = [tr.translate("news-via", name=who.name) if who.via else who.name for who in item.who]
    if not names:
        return ""
    code = f"news-{item.what if item.what in {'added', 'deleted'} else 'changed'}-by"
    return f" · {tr.translate(code, who=', '.join(names))}"


def _format_news_lines(item: NewsItem) -> list[str]:
    """ "field: new" if the old value is unknown."""
    return [f"{line.name}: {line.before} → {line.after}" if line.before else f"{line.name}: {line.after}" for line in item.lines]

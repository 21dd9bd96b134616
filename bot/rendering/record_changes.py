"""Renders a record's history with its paging buttons, and news of changes that others made to records. Pure; CRM text is never markup."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from bot.i18n.translate import Translator
from bot.rendering.spans import Span, Spans, build_spans, format_bold, format_title, join_blocks

Body = Mapping[str, Any]
_LINES: Final = 8
"""Fields shown of one change; the others are counted."""
_VALUE: Final = 120


class HistoryButton(NamedTuple):
    """A button's label and the words of its callback data."""

    text: str
    words: tuple[str, ...]


def render_history(body: Body, tr: Translator) -> Spans:
    """Return the text of a body of kind "history": the record, the changes of this page, and the page number."""
    blocks = [_render_head(body, tr)]
    blocks.extend(_render_entry(entry, tr) for entry in body["entries"])
    if not body["entries"]:
        blocks.append(build_spans(tr.translate("history-none")))
    if body["pages"] > 1:
        blocks.append(
            build_spans(Span(tr.translate("history-page", page=body["page"] + 1, pages=body["pages"], total=body["total"]), "italic"))
        )
    return join_blocks(blocks, "\n\n")


def build_history_buttons(body: Body, tr: Translator) -> list[list[HistoryButton]]:
    """Return the buttons to newer and older pages, where there are any."""
    page, row = int(body["page"]), []
    if page > 0:
        row.append(HistoryButton(tr.translate("button-history-newer"), _build_page_words(body, page - 1)))
    if page + 1 < int(body["pages"]):
        row.append(HistoryButton(tr.translate("button-history-older"), _build_page_words(body, page + 1)))
    return [row] if row else []


def _build_page_words(body: Body, page: int) -> tuple[str, ...]:
    return ("history", str(body["record"]).replace(":", "."), str(page), str(body["screen"]))


def _render_head(body: Body, tr: Translator) -> Spans:
    title = format_title(str(body["title"])) if body["title"] else ""
    name = Span(f"{title} №{body['number']}".strip(), url=str(body.get("url") or ""))
    gone = f" · {tr.translate('history-deleted')}" if body["deleted"] else ""
    return format_bold(build_spans(f"{tr.translate('history-head', entity=body['entity'])} ", name, gone))


def _render_entry(entry: Body, tr: Translator) -> Spans:
    if entry["what"] == "portal":
        return join_blocks(
            [build_spans(format_bold(str(entry["when"])), f" · {tr.translate('history-portal')}"), *_render_lines(entry, tr)], "\n"
        )
    said = [str(entry["by"]), tr.translate("history-call", status=entry["status"]), *_render_decision(entry, tr)]
    if entry["undo"]:
        said.append(tr.translate("history-undo"))
    head = build_spans(format_bold(str(entry["when"])), " · ", " · ".join(part for part in said if part))
    undone = [build_spans(tr.translate("history-undone", when=str(entry["undone"])))] if entry["undone"] else []
    return join_blocks([head, *_render_deed(entry, tr), *_render_lines(entry, tr), *undone], "\n")


def _render_decision(entry: Body, tr: Translator) -> list[str]:
    """Return who approved the change and how, or that it ran without asking."""
    if not entry["decided"]:
        return [tr.translate("history-free")] if entry["status"] == "succeeded" else []
    who = str(entry["decided_by"]) or tr.translate("history-self")
    way = tr.translate("history-via", via=entry["via"]) if entry["via"] else ""
    return [", ".join(part for part in (tr.translate("history-decided", who=who, status=entry["status"]), way) if part)]


def _render_deed(entry: Body, tr: Translator) -> list[Spans]:
    """Return what was done where no field shows it: a state, a new record, a comment."""
    if entry["verb"] == "update" and entry["lines"]:
        return []
    code = f"verb-{entry['verb']}-{entry['entity']}"
    return [build_spans(tr.translate(code) if tr.has_message(code) else tr.translate("history-other", method=entry["method"]))]


def _render_lines(entry: Body, tr: Translator) -> list[Spans]:
    lines = entry["lines"]
    told = [_render_line(line) for line in lines[:_LINES]]
    return [*told, build_spans(tr.translate("card-more", count=len(lines) - _LINES))] if len(lines) > _LINES else told


def _render_line(line: Body) -> Spans:
    before = f"{_trim_value(line['before'])} → " if line["before"] else ""
    return build_spans(f"{line['name']}: {before}", format_bold(_trim_value(line["after"])))


def _trim_value(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= _VALUE else f"{text[: _VALUE - 1]}…"


BELL = "🔔 "


def render_news(body: Mapping[str, Any], tr: Translator) -> Spans:
    """Return one record with a line per change, or several records with one line each."""
    items: Sequence[Mapping[str, Any]] = body["items"]
    more = int(body.get("more") or 0)
    if len(items) == 1 and not more:
        return join_blocks(
            [
                build_spans(BELL, format_bold(_render_record_heading(items[0], tr)), _render_authors(items[0], tr)),
                *(build_spans(line) for line in _format_news_lines(items[0])),
            ],
            "\n",
        )
    rows = [
        build_spans(
            "• ",
            _render_record_heading(item, tr),
            _render_authors(item, tr),
            f" — {'; '.join(_format_news_lines(item))}" if item["lines"] else "",
        )
        for item in items
    ]
    rows.append(build_spans(tr.translate("news-more", count=more) if more else ""))
    return build_spans(BELL, format_bold(tr.translate("news-several", count=len(items) + more)), "\n", join_blocks(rows, "\n"))


def _render_record_heading(item: Mapping[str, Any], tr: Translator) -> Spans:
    """Return the record's kind and its name, which links to its page."""
    what = f"{item['what']}-" if item["what"] in {"added", "deleted"} else ""
    code = f"news-{what}{item['entity']}"
    words = tr.translate(code)
    kind = str(item.get("kind") or "")
    if kind and not what:
        words = kind[0].upper() + kind[1:]
    return build_spans(words, " ", Span(format_title(str(item["title"])), url=str(item.get("url") or "")))


def _render_authors(item: Mapping[str, Any], tr: Translator) -> str:
    names = [tr.translate("news-via", name=who["name"]) if who["via"] else str(who["name"]) for who in item["who"]]
    if not names:
        return ""
    code = f"news-{item['what'] if item['what'] in {'added', 'deleted'} else 'changed'}-by"
    return f" · {tr.translate(code, who=', '.join(names))}"


def _format_news_lines(item: Mapping[str, Any]) -> list[str]:
    return [
        f"{line['name']}: {line['before']} → {line['after']}" if line["before"] else _format_present_value(line) for line in item["lines"]
    ]


def _format_present_value(line: Mapping[str, Any]) -> str:
    """Return the present value, where the one before is unknown."""
    return f"{line['name']}: {line['after']}"

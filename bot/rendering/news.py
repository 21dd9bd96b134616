"""What a person reads of records that others changed: «🔔 Сделка «Ромашка» · изменено: Пётр Иванов», was → is below. Ring 3, pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from bot.i18n.translate import Translator
from bot.rendering.spans import Span, Spans, build_spans, format_bold, format_title, join_blocks

BELL = "🔔 "


def render_news(body: Mapping[str, Any], tr: Translator) -> Spans:
    """One record with a line for each change, or several with one line each."""
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
    """The kind of record and its name, which leads to its card."""
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
    """What there is, where nobody knows what was before."""
    return f"{line['name']}: {line['after']}"

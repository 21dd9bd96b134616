"""What a person reads of records that others changed: «🔔 Сделка «Ромашка» · изменено: Пётр Иванов», was → is below. Ring 3, pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from bot.i18n.translate import Translator
from bot.rendering.spans import Span, Spans, bold, joined, quoted, spans

BELL = "🔔 "


def news_text(body: Mapping[str, Any], tr: Translator) -> Spans:
    """One record with a line for each change, or several with one line each."""
    items: Sequence[Mapping[str, Any]] = body["items"]
    more = int(body.get("more") or 0)
    if len(items) == 1 and not more:
        return joined([spans(BELL, bold(_heading(items[0], tr)), _who(items[0], tr)), *(spans(line) for line in _lines(items[0]))], "\n")
    rows = [spans("• ", _heading(item, tr), _who(item, tr), f" — {'; '.join(_lines(item))}" if item["lines"] else "") for item in items]
    rows.append(spans(tr.say("news-more", count=more) if more else ""))
    return spans(BELL, bold(tr.say("news-several", count=len(items) + more)), "\n", joined(rows, "\n"))


def _heading(item: Mapping[str, Any], tr: Translator) -> Spans:
    """The kind of record and its name, which leads to its card."""
    what = f"{item['what']}-" if item["what"] in {"added", "deleted"} else ""
    code = f"news-{what}{item['entity']}"
    words = tr.say(code)
    kind = str(item.get("kind") or "")
    if kind and not what:
        words = kind[0].upper() + kind[1:]
    return spans(words, " ", Span(quoted(str(item["title"])), url=str(item.get("url") or "")))


def _who(item: Mapping[str, Any], tr: Translator) -> str:
    names = [tr.say("news-via", name=who["name"]) if who["via"] else str(who["name"]) for who in item["who"]]
    if not names:
        return ""
    code = f"news-{item['what'] if item['what'] in {'added', 'deleted'} else 'changed'}-by"
    return f" · {tr.say(code, who=', '.join(names))}"


def _lines(item: Mapping[str, Any]) -> list[str]:
    return [f"{line['name']}: {line['before']} → {line['after']}" if line["before"] else _present(line) for line in item["lines"]]


def _present(line: Mapping[str, Any]) -> str:
    """What there is, where nobody knows what was before."""
    return f"{line['name']}: {line['after']}"

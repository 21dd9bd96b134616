"""The history of a record as text, and the buttons that turn its pages. Ring 3, pure; no text of the CRM is markup."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from bot.i18n.translate import Translator
from bot.rendering.spans import Span, Spans, bold, joined, quoted, spans

Body = Mapping[str, Any]
_LINES: Final = 8
"""So many fields of one change are named; the others are counted."""
_VALUE: Final = 120


class HistoryButton(NamedTuple):
    """What it says, and the words that come back when it is pressed."""

    text: str
    words: tuple[str, ...]


def history_text(body: Body, tr: Translator) -> Spans:
    """A body of kind "history": whose it is, the changes of the page, where in the whole it stands."""
    blocks = [_head(body, tr)]
    blocks.extend(_entry(entry, tr) for entry in body["entries"])
    if not body["entries"]:
        blocks.append(spans(tr.say("history-none")))
    if body["pages"] > 1:
        blocks.append(spans(Span(tr.say("history-page", page=body["page"] + 1, pages=body["pages"], total=body["total"]), "italic")))
    return joined(blocks, "\n\n")


def history_buttons(body: Body, tr: Translator) -> list[list[HistoryButton]]:
    """To what is newer and to what is older, as far as there is any."""
    page, row = int(body["page"]), []
    if page > 0:
        row.append(HistoryButton(tr.say("button-history-newer"), _words(body, page - 1)))
    if page + 1 < int(body["pages"]):
        row.append(HistoryButton(tr.say("button-history-older"), _words(body, page + 1)))
    return [row] if row else []


def _words(body: Body, page: int) -> tuple[str, ...]:
    return ("history", str(body["record"]).replace(":", "."), str(page), str(body["screen"]))


def _head(body: Body, tr: Translator) -> Spans:
    title = quoted(str(body["title"])) if body["title"] else ""
    name = Span(f"{title} №{body['number']}".strip(), url=str(body.get("url") or ""))
    gone = f" · {tr.say('history-deleted')}" if body["deleted"] else ""
    return bold(spans(f"{tr.say('history-head', entity=body['entity'])} ", name, gone))


def _entry(entry: Body, tr: Translator) -> Spans:
    if entry["what"] == "portal":
        return joined([spans(bold(str(entry["when"])), f" · {tr.say('history-portal')}"), *_lines(entry, tr)], "\n")
    said = [str(entry["by"]), tr.say("history-call", status=entry["status"]), *_decided(entry, tr)]
    if entry["undo"]:
        said.append(tr.say("history-undo"))
    head = spans(bold(str(entry["when"])), " · ", " · ".join(part for part in said if part))
    undone = [spans(tr.say("history-undone", when=str(entry["undone"])))] if entry["undone"] else []
    return joined([head, *_what(entry, tr), *_lines(entry, tr), *undone], "\n")


def _decided(entry: Body, tr: Translator) -> list[str]:
    """Who gave their leave, and in which way; of what ran without asking that it did."""
    if not entry["decided"]:
        return [tr.say("history-free")] if entry["status"] == "succeeded" else []
    who = str(entry["decided_by"]) or tr.say("history-self")
    way = tr.say("history-via", via=entry["via"]) if entry["via"] else ""
    return [", ".join(part for part in (tr.say("history-decided", who=who, status=entry["status"]), way) if part)]


def _what(entry: Body, tr: Translator) -> list[Spans]:
    """What was done where no field says it: a state, a new record, a comment."""
    if entry["verb"] == "update" and entry["lines"]:
        return []
    code = f"verb-{entry['verb']}-{entry['entity']}"
    return [spans(tr.say(code) if tr.knows(code) else tr.say("history-other", method=entry["method"]))]


def _lines(entry: Body, tr: Translator) -> list[Spans]:
    lines = entry["lines"]
    told = [_line(line) for line in lines[:_LINES]]
    return [*told, spans(tr.say("card-more", count=len(lines) - _LINES))] if len(lines) > _LINES else told


def _line(line: Body) -> Spans:
    before = f"{_cut(line['before'])} → " if line["before"] else ""
    return spans(f"{line['name']}: {before}", bold(_cut(line["after"])))


def _cut(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= _VALUE else f"{text[: _VALUE - 1]}…"

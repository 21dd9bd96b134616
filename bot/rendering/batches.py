"""Renders the commands of a batch card: one line each or grouped, their outcomes, and the full list as a spreadsheet."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bot.i18n.translate import Translator
from bot.rendering.files import Cell, Sheet
from bot.rendering.replies import render_heading
from bot.rendering.spans import Span, Spans, build_spans, format_bold, format_title, join_blocks, to_plain_text

Body = Mapping[str, Any]

MAX_ITEMS = 15
MAX_BEFORES = 3
MAX_FAILED = 10
_COLUMNS = ("card-file-record", "card-file-number", "card-file-action", "card-file-field", "card-file-before", "card-file-after")
_MARKS = {"success": "✅ ", "error": "⚠️ ", "not_run": "⏸ ", "unknown": "❓ "}


def render_commands(preview: Body, body: Body, tr: Translator) -> list[Spans]:
    """Return one line per command, or, for many commands, one line per group that makes the same change."""
    items = preview.get("items") or []
    reports = {report["key"]: report for report in body.get("commands") or ()}
    if len(items) > MAX_ITEMS:
        return _render_grouped(items, reports, tr)
    rows = []
    for number, item in enumerate(items, start=1):
        changes = "; ".join(f"{line['name']}: {line['before'] or '—'} → {line['after']}" for line in item.get("lines") or ())
        mark = _find_mark(item, reports)
        rows.append(build_spans(f"{number}. {mark}", render_heading(item, item.get("method", ""), tr), f" — {changes}" if changes else ""))
    return rows


def render_failed_commands(body: Body, tr: Translator) -> list[str]:
    """Return the commands that the portal refused, with its error texts; commands that never ran are only marked elsewhere."""
    items = {str(item.get("key")): item for item in (body.get("preview") or {}).get("items") or ()}
    wrong = [report for report in body.get("commands") or () if report["status"] == "error" and report.get("error")]
    rows = [
        tr.translate(
            "card-failed-one", what=to_plain_text(_render_command_name(items.get(report["key"]) or {}, report, tr)), text=report["error"]
        )
        for report in wrong[:MAX_FAILED]
    ]
    return [*rows, tr.translate("card-more", count=len(wrong) - MAX_FAILED)] if len(wrong) > MAX_FAILED else rows


def _render_command_name(item: Body, report: Body, tr: Translator) -> Spans:
    title = str(item.get("title") or "")
    return build_spans(format_title(title)) if title else render_heading(item, str(report.get("method", "")), tr)


def build_batch_sheet(body: Body, tr: Translator) -> Sheet | None:
    """Return a sheet with a row for each value that a large batch will write; None where the card lists its commands itself."""
    items = (body.get("preview") or {}).get("items") or []
    if len(items) <= MAX_ITEMS or body.get("status") != "requested":
        return None
    found = [row for number, item in enumerate(items, start=1) for row in _build_rows(number, item, tr)]
    return Sheet(
        columns=tuple(tr.translate(code) for code in _COLUMNS), rows=tuple(row for row, _ in found), links=tuple(link for _, link in found)
    )


def _build_rows(number: int, item: Body, tr: Translator) -> Iterator[tuple[tuple[Cell, ...], str]]:
    action = to_plain_text(render_heading({**item, "title": ""}, item.get("method", ""), tr))
    title, link = str(item.get("title") or item.get("id") or "?"), str(item.get("url") or "")
    for line in item.get("lines") or [{"name": "", "before": "", "after": ""}]:
        yield (title, number, action, str(line["name"]), str(line.get("before") or ""), str(line["after"])), link


def _render_grouped(items: Sequence[Body], reports: Mapping[str, Body], tr: Translator) -> list[Spans]:
    """Return one line per group of equal commands; differing before-values are given with their counts."""
    groups: dict[tuple[str, ...], list[Body]] = {}
    for item in items:
        changes = (f"{line['name']} → {line['after']}" for line in item.get("lines") or ())
        words = to_plain_text(render_heading({**item, "title": ""}, item.get("method", ""), tr))
        groups.setdefault((words, *changes), []).append(item)
    return [_render_group(words, members, reports, tr) for (words, *_), members in groups.items()]


def _render_group(words: str, members: Sequence[Body], reports: Mapping[str, Body], tr: Translator) -> Spans:
    same = zip(*(item.get("lines") or () for item in members), strict=True)  # the members of a group have equally many lines
    changes = "; ".join(_render_shared_change(lines, tr) for lines in same)
    marked = any(_find_mark(item, reports) != _MARKS["success"] for item in members)  # a full success is stated below
    names = [
        build_spans(
            _find_mark(item, reports) if marked else "",
            Span(str(item.get("title") or item.get("id") or "?"), url=str(item.get("url") or "")),
        )
        for item in members
    ]
    return build_spans(format_bold(f"{words} × {len(members)}"), f" — {changes}: " if changes else ": ", join_blocks(names, ", "))


def _render_shared_change(lines: Sequence[Body], tr: Translator) -> str:
    """Return a group's change, such as "Ответственный: Анна (9), Вера (2) → Борис", with the commonest before-values.

    Other before-values are only counted.
    """
    name, after = lines[0]["name"], lines[0]["after"]
    befores = Counter(str(line.get("before") or "") for line in lines)
    if set(befores) == {""}:
        return f"{name}: {after}"
    if len(befores) == 1:
        return f"{name}: {next(iter(befores))} → {after}"
    named = befores.most_common(MAX_BEFORES)
    said = [tr.translate("card-group-before", value=value or "—", count=count) for value, count in named]
    if len(befores) > MAX_BEFORES:
        left = len(lines) - sum(count for _, count in named)
        said.append(tr.translate("card-group-rest", kinds=len(befores) - MAX_BEFORES, count=left))
    return f"{name}: {', '.join(said)} → {after}"


def _find_mark(item: Body, reports: Mapping[str, Body]) -> str:
    return _MARKS.get(str((reports.get(str(item.get("key"))) or {}).get("status", "")), "")

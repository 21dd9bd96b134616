"""Renders the commands of a batch for its card, and as a spreadsheet."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from bot.i18n.translate import Translator
from bot.rendering.files import Cell, Sheet
from bot.rendering.headings import format_change, is_named_in_heading, list_changes, render_heading
from bot.rendering.spans import Span, Spans, build_spans, format_bold, join_blocks, to_plain_text
from orchestrator.domain.card_view import BULK_VERB, CARD_COMMANDS, CardView, PreviewLine, PreviewPart
from orchestrator.domain.effect import CommandReport
from orchestrator.gate.call.portal_errors import explain_portal_error
from orchestrator.language.text import quote

Reports = Mapping[str, CommandReport]
"""By the names of the commands."""

MAX_BEFORES = 3
MAX_GROUPS = 10
MAX_NAMES = 5
"""Of a group on a card; the details view names all."""
MAX_FAILED = 10
_COLUMNS = ("card-file-record", "card-file-number", "card-file-action", "card-file-field", "card-file-before", "card-file-after")
_MARKS = {"success": "✅ ", "error": "⚠️ ", "not_run": "⏸ ", "unknown": "❓ "}


def render_commands(view: CardView, tr: Translator) -> list[Spans]:
    """Above `CARD_COMMANDS` a line per group with the same change."""
    if len(view.preview.items) <= CARD_COMMANDS:
        return list_commands(view, tr)
    groups = _group_items(view.preview.items, tr)
    reports = {report.key: report for report in view.commands}
    if not view.is_cut:
        return [_render_group(words, members, reports, tr) for words, members in groups]
    lines = [_render_group(words, members, reports, tr, most=MAX_NAMES) for words, members in groups[:MAX_GROUPS]]
    return [*lines, build_spans(tr.translate("card-more", count=len(groups) - MAX_GROUPS))] if len(groups) > MAX_GROUPS else lines


def render_records(view: CardView, tr: Translator) -> Spans:
    """Of a card of many records those that it holds, without the changes that it names for all of them."""
    preview = view.preview
    shared = {(line.name, line.before, line.after) for line in preview.lines}
    rows = []
    for number, item in enumerate(preview.items, start=1):
        own = [line for line in item.lines if (line.name, line.before, line.after) not in shared and not is_named_in_heading(line, item)]
        changes = "; ".join(format_change(line, with_name=True) for line in own)
        name = Span(_find_title(item), url=item.url) if preview.entity else build_spans(render_heading(item, item.method, tr))
        rows.append(build_spans(f"{number}. ", name, f" — {changes}" if changes else ""))
    code = "card-bulk-some" if preview.count > len(preview.items) else "card-bulk-all"
    return join_blocks([build_spans(tr.translate(code)), *rows], "\n")


def list_commands(view: CardView, tr: Translator) -> list[Spans]:
    return list_items(view.preview.items, {report.key: report for report in view.commands}, tr)


def list_items(items: Sequence[PreviewPart], reports: Reports, tr: Translator) -> list[Spans]:
    """Critical commands first. A read shows the key by which later commands refer to it."""
    rows = []
    for number, item in enumerate(sorted(items, key=lambda item: not item.is_critical), start=1):
        changes = list_changes(item)
        used_as = tr.translate("card-read-key", key=item.key) if item.is_read else ""
        head = build_spans(render_heading(item, item.method, tr), used_as)
        rows.append(build_spans(f"{number}. {_find_mark(item, reports)}", head, f" — {changes}" if changes else ""))
    return rows


def render_failed_commands(view: CardView, tr: Translator) -> list[str]:
    """Commands that never ran are not among them."""
    items = {item.key: item for item in view.preview.items}
    wrong = [report for report in view.commands if report.status == "error" and report.error]
    rows = [
        tr.translate(
            "card-failed-one",
            what=to_plain_text(_render_command_name(items.get(report.key, PreviewPart()), report.method, tr)),
            text=tr.translate_notice(explain_portal_error(report.error, method=report.method, reference=view.card.effect_id[:8])),
        )
        for report in wrong[:MAX_FAILED]
    ]
    return [*rows, tr.translate("card-more", count=len(wrong) - MAX_FAILED)] if len(wrong) > MAX_FAILED else rows


def _render_command_name(item: PreviewPart, method: str, tr: Translator) -> Spans:
    return build_spans(quote(item.title, tr.locale)) if item.title else render_heading(item, method, tr)


def build_batch_sheet(view: CardView, tr: Translator) -> Sheet | None:
    """None if the card is decided, or lists its commands; one of many records always has its file."""
    items = view.preview.items
    if view.preview.verb != BULK_VERB and (len(items) <= CARD_COMMANDS or not view.card.is_waiting):
        return None
    rows = [row for number, item in enumerate(items, start=1) for row in _build_rows(number, item, tr)]
    return Sheet(
        columns=tuple(tr.translate(code) for code in _COLUMNS), rows=tuple(row for row, _ in rows), links=tuple(link for _, link in rows)
    )


def _build_rows(number: int, item: PreviewPart, tr: Translator) -> Iterator[tuple[tuple[Cell, ...], str]]:
    action = _render_action(item, tr)
    for line in item.lines or [PreviewLine()]:
        yield (_find_title(item), number, action, line.name, line.before, line.after), item.url


def _render_action(item: PreviewPart, tr: Translator) -> str:
    return to_plain_text(render_heading(item.model_copy(update={"title": ""}), item.method, tr))


def _find_title(item: PreviewPart) -> str:
    return item.title or str(item.id or "?")


def _group_items(items: Sequence[PreviewPart], tr: Translator) -> list[tuple[str, list[PreviewPart]]]:
    groups: dict[tuple[str, ...], list[PreviewPart]] = {}
    for item in items:
        changes = (f"{line.name} → {line.after}" for line in item.lines)
        groups.setdefault((_render_action(item, tr), *changes), []).append(item)
    return [(words, members) for (words, *_), members in sorted(groups.items(), key=lambda group: not group[1][0].is_critical)]


def _render_group(words: str, members: Sequence[PreviewPart], reports: Reports, tr: Translator, *, most: int | None = None) -> Spans:
    """With `most` each record has a line, failed ones first."""
    same = zip(*(item.lines for item in members), strict=True)  # the members of a group have equally many lines
    changes = "; ".join(_render_shared_change(lines, tr) for lines in same)
    marked = any(_find_mark(item, reports) != _MARKS["success"] for item in members)  # a full success is stated below
    by_trouble = sorted(members, key=lambda item: _find_mark(item, reports) == _MARKS["success"])
    names = [build_spans(_find_mark(item, reports) if marked else "", Span(_find_title(item), url=item.url)) for item in by_trouble[:most]]
    head = build_spans(format_bold(f"{words} × {len(members)}"), f" — {changes}: " if changes else ": ")
    if most is None:
        return build_spans(head, join_blocks(names, ", "))
    rest = [build_spans(tr.translate("card-more", count=len(members) - most))] if len(members) > most else []
    return join_blocks([head, *(build_spans("• ", name) for name in names), *rest], "\n")


def _render_shared_change(lines: Sequence[PreviewLine], tr: Translator) -> str:
    """ "Ответственный: Анна (9), Вера (2) → Борис"."""
    name, after = lines[0].name, lines[0].after
    befores = Counter(line.before for line in lines)
    if set(befores) == {""}:
        return f"{name}: {after}"
    if len(befores) == 1:
        return f"{name}: {next(iter(befores))} → {after}"
    commonest = befores.most_common(MAX_BEFORES)
    counted = [tr.translate("card-group-before", value=value or "—", count=count) for value, count in commonest]
    if len(befores) > MAX_BEFORES:
        left = len(lines) - sum(count for _, count in commonest)
        counted.append(tr.translate("card-group-rest", kinds=len(befores) - MAX_BEFORES, count=left))
    return f"{name}: {', '.join(counted)} → {after}"


def _find_mark(item: PreviewPart, reports: Reports) -> str:
    report = reports.get(item.key)
    return _MARKS[report.status] if report is not None else ""

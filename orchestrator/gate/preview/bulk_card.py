"""The card of a change of many records: what changes over all of them, the extremes, some of them, and what stays as it is and why."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Final

from orchestrator.domain.bulk import BulkFile, BulkItem, LeftRecord, add_sums, find_record_kind
from orchestrator.domain.card_view import BULK_VERB, FORM, Preview, PreviewLine
from orchestrator.domain.effect import ALREADY_SO
from orchestrator.gate.call.effect import Call
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.preview.format_values import Reader
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.money_format import NO_CURRENCY_BOOK, CurrencyBook, format_sum
from orchestrator.language.text import quote

_WORDS: Final = load_lexicon("bulk_card")
_LEFT: Final = {name: _WORDS.read_titles(name) for name in ("already", "changed", "foreign", "gone", "other")}
_TITLES: Final = {
    name: _WORDS.read_titles(name)
    for name in ("largest", "oldest", "several", "more", "told", "links", "own", "first", "falling", "rising", "worth")
}
_KINDS: Final = {kind: _WORDS.read_titles("kinds", kind) for kind in _WORDS.read_names("kinds")}
_REASONS: Final = {
    **dict.fromkeys(ALREADY_SO, "already"),
    "gate-bulk-changed": "changed",
    "gate-not-yours": "foreign",
    "gate-not-found": "gone",
}
_MOST_NAMED: Final = 12
"""Of those that stay as they are."""
_FEW: Final = 5
_MOST_BEFORES: Final = 3
_TITLE: Final = 40
_TO, _TEXT = "USER_ID", "MESSAGE"
_LINE_END: Final = "⏎"


async def draw_bulk(file: BulkFile | None, call: Call, reader: Reader) -> Preview:
    """With some of the records: all stand in the file. Without one, of what was refused, only what was asked for."""
    if file is None:
        return Preview(verb=BULK_VERB, method=call.method, form=FORM)
    book = await reader.names.load_currency_book() if file.sums else NO_CURRENCY_BOOK
    return Preview(
        verb=BULK_VERB,
        entity=file.of,
        method=call.method,
        count=len(file.items),
        sum=_join_sums(file.items, reader, book) if len(_count_kinds(file)) == 1 else "",
        lines=[
            *await _build_first_line(file, call, reader),
            *_build_change_lines(file, reader, book),
            *_build_extremes(file, reader, book),
            *_build_left_lines(file, reader),
            *_build_notes(file, reader),
        ],
        items=[item.shown for item in file.list_samples()],
        form=FORM,
    )


async def _build_first_line(file: BulkFile, call: Call, reader: Reader) -> list[PreviewLine]:
    """Which of the records that fit are taken, where these are the first of them."""
    if not file.matched:
        return []
    name, kind = file.sorted_by.removeprefix("-"), find_record_kind(str(call.params.get("of") or ""))
    title = await reader.names.find_field_title(kind.entity, name) if kind is not None else ""
    way = "falling" if file.sorted_by.startswith("-") else "rising"
    after = _TITLES[way][reader.locale].format(count=len(file.items) + len(file.left), matched=file.matched, field=title or name)
    return [PreviewLine(field="first", name=_TITLES["first"][reader.locale], after=after)]


def _count_kinds(file: BulkFile) -> Counter[str]:
    return Counter(item.record.rpartition(":")[0] for item in file.items)


def _join_sums(items: Sequence[BulkItem], reader: Reader, book: CurrencyBook) -> str:
    sums = add_sums(items).items()
    return " + ".join(format_sum(Decimal(amount), code or None, locale=reader.locale, book=book) for code, amount in sums)


def _build_change_lines(file: BulkFile, reader: Reader, book: CurrencyBook) -> Iterator[PreviewLine]:
    """By kind how many, or by field from what to what: «Ответственный: Анна (9), Вера (2) → Борис»."""
    kinds = _count_kinds(file)
    if len(kinds) > 1:
        for kind, count in kinds.most_common():
            amount = _join_sums([item for item in file.items if item.record.rpartition(":")[0] == kind], reader, book)
            after = _TITLES["worth"][reader.locale].format(count=count, amount=amount) if amount else str(count)
            yield PreviewLine(field=kind, name=_KINDS[kind][reader.locale] if kind in _KINDS else kind, after=after)
    fields: dict[str, list[PreviewLine]] = {}
    for item in file.items:
        for line in item.shown.lines:
            if not line.is_held:
                fields.setdefault(line.name, []).append(line)
    for name, lines in fields.items():
        yield PreviewLine(
            field=lines[0].field,
            name=name,
            before=_count_values([line.before for line in lines], reader),
            after=_join_values(lines, reader),
        )


def _join_values(lines: Sequence[PreviewLine], reader: Reader) -> str:
    values = Counter(line.after for line in lines)
    return next(iter(values)) if len(values) == 1 else _count_values(list(values.elements()), reader)


def _count_values(values: Sequence[str], reader: Reader) -> str:
    """ "" where there was none before."""
    counted = Counter(values)
    if len(counted) == 1:
        return values[0]
    if len(counted) == len(values):
        return _TITLES["own"][reader.locale]
    if len(counted) > 2 * _MOST_BEFORES:
        return _TITLES["several"][reader.locale].format(count=len(counted))
    named = [
        f"{escape_text(value, locale=reader.locale, limit=_TITLE) or '—'} ({count})" for value, count in counted.most_common(_MOST_BEFORES)
    ]
    rest = len(values) - sum(count for _, count in counted.most_common(_MOST_BEFORES))
    return ", ".join([*named, _TITLES["more"][reader.locale].format(count=rest)] if rest else named)


def _build_extremes(file: BulkFile, reader: Reader, book: CurrencyBook) -> Iterator[PreviewLine]:
    if len(file.items) < _FEW:
        return
    if (largest := file.find_largest()) is not None:
        amount = format_sum(Decimal(largest.amount), largest.currency or None, locale=reader.locale, book=book)
        yield PreviewLine(field="largest", name=_TITLES["largest"][reader.locale], after=f"{_name(largest, reader)} — {amount}")
    if (oldest := file.find_oldest()) is not None:
        yield PreviewLine(
            field="oldest", name=_TITLES["oldest"][reader.locale], after=f"{_name(oldest, reader)}, {_format_day(oldest.since, reader)}"
        )


def _name(item: BulkItem, reader: Reader) -> str:
    return quote(escape_text(item.shown.title or item.record, locale=reader.locale, limit=_TITLE), reader.locale)


def _format_day(since: str, reader: Reader) -> str:
    try:
        return reader.format_day(datetime.fromisoformat(since).date())
    except ValueError:
        return since


def _build_notes(file: BulkFile, reader: Reader) -> Iterator[PreviewLine]:
    """Its list of records stands in the file; from whom once."""
    for note in file.notes:
        message = next((line for line in note.shown.lines if line.field == _TEXT), None)
        to = next((line.after for line in note.shown.lines if line.field == _TO), note.record)
        if message is not None:
            head = message.after.partition(_LINE_END)[0].rstrip()
            after = _TITLES["links"][reader.locale].format(text=head)
            yield message.model_copy(update={"name": f"{_TITLES['told'][reader.locale]} ({to})", "after": after})
    for note in file.notes[:1]:
        yield from (line for line in note.shown.lines if line.field not in {_TEXT, _TO})


def _build_left_lines(file: BulkFile, reader: Reader) -> Iterator[PreviewLine]:
    groups: dict[str, list[LeftRecord]] = {}
    for record in file.left:
        groups.setdefault(_REASONS.get(record.why.code, "other"), []).append(record)
    for reason, records in groups.items():
        titles = [escape_text(one.title or one.record, locale=reader.locale, limit=_TITLE) for one in records[:_MOST_NAMED]]
        rest = len(records) - len(titles)
        named = ", ".join([*titles, _TITLES["more"][reader.locale].format(count=rest)] if rest else titles)
        yield PreviewLine(field=reason, name=_LEFT[reason][reader.locale], after=f"{len(records)} ({named})", is_held=True)

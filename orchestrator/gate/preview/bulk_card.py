"""The card of a change of many records: how many, their sum, some of them, and what will not change and why."""

from decimal import Decimal
from typing import Final

from orchestrator.domain.bulk import BulkFile
from orchestrator.domain.card_view import BULK_VERB, FORM, Preview, PreviewLine
from orchestrator.gate.call.effect import Call
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.preview.format_values import Reader
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.money_format import NO_CURRENCY_BOOK, format_sum

_WORDS: Final = load_lexicon("bulk_card")
_LEFT: Final = {name: _WORDS.read_titles(name) for name in ("already", "changed", "foreign", "gone", "other")}
_KINDS: Final = {
    "gate-already-so": "already",
    "gate-bulk-changed": "changed",
    "gate-not-yours": "foreign",
    "gate-not-found": "gone",
}
_MOST_NAMED: Final = 5
_TITLE: Final = 40


async def draw_bulk(file: BulkFile, call: Call, reader: Reader) -> Preview:
    book = await reader.names.load_currency_book() if file.sums else NO_CURRENCY_BOOK
    sums = [format_sum(Decimal(amount), code or None, locale=reader.locale, book=book) for code, amount in file.sums.items()]
    return Preview(
        verb=BULK_VERB,
        entity=file.entity,
        method=call.method,
        count=len(file.items),
        sum=" + ".join(sums),
        lines=_build_left_lines(file, reader),
        items=[item.shown for item in file.list_samples()],
        form=FORM,
    )


def _build_left_lines(file: BulkFile, reader: Reader) -> list[PreviewLine]:
    lines = []
    for code, records in file.group_left().items():
        titles = [escape_text(one.title or one.record, locale=reader.locale, limit=_TITLE) for one in records[:_MOST_NAMED]]
        more = f" +{len(records) - _MOST_NAMED}" if len(records) > _MOST_NAMED else ""
        name = _LEFT[_KINDS.get(code, "other")][reader.locale]
        lines.append(PreviewLine(field=code, name=name, after=f"{len(records)}: {', '.join(titles)}{more}"))
    return lines

"""Shortens a call to what one card has room for; its reader must open the rest (`CardView.awaits_opening`). Pure."""

from collections.abc import Iterator, Sequence
from typing import Final

from orchestrator.domain.card_view import CARD_ROOM, Preview, PreviewLine, PreviewPart
from orchestrator.gate.call.escape_text import mark_cut
from orchestrator.language.text import Locale

_LONGEST_VALUES: Final = (2400, 1200, 600, 300, 150, 60)
"""Tried in this order until the changes fit."""


def fit_preview(preview: Preview, locale: Locale) -> tuple[Preview, int]:
    """And how many lines were left out."""
    for longest in _LONGEST_VALUES:
        short = preview.model_copy(update=_cut_part(preview, longest, locale))
        short = short.model_copy(update={"items": [item.model_copy(update=_cut_part(item, longest, locale)) for item in preview.items]})
        if short.measure_all() <= CARD_ROOM:
            return short, 0
    return _drop_lines(short)


def _cut_part(part: PreviewPart, longest: int, locale: Locale) -> dict[str, Sequence[PreviewLine]]:
    """The argument `update` of pydantic's `model_copy`."""
    return {"lines": [_cut_line(line, longest, locale) for line in part.lines]}


def _cut_line(line: PreviewLine, longest: int, locale: Locale) -> PreviewLine:
    return line.model_copy(update={"before": _cut_value(line.before, longest, locale), "after": _cut_value(line.after, longest, locale)})


def _cut_value(value: str, longest: int, locale: Locale) -> str:
    return value if len(value) <= longest else mark_cut(value[:longest], len(value) - longest, locale)


def _drop_lines(preview: Preview) -> tuple[Preview, int]:
    total = len(preview.lines) + sum(len(item.lines) for item in preview.items)
    room = CARD_ROOM - sum(item.model_copy(update={"lines": ()}).measure() for item in preview.items)
    count = 0
    for line in _walk_lines(preview):
        room -= line.measure()
        if room < 0:
            break
        count += 1
    left = count
    items = []
    for item in preview.items:
        items.append(item.model_copy(update={"lines": item.lines[:left]}))
        left = max(0, left - len(item.lines))
    return preview.model_copy(update={"lines": preview.lines[:count], "items": items}), total - count


def _walk_lines(preview: Preview) -> Iterator[PreviewLine]:
    yield from preview.lines
    for item in preview.items:
        yield from item.lines

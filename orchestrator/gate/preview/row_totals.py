"""Of several changes of one record's products only the last says the record's sum, from what it is before them all. Pure."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from orchestrator.domain.card_view import PreviewLine, PreviewPart
from orchestrator.gate.call.effect import Target

_TOTAL: Final = "ROWS_TOTAL"
_TAX: Final = "ROWS_TAX"


def mark_rows_total(owner: Target | None) -> str:
    """The `field` of a line with the sum of a record's products."""
    return _mark(_TOTAL, owner)


def mark_rows_tax(owner: Target | None) -> str:
    """The `field` of a line with the tax in that sum."""
    return _mark(_TAX, owner)


def _mark(kind: str, owner: Target | None) -> str:
    return f"{kind} {owner[0]}:{owner[1]}" if owner is not None else kind


def list_totals(parts: Sequence[PreviewPart]) -> list[tuple[str, str, str]]:
    """(field, before, after) of every sum."""
    return [(line.field, line.before, line.after) for _, line in _walk_totals(parts)]


def drop_totals(part: PreviewPart) -> PreviewPart:
    """Without the sums of a step that will not run."""
    lines = [line for line in part.lines if line.field.partition(" ")[0] not in {_TOTAL, _TAX}]
    return part if len(lines) == len(part.lines) else part.model_copy(update={"lines": lines})


def fold_totals(parts: Sequence[PreviewPart]) -> list[PreviewPart]:
    """`parts` are in the order in which they run.

    If a sum does not begin where the one before it ended, none is left: a step between them was changed or left out.
    """
    totals = list(_walk_totals(parts))
    folded = list(parts)
    for field in dict.fromkeys(line.field for _, line in totals):
        places = [(place, line) for place, line in totals if line.field == field]
        if len(places) > 1:
            _fold_record(folded, field, places)
    return folded


def _fold_record(parts: list[PreviewPart], field: str, places: Sequence[tuple[int, PreviewLine]]) -> None:
    (_, first), (last, end) = places[0], places[-1]
    is_whole = all(line.before == earlier.after for (_, earlier), (_, line) in pairwise(places))
    whole = end.model_copy(update={"name": first.name, "before": first.before})
    tax = field.replace(_TOTAL, _TAX)
    for place, own in places:
        stays = is_whole and place == last
        lines = [whole if line is own and stays else line for line in parts[place].lines if stays or line.field not in {field, tax}]
        parts[place] = parts[place].model_copy(update={"lines": lines})


def _walk_totals(parts: Sequence[PreviewPart]) -> Iterator[tuple[int, PreviewLine]]:
    for place, part in enumerate(parts):
        for line in part.lines:
            if line.field.partition(" ")[0] == _TOTAL:
                yield place, line

"""Lists what a person sees in the lists of a reply, for the history of the conversation and for references to rows ("@shown:3")."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from orchestrator.domain.address import Address
from orchestrator.domain.outputs import Table
from orchestrator.engines.base import ListSource, TurnEnd
from state.canonical import dumps
from state.model.shown_lists import KEEP_IN_ANSWER, KEEP_ROWS, ShownList, ShownRow


def collect_shown_lists(end: TurnEnd, *, session: str, mask: Callable[[str], str]) -> list[ShownList]:
    """Return the lists that the person sees in the reply, in its order, and after them those that the engine adds to the history.

    `session` is the key of the conversation: of a long list a messenger shows fewer rows than other channels. `mask` hides secrets.
    """
    has_file = Address.parse(session).is_messenger
    tables = {part.place: part for part in end.reply.parts if isinstance(part, Table) and part.place}  # one shown twice is one list
    lists = [*(_read_table(table, _find_source(end, table, mask), has_file=has_file) for table in tables.values()), *end.lists]
    return list(_limit_rows([_mask_rows(one, mask) for one in lists]))


def _find_source(end: TurnEnd, table: Table, mask: Callable[[str], str]) -> ListSource | None:
    """Return how the list was read; None if that holds a secret, which the state must not keep."""
    source = end.sources.get(table.place)
    return source if source is not None and mask(written := dumps(source.params)) == written else None


def _read_table(table: Table, source: ListSource | None, *, has_file: bool) -> ShownList:
    seen = table.rows[: min(table.count_seen(has_file=has_file), KEEP_ROWS)]
    rows = tuple(ShownRow(row.target, " · ".join((row.label, *row.cells)) if table.is_grouped else row.label) for row in seen)
    total = table.groups if table.is_grouped else table.total
    shown = ShownList(place=table.place, total=max(total, table.first - 1 + len(table.rows)), rows=rows, first=table.first)
    return replace(shown, method=source.method, params=source.params, by=source.by) if source is not None else shown


def _mask_rows(shown: ShownList, mask: Callable[[str], str]) -> ShownList:
    return replace(shown, rows=tuple(ShownRow(row.record, mask(row.label)) for row in shown.rows))


def _limit_rows(lists: list[ShownList]) -> Iterator[ShownList]:
    """Yield the lists, the last ones cut so that no more than `KEEP_IN_ANSWER` rows are kept of all."""
    left = KEEP_IN_ANSWER
    for one in lists:
        yield replace(one, rows=one.rows[:left])
        left -= len(one.rows[:left])

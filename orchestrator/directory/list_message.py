"""A list as a message to a colleague: the rows that the asker may see, in words."""

from collections.abc import Iterator, Sequence
from typing import Final

from orchestrator.directory.list_columns import ViewContext, add_columns
from orchestrator.domain.address import parse_target
from orchestrator.domain.effect import Outcome
from orchestrator.domain.frozen import View
from orchestrator.domain.outputs import Row, Table
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import to_visible_line

MOST_ROWS: Final = 50
MOST_LETTERS: Final = 15_000
_WORDS: Final = load_lexicon("list_message")
_HEAD, _COLUMNS, _SUM = (_WORDS.read_titles(name) for name in ("head", "columns", "sum"))
_MARKUP: Final = str.maketrans("[]", "()")
"""The portal reads brackets as orders: [USER=8] would notify somebody."""


class ListMessage(View):
    """`text` is "" if the list does not fit into one message."""

    text: str = ""
    rows: int = 0
    columns: Sequence[str] = ()
    labels: Sequence[str] = ()
    """Names in it, which anybody may have written."""


async def write_list(outcome: Outcome, table: Table, fields: Sequence[str], *, to: int, context: ViewContext) -> ListMessage:
    """With the columns that were shown; addresses are those of the receiver `to`. Raises no errors of the portal."""
    columned = (await add_columns(outcome, table, fields, context)).table
    count = max(columned.total, len(columned.rows))
    shown = ListMessage(rows=count, columns=columned.columns, labels=tuple(row.label for row in columned.rows))
    text = "\n".join(_list_lines(columned, to, context))
    is_whole = len(columned.rows) == count <= MOST_ROWS and len(text) <= MOST_LETTERS
    return shown.model_copy(update={"text": text}) if is_whole else shown


def _list_lines(table: Table, to: int, context: ViewContext) -> Iterator[str]:
    locale = context.actor.locale
    columns = _COLUMNS[locale].format(names=", ".join(map(_to_plain, table.columns))) if table.columns else ""
    yield _HEAD[locale].format(count=len(table.rows), columns=columns).rstrip()
    for number, row in enumerate(table.rows, start=1):
        words = " · ".join(map(_to_plain, (row.label, *row.cells)))
        yield f"{number}. {words} {_find_address(row, to, context)}".rstrip()
    if table.sum_text:
        yield _SUM[locale].format(amount=table.sum_text)


def _to_plain(text: str) -> str:
    return to_visible_line(text.translate(_MARKUP))


def _find_address(row: Row, to: int, context: ViewContext) -> str:
    kind, number = parse_target(row.target) if row.target else ("", 0)
    return context.naming.build_card_url(kind, number, user=to) if kind and number else ""

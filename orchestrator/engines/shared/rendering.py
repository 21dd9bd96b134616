"""Draws the text of a workflow for people: plain words, and its blocks by their ids (S003-20 … S003-25, S003-81).

An id that nothing here draws is shown as plain text; HTML is text, too.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import zip_longest
from typing import Final

from orchestrator.domain.outputs import Action, Notice, Passage, Reply, Row, Table, Text, build_reply
from orchestrator.domain.taint import Value
from orchestrator.engines.shared.block_marks import restore_marks
from orchestrator.engines.shared.declared import RECORDS
from orchestrator.engines.shared.raw_text import Block, Words, parse_raw_text, write_raw_text
from orchestrator.expressions.placeholders import format_value
from state.canonical import loads

_WIDEST: Final = 36
"""How many letters of a typewriter stand in a line on a phone."""
_RULE: Final = re.compile(r":?-{2,}:?")
"""A cell of the line that Markdown has below the heads of a table."""
_NO_CELL: Final = "—"
LONGEST_TEXT: Final = 15_000
LONGEST_OPTIONS: Final = 5_000
"""How long options may be to be kept whole in a text that is too long."""
LONGEST_LABEL: Final = 60
MOST_OPTIONS: Final = 20
MOST_RECORDS: Final = 10
"""How many options and records of one message become buttons and lines."""
MOST_COLUMNS: Final = 20
"""How many columns a table has at most; what stands behind them stays in the last one. Unbounded ones take quadratic time."""
OPTIONS: Final = "options"
OPTION: Final = "workflow"
"""The first word of the buttons of options: ("workflow", run id, number of the option)."""
NO_RECORDS: Final[Mapping[str, Row]] = {}
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,14}", re.ASCII)
Part = Text | Passage


def _draw_plain(block: Block) -> Part:
    return Text(text=block.data.strip())


def _draw_quote(block: Block) -> Part:
    title, _, text = block.data.strip().partition("\n")
    return Passage(title=title, text=text) if text else Passage(title="", text=title)


def list_options(data: str) -> list[str]:
    """Return the options of a block: a JSON list of texts, or texts between `|`."""
    try:
        read = loads(data)
    except ValueError:
        read = None
    found = [format_value(one) for one in read] if isinstance(read, list) else data.split("|")
    return [shown for one in found if (shown := restore_marks(one).strip())]


def _draw_options(block: Block) -> Part:
    return Text(text="\n".join(f"• {option}" for option in list_options(block.data)))


def _draw_table(block: Block) -> Part:
    """Draw rows of cells that stand between `|`, in columns of one width, in the letters of a typewriter."""
    rows = _read_rows(block.data)
    if rows and sum(max(map(len, column)) + 2 for column in zip_longest(*rows, fillvalue="")) > _WIDEST:
        return Text(text=_write_records(rows))
    widths = [max(len(row[place]) for row in rows if place < len(row)) for place in range(max(map(len, rows), default=0))]
    lines = ["  ".join(cell.ljust(widths[place]) for place, cell in enumerate(row)).rstrip() for row in rows]
    return Text(text="```\n" + "\n".join(lines).replace("```", "'''") + "\n```") if lines else Text(text="")


def _read_rows(data: str) -> list[list[str]]:
    """Return the cells of a table, by lines.

    A `|` at the begin or at the end of all lines is a frame. Of one among others it says that the cell before or behind it is empty.
    """
    lines = [line.strip() for line in data.splitlines() if line.strip()]
    if all(line.startswith("|") for line in lines):
        lines = [line[1:] for line in lines]
    if all(line.endswith("|") for line in lines):
        lines = [line[:-1] for line in lines]
    rows = [[cell.strip() for cell in line.split("|", MOST_COLUMNS - 1)] for line in lines]
    return [row for row in rows if any(row) and not all(_RULE.fullmatch(cell) for cell in row)]


def _write_records(rows: list[list[str]]) -> str:
    """Return rows that are too wide for a phone as a list: the first cell, then the others below it."""
    first, *others = rows
    if not others:
        return " · ".join(first)
    return "\n".join(
        f"• {row[0] or _NO_CELL}\n   "
        + " · ".join(f"{title}: {cell}" if title else cell for title, cell in zip_longest(first[1:], row[1:], fillvalue="") if cell)
        for row in others
    )


RENDERERS: Final[Mapping[str, Callable[[Block], Part]]] = {"quote": _draw_quote, OPTIONS: _draw_options, "table": _draw_table}
"""What draws the blocks of an id in a chat."""


def draw_parts(text: str) -> Iterator[Part]:
    """Yield the parts of a message that shows the text."""
    yield from (part for one in parse_raw_text(text) if (part := _draw_part(one)).text.strip())


def _draw_part(one: Words | Block) -> Part:
    if isinstance(one, Words):
        return Text(text=restore_marks(one.text).strip())
    return RENDERERS.get(one.id, _draw_plain)(Block(one.id, restore_marks(one.data)))


def _draw_message(text: str, records: Mapping[str, Row]) -> Iterator[Part | Table]:
    """Yield the parts of a message; a block that names one of the records becomes its line, with a link."""
    for one in parse_raw_text(text):
        row = records.get(read_record_key(one)) if isinstance(one, Block) else None
        if row is not None:
            yield Table(rows=(row,), shown=1, total=1)
        elif (part := _draw_part(one)).text.strip():
            yield part


def build_result_reply(raw_text: Value, run_id: str = "", records: Mapping[str, Row] = NO_RECORDS) -> Reply | None:
    """Return the message that shows the result of a run, with its options as buttons; None if there is no text.

    What is too long for a chat is cut. Without a run there are no buttons. `records` are the lines of those records that its blocks name,
    by key.
    """
    shown = cut_text(str(raw_text.data))
    parts = tuple(_draw_message(shown, records))
    actions = [
        Action(words=(OPTION, run_id, str(number)), label=Notice(code="run-option", args={"label": option[:LONGEST_LABEL]}))
        for number, option in enumerate(list_result_options(shown) if run_id else ())
    ]
    return Reply(parts=parts, actions=tuple(actions)) if parts else None


def build_text_reply(text: str) -> Reply:
    """Return the message with a text of an author, in which that of a workflow may stand: its blocks are drawn, without buttons."""
    has_blocks = any(isinstance(one, Block) for one in parse_raw_text(text))
    parts = tuple(draw_parts(text)) if has_blocks else ()
    return Reply(parts=parts) if parts else build_reply(text=restore_marks(text))


def list_result_options(text: str) -> list[str]:
    """Return the options that the message of a result offers as buttons, in order; the same each time, for a button names their number."""
    blocks = [one for one in parse_raw_text(cut_text(text)) if isinstance(one, Block) and one.id == OPTIONS]
    return list(dict.fromkeys(option for block in blocks for option in list_options(block.data)))[:MOST_OPTIONS]


def list_record_keys(text: str) -> list[str]:
    """Return the keys of the records that the blocks of a message name, such as deal:481."""
    found = [key for block in parse_raw_text(cut_text(text)) if isinstance(block, Block) and (key := read_record_key(block))]
    return list(dict.fromkeys(found))[:MOST_RECORDS]


def cut_text(text: str) -> str:
    """Return the text as long as it fits into a message. Words and data are cut, marks are not; options stay if they are not too long."""
    if len(text) <= LONGEST_TEXT:
        return text
    kept: list[Words | Block] = []
    left = LONGEST_TEXT
    for one in parse_raw_text(text):
        if isinstance(one, Block) and one.id == OPTIONS and len(one.data) <= LONGEST_OPTIONS:
            kept.append(one)
        elif left > 0 and isinstance(one, Block):
            kept.append(Block(one.id, _cut(one.data, left)))
            left -= len(one.data)
        elif left > 0 and isinstance(one, Words):
            kept.append(Words(_cut(one.text, left)))
            left -= len(one.text)
    return write_raw_text(kept)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]} …"


def read_record_key(block: Block) -> str:
    """Return the key of the record that a block names, "" if it names none."""
    number = block.data.strip().removeprefix(f"{block.id}:")
    return f"{block.id}:{number}" if block.id in RECORDS and _NUMBER.fullmatch(number) else ""


def render_plain(text: str) -> str:
    """Return the text without its marks, as a terminal or a draft shows it."""
    return "\n".join(
        f"{part.title}\n{part.text}".strip() if isinstance(part, Passage) else part.text.removeprefix("```\n").removesuffix("\n```")
        for part in draw_parts(text)
    )

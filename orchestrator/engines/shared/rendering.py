"""Draws the text of a workflow and its blocks (S003-20 … S003-25, S003-81); HTML is plain text."""

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
_RULE: Final = re.compile(r":?-{2,}:?")
"""A cell below the heads of a Markdown table."""
_NO_CELL: Final = "—"
LONGEST_TEXT: Final = 15_000
LONGEST_OPTIONS: Final = 5_000
LONGEST_LABEL: Final = 60
MOST_OPTIONS: Final = 20
MOST_RECORDS: Final = 10
MOST_COLUMNS: Final = 20
"""The rest stays in the last; without a bound it takes quadratic time."""
OPTIONS: Final = "options"
OPTION: Final = "workflow"
"""("workflow", run id, number)."""
NO_RECORDS: Final[Mapping[str, Row]] = {}
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,14}", re.ASCII)
Part = Text | Passage


def _draw_plain(block: Block) -> Part:
    return Text(text=block.data.strip())


def _draw_quote(block: Block) -> Part:
    title, _, text = block.data.strip().partition("\n")
    return Passage(title=title, text=text) if text else Passage(title="", text=title)


def list_options(data: str) -> list[str]:
    """A JSON list of texts, or texts between `|`."""
    try:
        read = loads(data)
    except ValueError:
        read = None
    options = [format_value(one) for one in read] if isinstance(read, list) else data.split("|")
    return [option for one in options if (option := restore_marks(one).strip())]


def _draw_options(block: Block) -> Part:
    return Text(text="\n".join(f"• {option}" for option in list_options(block.data)))


def _draw_table(block: Block) -> Part:
    rows = _read_rows(block.data)
    if rows and sum(max(map(len, column)) + 2 for column in zip_longest(*rows, fillvalue="")) > _WIDEST:
        return Text(text=_write_records(rows))
    widths = [max(len(row[place]) for row in rows if place < len(row)) for place in range(max(map(len, rows), default=0))]
    lines = ["  ".join(cell.ljust(widths[place]) for place, cell in enumerate(row)).rstrip() for row in rows]
    return Text(text="```\n" + "\n".join(lines).replace("```", "'''") + "\n```") if lines else Text(text="")


def _read_rows(data: str) -> list[list[str]]:
    """A `|` around all lines is a frame, not a cell."""
    lines = [line.strip() for line in data.splitlines() if line.strip()]
    if all(line.startswith("|") for line in lines):
        lines = [line[1:] for line in lines]
    if all(line.endswith("|") for line in lines):
        lines = [line[:-1] for line in lines]
    rows = [[cell.strip() for cell in line.split("|", MOST_COLUMNS - 1)] for line in lines]
    return [row for row in rows if any(row) and not all(_RULE.fullmatch(cell) for cell in row)]


def _write_records(rows: list[list[str]]) -> str:
    """For rows that are too wide for a phone."""
    first, *others = rows
    if not others:
        return " · ".join(first)
    return "\n".join(
        f"• {row[0] or _NO_CELL}\n   "
        + " · ".join(f"{title}: {cell}" if title else cell for title, cell in zip_longest(first[1:], row[1:], fillvalue="") if cell)
        for row in others
    )


RENDERERS: Final[Mapping[str, Callable[[Block], Part]]] = {"quote": _draw_quote, OPTIONS: _draw_options, "table": _draw_table}


def draw_parts(text: str) -> Iterator[Part]:
    yield from (part for one in parse_raw_text(text) if (part := _draw_part(one)).text.strip())


def _draw_part(part: Words | Block) -> Part:
    if isinstance(part, Words):
        return Text(text=restore_marks(part.text).strip())
    return RENDERERS.get(part.id, _draw_plain)(Block(part.id, restore_marks(part.data)))


def _draw_message(text: str, records: Mapping[str, Row]) -> Iterator[Part | Table]:
    for raw_part in parse_raw_text(text):
        row = records.get(read_record_key(raw_part)) if isinstance(raw_part, Block) else None
        if row is not None:
            yield Table(rows=(row,), total=1)
        elif (part := _draw_part(raw_part)).text.strip():
            yield part


def build_result_reply(raw_text: Value, run_id: str = "", records: Mapping[str, Row] = NO_RECORDS) -> Reply | None:
    """None without text; buttons only with a run. `records` are by key."""
    visible = cut_text(str(raw_text.data))
    parts = tuple(_draw_message(visible, records))
    actions = [
        Action(words=(OPTION, run_id, str(number)), label=Notice(code="run-option", args={"label": option[:LONGEST_LABEL]}))
        for number, option in enumerate(list_result_options(visible) if run_id else ())
    ]
    return Reply(parts=parts, actions=tuple(actions)) if parts else None


def build_text_reply(text: str) -> Reply:
    has_blocks = any(isinstance(one, Block) for one in parse_raw_text(text))
    parts = tuple(draw_parts(text)) if has_blocks else ()
    return Reply(parts=parts) if parts else build_reply(text=restore_marks(text))


def list_result_options(text: str) -> list[str]:
    """The same order each time, since buttons name numbers."""
    blocks = [one for one in parse_raw_text(cut_text(text)) if isinstance(one, Block) and one.id == OPTIONS]
    return list(dict.fromkeys(option for block in blocks for option in list_options(block.data)))[:MOST_OPTIONS]


def list_record_keys(text: str) -> list[str]:
    keys = [key for block in parse_raw_text(cut_text(text)) if isinstance(block, Block) and (key := read_record_key(block))]
    return list(dict.fromkeys(keys))[:MOST_RECORDS]


def cut_text(text: str) -> str:
    """Cut words and data, never marks."""
    if len(text) <= LONGEST_TEXT:
        return text
    parts: list[Words | Block] = []
    left = LONGEST_TEXT
    for part in parse_raw_text(text):
        if isinstance(part, Block) and part.id == OPTIONS and len(part.data) <= LONGEST_OPTIONS:
            parts.append(part)
        elif left > 0 and isinstance(part, Block):
            parts.append(Block(part.id, _cut(part.data, left)))
            left -= len(part.data)
        elif left > 0 and isinstance(part, Words):
            parts.append(Words(_cut(part.text, left)))
            left -= len(part.text)
    return write_raw_text(parts)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]} …"


def read_record_key(block: Block) -> str:
    """ "" if it names none."""
    number = block.data.strip().removeprefix(f"{block.id}:")
    return f"{block.id}:{number}" if block.id in RECORDS and _NUMBER.fullmatch(number) else ""


def render_plain(text: str) -> str:
    return "\n".join(
        f"{part.title}\n{part.text}".strip() if isinstance(part, Passage) else part.text.removeprefix("```\n").removesuffix("\n```")
        for part in draw_parts(text)
    )

"""Finds parts of a message that are set apart as pasted text is: fences, quoted and indented lines, tables, brackets, emphasis. Pure."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from orchestrator.language.foreign_words import LIST_MARK, ORDERS, ORDERS_FOLLOW, QUOTED_LINE, RECORDS, Line, Span, is_instruction

_FENCES: Final = tuple(
    (re.compile(opened), re.compile(closed))
    for opened, closed in (
        (r"`{3,}", r"`{3,}"),
        (r"~{3,}", r"~{3,}"),
        (r"<(?!(?:a|b|br|em|hr|i|s|strong|u)\b)[^\W\d]\w{0,20}\b[^<>\n]{0,100}>", r"</[^\W\d]\w{0,20}\s*>"),
        (r"<{2,}(?!/)", r">{2,}"),
        (r"\[quote\b[^\]\n]{0,100}\]", r"\[/quote\]"),
        (r"<!--", r"-->"),
        (r"<\|\w{1,20}\|>", r"<\|\w{1,20}\|>"),
        (r"\[/?inst\]", r"\[/inst\]"),
    )
)
_INDENTED: Final = re.compile(r" {4,}\S| *\t")
_TABLE_ROW: Final = re.compile(r"\s*\|.*\|")
_LOG_ROW: Final = re.compile(r"\s*\[?[0-9]{4}-[0-9]{2}-[0-9]{2}[t ][0-9]{2}:[0-9]{2}")
_CODE_LINE: Final = re.compile(
    r"\s*(?://(?!\w+\.\w)|/\*|[$%] |>>>|(?:echo|curl|print|log|let|const|var|return) ?[\w('\"-])|.*\b(?:text|msg|message|body|comment)="
)
_HEADING: Final = re.compile(r"\s*(?:#{1,6} \S|(\*\*|__)\S.{0,80}\1[\s:]*$)")
_MARKED: Final = re.compile(r"(?<![\w*_])(\*{1,2}|_{1,2})(?=\w)([^*_\n]{1,400})(?<=[\w.!?)])\1(?![\w*_])")
_BRACKETS: Final = re.compile(r"\([^()]{1,2000}\)|\[[^\[\]]{1,2000}\]|\{[^{}]{1,2000}\}")


def find_fences(folded: str) -> Iterator[Span]:
    """Yield the parts of the text that stand between fences (```, [quote] or tags). A part ends at the last closing mark in the text."""
    for opened, closed in _FENCES:
        first = opened.search(folded)
        if first is not None:
            ends = [mark.end() for mark in closed.finditer(folded, first.end())]
            yield Span(first.start(), ends[-1] if ends else len(folded))


def find_set_apart(lines: Sequence[Line]) -> Iterator[Span]:
    """Yield the lines that begin with a quotation sign, are indented as code is, or are rows of a table or log.

    Indented lines and rows below an order of the person («создай сделки:») are values, unless they give an instruction themselves.
    """
    ragged = _list_ragged_rows(lines)
    lead = ""
    for number, line in enumerate(lines):
        if QUOTED_LINE.match(line.folded) or _LOG_ROW.match(line.folded) or _CODE_LINE.match(line.folded):
            yield Span(line.start, line.end)
        elif _INDENTED.match(line.spoken) or _TABLE_ROW.match(line.folded) or number in ragged:
            if not _leads_values(lead) or (is_instruction(line.folded) and not LIST_MARK.match(line.folded)):
                yield Span(line.start, line.end)
        elif not line.is_blank:
            lead = line.folded


def find_heading(lines: Sequence[Line]) -> int | None:
    """Return the offset of the first heading of a marked-up text (`# …`, a line in bold) with text below it; None without one."""
    spoken = [line for line in lines if not line.is_blank]
    return next((line.start for line in spoken[:-1] if _HEADING.match(line.folded)), None)


def find_instructions_in_marks(folded: str) -> Iterator[Span]:
    """Yield the parts in brackets, or between signs of emphasis, that tell somebody to change something."""
    for pattern in (_BRACKETS, _MARKED):
        for part in pattern.finditer(folded):
            if is_instruction(part[0]):
                yield Span(part.start(), part.end())


def _list_ragged_rows(lines: Sequence[Line]) -> frozenset[int]:
    """Return the numbers of the lines that are rows with tabs or semicolons between the cells; one row of few cells may be a sentence."""
    tabs = [line.spoken.strip().count("\t") for line in lines]
    rows = [number for number, line in enumerate(lines) if tabs[number] or line.folded.count(";") > 1]
    beside = {number for pair in pairwise(rows) if pair[1] - pair[0] == 1 for number in pair}
    return frozenset(beside | {number for number in rows if tabs[number] > 1})


def _leads_values(lead: str) -> bool:
    return bool(ORDERS_FOLLOW.fullmatch(lead.strip()) or ORDERS.search(lead) or RECORDS.search(lead))

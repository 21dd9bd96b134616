"""Finds the quotations in a person's message that hold somebody else's words, not a value. Pure."""

import re
from collections.abc import Iterator
from typing import Final

from orchestrator.language.foreign_words import (
    CLAUSE_END,
    CONTEXT,
    GREETING,
    LEAD_END,
    LETTERS,
    OPENERS,
    ORDERS,
    OUTWARD,
    REPORTING,
    SENTENCE_BREAK,
    SYMMETRIC,
    WORD,
    Span,
    compile_words,
    is_instruction,
)

MAX_QUOTED_VALUE: Final = 100
"""A longer quotation is no title and no short comment."""
MAX_PHRASE: Final = 40
"""A quotation of several sentences may be this long and still be a name («ООО «Рога. И Ко»»)."""
MAX_GREETING: Final = 20
"""A quotation that only greets («добрый день») is a value."""
_LABELS: Final = compile_words("labels")
_OPENER: Final = re.compile(f"[{re.escape(''.join(OPENERS))}]")


def find_quotations(folded: str) -> Iterator[Span]:
    """Yield the offsets of the quotations that contain somebody else's words."""
    position = 0
    while (start := _find_opener(folded, position)) is not None:
        end = _find_closer(folded, start)
        inner = folded[start + 1 : end - 1] if end is not None else folded[start + 1 :]
        if end is None and not WORD.search(inner):
            return
        if _is_foreign_quotation(folded[max(0, start - CONTEXT) : start], inner):
            end = _find_outer_closer(folded, start, end)
            yield Span(start, end)
        elif end is None:
            end = start + 1
        position = max(end, start + 1)


def _find_opener(folded: str, position: int) -> int | None:
    for found in _OPENER.finditer(folded, position):
        place, char = found.start(), found[0]
        if char in SYMMETRIC and place and folded[place - 1].isalnum():
            continue
        if char not in SYMMETRIC or not folded.startswith(char, place + 1):  # of several marks in a row, the last one opens
            return place
    return None


def _find_closer(folded: str, start: int) -> int | None:
    """Return the offset after the quotation that begins at `start`, including quotations inside it; None if it is never closed."""
    opener = folded[start]
    closers, depth = OPENERS[opener], 1
    for place in range(start + 1, len(folded)):
        if folded[place] in closers:
            depth -= 1
            if not depth:
                return place + 1
        elif folded[place] == opener:
            depth += 1
    return None


def _find_outer_closer(folded: str, start: int, end: int | None) -> int:
    """Return the offset after a foreign quotation: its own `end`, or the last closing mark in the text if the marks are not in pairs."""
    if end is None:
        return len(folded)
    closers = OPENERS[folded[start]]
    rest = folded[end:]
    nested = not SYMMETRIC & set(closers) and sum(rest.count(mark) for mark in closers) <= rest.count(folded[start])
    last = max(folded.rfind(mark) for mark in closers) + 1
    return end if nested else max(end, last)


def _is_foreign_quotation(before: str, inner: str) -> bool:
    """Return whether the quotation `inner` holds a letter, an instruction or somebody's words, not a value for the person's order.

    `before` is the text before the quotation; it may announce somebody's words.
    """
    if not WORD.search(inner):
        return False
    if len(inner) > MAX_QUOTED_VALUE or "\n" in inner.strip() or is_instruction(inner):
        return True
    if len(inner) > MAX_GREETING and GREETING.match(inner):
        return True
    if len(inner) > MAX_PHRASE and SENTENCE_BREAK.search(inner):
        return True
    clause = CLAUSE_END.split(before.rstrip())[-1]
    if REPORTING.search(clause) or (LETTERS.search(clause) and not OUTWARD.search(clause)):
        return True
    introduced = LEAD_END.search(before.rstrip(" \n")) is not None
    return introduced and not (ORDERS.search(clause) or _LABELS.search(clause))

"""Finds text below a line that announces it: «Клиент пишет:», «Итоги звонка», a title, the address of a page. Pure.

Values below an order of the person («создай три лида:») are no such text.
"""

import re
from collections.abc import Sequence
from typing import Final

from orchestrator.language.foreign_words import (
    ACTS,
    COPIED,
    GREETING,
    LEAD_END,
    LIST_MARK,
    MAX_VALUE_LINE,
    ORDERS,
    ORDERS_FOLLOW,
    OUTWARD,
    POLITE,
    QUOTED_LINE,
    RECORDS,
    REPORTING_OR_LETTERS,
    SENTENCE_BREAK,
    STARTS_ACT,
    WORDS,
    Line,
    is_instruction,
)

MAX_VALUE_LINES: Final = 30
MAX_LEAD_WORDS: Final = 8
_LEAD_LINE: Final = re.compile(COPIED.join_patterns("lead_lines"))
_ATTRIBUTION: Final = re.compile(r"[0-9]{1,2}:[0-9]{2}|\w@\w")
"""A mail program wrote the line above the letter («On Mon, 23 Nov 2026 at 10:00, P wrote:»), not the person."""
_SENTENCE_END: Final = re.compile(r"[.!?…;\n](?=\s|$|[»”\"])")
_OPENING: Final = re.compile(
    rf"\A\W*(?:(?:{WORDS.join_patterns('greetings')}|{COPIED.join_patterns('politeness')}|{COPIED.join_patterns('openings')}|{COPIED.join_patterns('thanks')})(?!\w)\W*)+"
)


def find_led_in(lines: Sequence[Line]) -> int | None:
    """Return the offset of the text after a line that announces it, or None; a list of values for the person's order is no such text."""
    for number, line in enumerate(lines[:-1]):  # nothing stands below the last one
        if line.is_blank or QUOTED_LINE.match(line.folded) or not is_lead_in(line.folded):
            continue
        rest = [other for other in lines[number + 1 :] if not other.is_blank]
        if rest and not _is_value_list(line.folded, rest):
            return line.start if _ATTRIBUTION.search(line.folded) else rest[0].start
    return None


def find_headed(lines: Sequence[Line]) -> int | None:
    """Return the offset of a polite order («закройте …») below or behind words that name neither an order nor a record; None without one.

    Such words are a title, a nickname, a question or a remark; most people say «ты» to the bot, or begin with the order.
    """
    spoken = [line for line in lines if not line.is_blank]
    if not spoken:
        return None
    whole = "\n".join(line.folded for line in lines)
    polite = next((found for found in STARTS_ACT.finditer(whole) if POLITE.match(found[0])), None)
    if polite is None or not is_instruction(whole):
        return None
    before = _OPENING.sub("", whole[: polite.start()]).strip(" \n,.!:–—-*_")
    return polite.start() if len(before.split()) > 1 and not _says_own(before) else _find_below_title(spoken)


def _find_below_title(spoken: Sequence[Line]) -> int | None:
    """Return the offset of the second line if a polite order stands there and the first line names neither an order nor a record."""
    below = "\n".join(line.folded for line in spoken[1:])
    return spoken[1].start if POLITE.search(below) and is_instruction(below) and not _says_own(spoken[0].folded) else None


def is_lead_in(line: str) -> bool:
    """Return whether the line announces the text after it: it ends with a colon, or with words such as «письмо от клиента»."""
    if LEAD_END.search(line) or _LEAD_LINE.fullmatch(line.strip(" .!,")):
        return True
    words = line.split()
    if len(words) > MAX_LEAD_WORDS or _SENTENCE_END.search(line):
        return False
    return REPORTING_OR_LETTERS.search(" ".join(words[-4:])) is not None and OUTWARD.search(line) is None


def _says_own(line: str) -> bool:
    """Return whether a first line speaks to the bot or names what its order is about; such a line is no title."""
    return any(pattern.search(line) for pattern in (ORDERS, ORDERS_FOLLOW, ACTS, RECORDS))


def _is_value_list(lead: str, rest: Sequence[Line]) -> bool:
    """Return whether the lines `rest` are values for the person's own order in `lead`: short lines that do not read like a letter."""
    if REPORTING_OR_LETTERS.search(lead):
        return False
    of_orders = ORDERS_FOLLOW.fullmatch(lead.strip()) is not None
    if not (of_orders or ORDERS.search(lead) or RECORDS.search(lead)) or len(rest) > MAX_VALUE_LINES:
        return False
    values = [LIST_MARK.sub("", line.folded).strip() for line in rest]
    return all(
        len(value) <= MAX_VALUE_LINE
        and not GREETING.match(value)
        and not SENTENCE_BREAK.search(value)
        and (of_orders or not is_instruction(value))
        for value in values
    )

"""Finds letters and forwarded messages in what a person wrote: heads, greetings, signatures, and lines that lead them in. Pure."""

import re
from collections.abc import Sequence
from typing import Final

from orchestrator.language.copied_text import is_chat_head, is_sender_line, is_signature
from orchestrator.language.foreign_words import (
    COLONS,
    COMMANDS,
    GREETING,
    LEAD_END,
    MAX_VALUE_LINE,
    NUMBERED_RECORD,
    ORDERS,
    ORDERS_FOLLOW,
    OUTWARD,
    QUOTED_LINE,
    RECORDS,
    REPORTING_OR_LETTERS,
    SENTENCE_BREAK,
    WORDS,
    Line,
    compile_line_start,
    is_instruction,
)

MAX_GREETED: Final = 600
"""A longer text that begins with a greeting is a letter: nobody writes to the bot like that."""
MAX_VALUE_LINES: Final = 30
MAX_LEAD_WORDS: Final = 8
_LEAD_LINE: Final = re.compile(WORDS.join_patterns("lead_lines"))
_LETTER_START: Final = compile_line_start(f"{WORDS.join_patterns('greetings')}|{WORDS.join_patterns('requests_of_letters')}")
_FORMAL_GREETING: Final = compile_line_start(WORDS.join_patterns("formal_greetings"))
_SIGN_OFF: Final = compile_line_start(WORDS.join_patterns("sign_offs"), after="")
_PEOPLE_HEADER: Final = compile_line_start(WORDS.join_patterns("headers_of_people"), after=rf"[*_ ]*[{COLONS}]")
_HEADER: Final = compile_line_start(
    f"{WORDS.join_patterns('headers_of_people')}|{WORDS.join_patterns('headers')}", after=rf"[*_ ]*[{COLONS}]"
)
_SEPARATOR: Final = re.compile(rf"[-_=*>\s]*(?:{WORDS.join_patterns('separators')})[-_=*{COLONS}\s]*$")
_ATTRIBUTION: Final = re.compile(r"[0-9]{1,2}:[0-9]{2}|\w@\w")
"""A mail program wrote the line above the letter («On Mon, 23 Nov 2026 at 10:00, P wrote:»), not the person."""
_RULE_LINE: Final = re.compile(r"\s*([-*=_~#])\1{2,}\s*$")
_SENTENCE_END: Final = re.compile(r"[.!?…;\n](?=\s|$|[»”\"])")
_LIST_MARK: Final = re.compile(r"^\s*(?:[0-9]{1,2}[.)]|[-–—*•])\s+")


def find_letter(lines: Sequence[Line]) -> int | None:
    """Return where a letter begins that goes on to the end of the message; None if there is none."""
    found = [start for start in (_find_head(lines), _find_greeting(lines), _find_signed(lines), _find_led_in(lines)) if start is not None]
    return min(found, default=None)


def _find_head(lines: Sequence[Line]) -> int | None:
    """Return the offset of an e-mail's header, of a line above a forwarded message, or of lines copied from a chat; None without these."""
    for number, line in enumerate(lines):
        if _SEPARATOR.match(line.folded) or _RULE_LINE.match(line.folded) or is_chat_head(line.folded) or is_sender_line(line.spoken):
            return line.start
        if not _HEADER.match(line.folded):
            continue
        beside = [other for other in lines[number + 1 : number + 4] if _HEADER.match(other.folded)]
        of_people = any(_PEOPLE_HEADER.match(one.folded) for one in (line, *beside))
        addressed = _PEOPLE_HEADER.match(line.folded) and re.search(r"[@<]", line.folded)
        apart = number + 2 < len(lines) and lines[number + 1].is_blank
        first = number + 1 < len(lines) and not any(not other.is_blank for other in lines[:number])
        if addressed or apart or first or (beside and of_people):
            return line.start
    return None


def _find_greeting(lines: Sequence[Line]) -> int | None:
    """Return the offset of a line that begins a letter with a greeting; None if there is none.

    A greeting on the first line counts only if it is formal or if a long text follows, since people also greet the bot.
    """
    spoken = [line for line in lines if not line.is_blank]
    formal = spoken and _FORMAL_GREETING.match(spoken[0].folded)
    if formal or (spoken and GREETING.match(spoken[0].folded) and lines[-1].end - spoken[0].start > MAX_GREETED):
        return spoken[0].start
    return next((line.start for line in spoken[1:] if _LETTER_START.match(line.folded)), None)


def _find_signed(lines: Sequence[Line]) -> int | None:
    """Return the offset of a text that ends as letters do; None without one. A first line that only announces the letter is left out."""
    spoken = [line for line in lines if not line.is_blank]
    if not any(_SIGN_OFF.match(line.folded) for line in spoken[1:]) and not is_signature([line.spoken for line in spoken]):
        return None
    first = spoken[0].folded
    of_letter = GREETING.match(first) or COMMANDS.search(first) or NUMBERED_RECORD.search(first)
    return spoken[1].start if is_lead_in(first) and not of_letter else spoken[0].start


def _find_led_in(lines: Sequence[Line]) -> int | None:
    """Return the offset of the text after a line that announces it, or None; a list of values for the person's order is no such text."""
    for number, line in enumerate(lines):
        if line.is_blank or QUOTED_LINE.match(line.folded) or not is_lead_in(line.folded):
            continue
        rest = [other for other in lines[number + 1 :] if not other.is_blank]
        if rest and not _is_value_list(line.folded, rest):
            return line.start if _ATTRIBUTION.search(line.folded) else rest[0].start
    return None


def is_lead_in(line: str) -> bool:
    """Return whether the line announces the text after it: it ends with a colon, or with words such as «письмо от клиента»."""
    if LEAD_END.search(line) or _LEAD_LINE.fullmatch(line.strip(" .!,")):
        return True
    words = line.split()
    if len(words) > MAX_LEAD_WORDS or _SENTENCE_END.search(line):
        return False
    return REPORTING_OR_LETTERS.search(" ".join(words[-4:])) is not None and OUTWARD.search(line) is None


def _is_value_list(lead: str, rest: Sequence[Line]) -> bool:
    """Return whether the lines `rest` are values for the person's own order in `lead`: short lines that do not read like a letter."""
    if REPORTING_OR_LETTERS.search(lead):
        return False
    of_orders = ORDERS_FOLLOW.fullmatch(lead.strip()) is not None
    if not (of_orders or ORDERS.search(lead) or RECORDS.search(lead)) or len(rest) > MAX_VALUE_LINES:
        return False
    values = [_LIST_MARK.sub("", line.folded).strip() for line in rest]
    return all(
        len(value) <= MAX_VALUE_LINE
        and not GREETING.match(value)
        and not SENTENCE_BREAK.search(value)
        and (of_orders or not is_instruction(value))
        for value in values
    )

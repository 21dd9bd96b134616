"""Finds texts that speak as a customer does («меня зовут…», «вы обещали»), and texts that the person asks about below them. Pure.

Only texts that tell somebody to change something in the CRM are looked for here: other texts do no harm.
"""

import re
from collections.abc import Sequence
from typing import Final

from orchestrator.language.foreign_words import COPIED, OUTWARD, POLITE, SENTENCE_BREAK, Line, Span, compile_words, is_instruction
from orchestrator.language.lead_lines import is_lead_in

_STRANGER: Final = compile_words("strangers", source=COPIED)
_TO_FIRM: Final = compile_words("to_firm", source=COPIED)
_TO_BOT: Final = compile_words("to_bot", source=COPIED)
_OF_FIRM: Final = compile_words("of_firm", source=COPIED)
_FORMAL_REQUEST: Final = re.compile(rf"(?:^|[.!?…]\s+)\W*(?:{COPIED.join_patterns('formal_requests')})(?!\w)")
_REMARK: Final = re.compile(rf"\W*(?:{COPIED.join_patterns('remarks')})\W*")
_REMARK_AT_END: Final = re.compile(
    rf"\s[–—-]\s?(?:{COPIED.join_patterns('remarks')})\W*$|(?:{COPIED.join_patterns('author_signs')}).{{1,40}}$"
)


def find_customer(lines: Sequence[Line]) -> int | None:
    """Return the offset of the first line in which somebody else speaks to the person's firm and gives an instruction; None without one.

    A line of the person's own above it that only announces the text stays theirs.
    """
    spoken = [line for line in lines if not line.is_blank]
    whole = "\n".join(line.folded for line in spoken)
    if not is_instruction(whole) or (spoken and OUTWARD.match(spoken[0].folded.lstrip())):
        return None
    signs = [line for line in spoken if _speaks_as_customer(line.folded)]
    if not signs:
        return None
    first = spoken[0]
    orders_itself = is_instruction(first.folded) and POLITE.search(first.folded) is None and first not in signs
    return signs[0].start if orders_itself or is_lead_in(first.folded) else first.start


def find_asked_about(lines: Sequence[Line]) -> Span | None:
    """Return the text above the person's remark about it («что ему ответить?», «это он написал»); None without such a remark."""
    spoken = [line for line in lines if not line.is_blank]
    if not spoken:
        return None
    last = spoken[-1]
    end = last.start
    if len(spoken) == 1 or not _REMARK.fullmatch(last.folded):
        found = _REMARK_AT_END.search(last.folded)
        if found is None:
            return None
        end = last.start + found.start()
    above = "\n".join(line.folded for line in spoken)[: end - spoken[0].start]
    return Span(spoken[0].start, end) if is_instruction(above) else None


def _speaks_as_customer(line: str) -> bool:
    """Return whether a line says who somebody is, or asks the firm for something, in words that nobody says to a bot."""
    if _STRANGER.search(line) or _FORMAL_REQUEST.search(line):
        return True
    if _TO_FIRM.search(_TO_BOT.sub(" ", line)):
        return True
    return _OF_FIRM.search(line) is not None and (POLITE.search(line) is not None or SENTENCE_BREAK.search(line) is not None)

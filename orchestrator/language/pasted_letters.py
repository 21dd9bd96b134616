"""Finds letters and forwarded messages in what a person wrote: heads, greetings, signatures, and lines that lead them in. Pure."""

import re
from collections.abc import Sequence
from typing import Final

from orchestrator.language.copied_text import find_chat
from orchestrator.language.foreign_words import COLONS, COPIED, WORDS, Line, compile_line_start
from orchestrator.language.lead_lines import find_led_in
from orchestrator.language.letter_signs import find_greeting, find_signed
from orchestrator.language.pasted_blocks import find_heading

_PEOPLE_HEADER: Final = compile_line_start(WORDS.join_patterns("headers_of_people"), after=rf"[*_ ]*[{COLONS}]")
_HEADER: Final = compile_line_start(
    f"{WORDS.join_patterns('headers_of_people')}|{WORDS.join_patterns('headers')}", after=rf"[*_ ]*[{COLONS}]"
)
_SEPARATOR: Final = re.compile(rf"[-_=*>\s]*(?:{WORDS.join_patterns('separators')})[-_=*{COLONS}\s]*$")
_RULE_LINE: Final = re.compile(r"\s*([-*=_~#])\1{2,}\s*$")
_DOCUMENT: Final = re.compile(rf"\s*(?:{COPIED.join_patterns('document_starts')})")


def find_letter(lines: Sequence[Line]) -> int | None:
    """Return where a letter begins that goes on to the end of the message; None if there is none."""
    ways = (_find_head, find_chat, find_heading, find_greeting, find_signed, find_led_in)
    found = [start for way in ways if (start := way(lines)) is not None]
    return min(found, default=None)


def _find_head(lines: Sequence[Line]) -> int | None:
    """Return the offset of an e-mail's header, of a line above a forwarded message, or of a document's clause; None without these."""
    for number, line in enumerate(lines):
        if _SEPARATOR.match(line.folded) or _RULE_LINE.match(line.folded) or _DOCUMENT.match(line.folded):
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

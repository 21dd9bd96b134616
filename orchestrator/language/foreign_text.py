"""Separates the person's own words from text of others that they pasted into the message: quotations, letters, quoted lines.

Text of others is prose: it names no record and gives no order, and after it each write needs the person's consent. A doubtful text counts
as text of others, which costs only one confirmation card. Short quotations that are values («переименуй в «Лютик»») and lists of values
after a colon count as the person's own words.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from orchestrator.language.copied_text import find_chat
from orchestrator.language.customer_voice import find_asked_about, find_customer
from orchestrator.language.foreign_words import (
    COLONS,
    COPIED,
    LEAD_END,
    REPORTING_OR_LETTERS,
    WORD,
    WORDS,
    Line,
    Span,
    compile_line_start,
    compile_words,
    is_instruction,
)
from orchestrator.language.lead_lines import find_headed, find_led_in
from orchestrator.language.letter_signs import find_greeting, find_signed
from orchestrator.language.pasted_blocks import find_fences, find_heading, find_instructions_in_marks, find_set_apart
from orchestrator.language.pasted_quotations import find_quotations
from orchestrator.language.reported_words import find_reported_words
from orchestrator.language.text import fold

_CHANGES: Final = compile_words("orders", "outward", "acts", "orders_follow")
_DELETING: Final = compile_words("deleting")


class SplitText(NamedTuple):
    """A message divided into the person's own words and the text of others (`foreign`); either may be ""."""

    own: str
    foreign: str


def split_foreign_text(text: str) -> SplitText:
    """Divide a message into the person's own words and the text of others. Both keep their words in the original order."""
    folded = "\n".join(map(fold, text.split("\n")))
    lines = list(_list_lines(folded, text))
    spans = [*find_fences(folded), *find_set_apart(lines), *find_instructions_in_marks(folded), *find_quotations(folded)]
    around = list(_list_lines(_blank_out(folded, _merge(spans)), text))
    starts = (find_letter(lines), find_customer(around), find_headed(around))
    spans.extend(Span(start, len(text)) for start in starts if start is not None)
    asked_about = find_asked_about(around) if not spans else None  # where the text of others is marked, the rest is the person's own
    if asked_about is not None:
        spans.append(asked_about)
    spans.extend(find_reported_words(folded, _merge(spans)))
    merged = _merge(spans)
    if not merged:
        return SplitText(own=text, foreign="")
    return SplitText(own=_cut_out(text, merged), foreign="\n\n".join(text[start:end].strip() for start, end in merged))


def gives_order(text: str) -> bool:
    """Return whether the person's own words ask the bot to change something."""
    return _CHANGES.search(fold(text)) is not None


def is_order_in_name(text: str) -> bool:
    """Return whether a title or name tells somebody to change something in the CRM, as no title of a record does by chance."""
    return is_instruction(fold(text))


def asks_to_delete(text: str) -> bool:
    """Return whether the person's own words ask to delete something or to take it away."""
    return _DELETING.search(fold(text)) is not None


def announces_foreign_text(text: str) -> bool:
    """Return whether `text` ends with an announcement of somebody else's words («клиент пишет:»), which the next message then contains."""
    line = fold(text.rstrip().rpartition("\n")[2])
    return LEAD_END.search(line) is not None and REPORTING_OR_LETTERS.search(line) is not None


def _list_lines(folded: str, text: str) -> Iterator[Line]:
    start = 0
    for line in folded.split("\n"):
        end = start + len(line)
        yield Line(start, end, line, text[start:end])
        start = end + 1


def _blank_out(folded: str, spans: Sequence[Span]) -> str:
    """Return the text with spaces in place of `spans`, so that offsets stay valid; line breaks stay too."""
    for start, end in spans:
        folded = folded[:start] + "".join("\n" if char == "\n" else " " for char in folded[start:end]) + folded[end:]
    return folded


def _merge(spans: Sequence[Span]) -> list[Span]:
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span.start <= merged[-1].end + 1:
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, span.end))
        elif span.start < span.end:
            merged.append(span)
    return merged


def _cut_out(text: str, spans: Sequence[Span]) -> str:
    """Return `text` without `spans`; "" if nothing but punctuation is left."""
    kept, position = list[str](), 0
    for start, end in spans:
        kept.append(text[position:start].rstrip(" "))
        inline = text[end : end + 1] not in ("", "\n")
        kept.append(" […]" if inline and kept[-1] else "")
        position = end
    own = "".join([*kept, text[position:]]).strip()
    return own if WORD.search(own) else ""


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

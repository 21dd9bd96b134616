"""Finds somebody else's words that a person retells or pastes after a colon, an arrow or «клиент просит …». Pure."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from orchestrator.language.foreign_words import (
    CLAUSE_END,
    COLONS,
    CONTEXT,
    GREETING,
    LETTERS,
    MAX_VALUE_LINE,
    OPENERS,
    ORDERS,
    ORDERS_FOLLOW,
    OUTWARD,
    RECORDS,
    REPORTING,
    WORD,
    WORDS,
    Span,
    compile_words,
    is_instruction,
)

MAX_PHRASE_WORDS: Final = 3
MAX_ADDRESS_WORDS: Final = 2
"""So many words before a colon may name what an order is about («Северный ветер: закрой сделку», «Срочно: …»)."""
_SOURCES: Final = re.compile(rf"(?<!\w)(?:{WORDS.join_patterns('sources')})(?:\s+\w+)?\W*$")
_REPORTING_AT_END: Final = re.compile(rf"(?<!\w)(?:{WORDS.join_patterns('reporting')})\W*$")
_ANNOUNCEMENT: Final = re.compile(rf"(?:^|[.!?\n])\s*(?:{WORDS.join_patterns('announcements')})[^.!?\n]{{0,40}}[.!?]+(?=\s)")
_NOTES: Final = compile_words("notes")
_ANSWERED: Final = re.compile(rf"(?<!\w)(?:{WORDS.join_patterns('answered')})\W*$")
_STARTS_ACT: Final = compile_words("acts", "commands")
_REPORTED_ACT: Final = re.compile(rf"(?<!\w)(?:{WORDS.join_patterns('reporting')})(?:\s+(?:{WORDS.join_patterns('retelling')}))?\s+")
_INLINE_COLON: Final = re.compile(rf"(?<![0-9])[{COLONS}](?!//)|[{COLONS}](?![0-9/])|→|\s[–—-]+>?(?=\s)")


def find_reported_words(folded: str, foreign: Sequence[Span]) -> Iterator[Span]:
    """Yield the offsets of the text after «клиент пишет: …» or «Вот письмо. …», to the end; a colon in a span of `foreign` is ignored."""
    announced = _ANNOUNCEMENT.search(folded)
    if announced is not None:
        yield Span(announced.end(), len(folded))
    for said in _REPORTED_ACT.finditer(folded):  # «клиент пишет переименуйте …»: dictated, without a colon
        if _STARTS_ACT.match(folded, said.end()) and is_instruction(folded[said.end() :]):
            yield Span(said.end(), len(folded))
    for colon in _INLINE_COLON.finditer(folded):
        if any(span.start <= colon.start() < span.end for span in foreign):
            continue
        clause = CLAUSE_END.split(folded[max(0, colon.start() - MAX_VALUE_LINE) : colon.start()])[-1]
        rest = folded[colon.end() :].lstrip()
        led = _announces(clause, colon[0]) or _is_led_letter(clause, rest[:CONTEXT])
        if led and WORD.search(rest) and rest[0] not in OPENERS:
            yield Span(colon.end(), len(folded))
            return


def _is_led_letter(clause: str, rest: str) -> bool:
    """Return whether a letter or an instruction follows a colon; False if the clause before the colon is an order of the person."""
    if _NOTES.search(clause):
        return _STARTS_ACT.match(rest) is not None and is_instruction(rest)
    if ORDERS.search(clause) or ORDERS_FOLLOW.fullmatch(clause.strip()):
        return False
    if GREETING.match(rest):
        return True
    return len(clause.split()) > MAX_ADDRESS_WORDS and not RECORDS.search(clause) and is_instruction(rest)


def _announces(clause: str, mark: str) -> bool:
    """Return whether the clause before `mark` (a colon, an arrow or a dash) announces somebody else's words."""
    reported = REPORTING.search(clause) is not None
    if mark[0] not in f"{COLONS}→":
        reported = _REPORTING_AT_END.search(clause) is not None
        return reported or (len(clause.split()) <= MAX_PHRASE_WORDS and LETTERS.search(clause) is not None)
    if reported or _ANSWERED.search(clause) or (LETTERS.search(clause) and not OUTWARD.search(clause)):
        return True
    return _SOURCES.search(clause) is not None and not (ORDERS.search(clause) or RECORDS.search(clause))

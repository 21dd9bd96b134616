"""Finds somebody else's words that a person retells or pastes after a colon, an arrow or «клиент просит …». Pure."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from orchestrator.language.foreign_words import (
    CLAUSE_END,
    COLONS,
    CONTEXT,
    COPIED,
    GREETING,
    LETTERS,
    MAX_VALUE_LINE,
    NUMBERED_RECORD,
    OPENERS,
    ORDERS,
    ORDERS_FOLLOW,
    OUTWARD,
    POLITE,
    RECORDS,
    REPORTING,
    STARTS_ACT,
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
_ANNOUNCEMENT: Final = re.compile(rf"(?:^|[.!?\n]) {{0,20}}(?:{WORDS.join_patterns('announcements')})[^.!?\n]{{0,40}}[.!?]+(?=\s)")
_NOTES: Final = compile_words("notes")
_ANSWERED: Final = re.compile(rf"(?<!\w)(?:{WORDS.join_patterns('answered')})\W*$")
_REPORTED_ACT: Final = re.compile(
    rf"(?<!\w)(?:{WORDS.join_patterns('reporting')}|{COPIED.join_patterns('retold_in')})(?:\s+(?:{WORDS.join_patterns('retelling')}))?\s+"
)
_ANNOUNCING_SOURCE: Final = re.compile(rf"(?:^|\n)[^\w\n]{{0,20}}(?:{COPIED.join_patterns('announcing_sources')})\s*[.!]+(?=\s)")
_RULE_BREAKING: Final = compile_words("rule_breaking", source=COPIED)
_TEXT_LABEL: Final = re.compile(rf"(?:{COPIED.join_patterns('text_labels')})\W*")
_WEAK_LABEL: Final = re.compile(rf"(?:{COPIED.join_patterns('weak_labels')})\W*")
_POLITENESS: Final = re.compile(rf"\W*(?:{COPIED.join_patterns('politeness')})\W*")
_ASKED_ABOUT: Final = re.compile(r"[^.!?\n]{1,120}\?\s+(?=\w)")
_TEXT_ORDER: Final = compile_words("text_orders", source=COPIED)
_TEXT_THING: Final = compile_words("text_things", source=COPIED)
_WRITTEN_ANSWER: Final = compile_words("written_answers", source=COPIED)
_GIVEN_NAME: Final = re.compile(rf"(?:{COPIED.join_patterns('given_names')})(?: \w+)?")
_SENTENCE_END: Final = re.compile(r"[.!?…\n](?=\s|$)")
_INLINE_COLON: Final = re.compile(rf"(?<![0-9])[{COLONS}](?!//)|[{COLONS}](?![0-9/])|→|(?<=\S) [–—-]+>?(?=\s)")


def find_reported_words(folded: str, foreign: Sequence[Span]) -> Iterator[Span]:
    """Yield the offsets of the text after «клиент пишет: …» or «Вот письмо. …», to the end; a colon in a span of `foreign` is ignored."""
    if _RULE_BREAKING.search(folded):
        yield Span(0, len(folded))
    for announced in (_ANNOUNCEMENT.search(folded), _ANNOUNCING_SOURCE.search(folded)):
        if announced is not None:
            yield Span(announced.end(), len(folded))
    asked = _ASKED_ABOUT.match(folded)
    if asked is not None and LETTERS.search(asked[0]) and is_instruction(folded[asked.end() :]):
        yield Span(asked.end(), len(folded))
    for said in _REPORTED_ACT.finditer(folded):  # «клиент пишет переименуйте …»: dictated, without a colon
        if STARTS_ACT.match(folded, said.end()) and is_instruction(folded[said.end() :]):
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
        return STARTS_ACT.match(rest) is not None and is_instruction(rest)
    if _WRITTEN_ANSWER.search(clause) or _WEAK_LABEL.fullmatch(clause.strip()):
        return is_instruction(rest)
    if ORDERS.search(clause) or ORDERS_FOLLOW.fullmatch(clause.strip()):
        return False
    if GREETING.match(rest):
        return True
    if RECORDS.search(clause) or not is_instruction(rest):
        return False
    if _GIVEN_NAME.fullmatch(clause.strip(" *_")):
        return True
    if POLITE.match(rest):
        return not _POLITENESS.fullmatch(clause.strip())
    first = _SENTENCE_END.split(rest, maxsplit=1)[0]
    return len(clause.split()) > MAX_ADDRESS_WORDS and is_instruction(rest if POLITE.search(rest) else first)


def _announces(clause: str, mark: str) -> bool:
    """Return whether the clause before `mark` (a colon, an arrow or a dash) announces somebody else's words."""
    reported = REPORTING.search(clause) is not None
    if mark[0] not in f"{COLONS}→":
        reported = _REPORTING_AT_END.search(clause) is not None
        return reported or (len(clause.split()) <= MAX_PHRASE_WORDS and LETTERS.search(clause) is not None)
    if _TEXT_LABEL.fullmatch(clause.strip()) or _orders_text(clause):
        return True
    if reported or _ANSWERED.search(clause) or (LETTERS.search(clause) and not OUTWARD.search(clause)):
        return True
    return _SOURCES.search(clause) is not None and not (ORDERS.search(clause) or RECORDS.search(clause))


def _orders_text(clause: str) -> bool:
    """Return whether the clause orders to work on a text («исправь ошибки», «сократи»), which then follows; not on a record."""
    if RECORDS.search(clause) or NUMBERED_RECORD.search(clause):
        return False
    return _TEXT_ORDER.search(clause) is not None or _TEXT_THING.search(clause) is not None

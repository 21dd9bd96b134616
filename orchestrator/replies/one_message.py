"""Leaves out what the reply's own lines or cards say: one message and not two."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final
from zoneinfo import ZoneInfo

from orchestrator.domain.address import Address
from orchestrator.domain.card_view import Preview, PreviewPart
from orchestrator.domain.effect import Outcome
from orchestrator.domain.outputs import MADE_CODES, DayPart, Notice, Reply, Table, Text
from orchestrator.gate.call import reminders
from orchestrator.language.date_format import When, format_calendar, format_when
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import fold
from orchestrator.sessions.turn_context import Context
from state.clock import parse_iso

_WORDS: Final = load_lexicon("restatements")
_FILLERS: Final = frozenset(_WORDS.read_words("fillers"))
_BEGINNINGS: Final = tuple(_WORDS.read_words("beginnings"))
_TELLING: Final = frozenset(_WORDS.read_words("telling"))
_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_SENTENCE_END: Final = re.compile(r"(?<=[.!…])\s+|\n+")
_SHORTENED: Final = frozenset(word for kind in ("open", "closing") for word in load_lexicon("documents").read_words("abbreviations", kind))
"""Words such as «шт.», whose full stop ends no sentence."""
_QUOTED_OR_ADDRESS: Final = re.compile(
    r"«[^«»\n]{1,300}»|“[^“”\n]{1,300}”|\"[^\"\n]{1,300}\"|[\w.%+-]{1,64}@[\w.-]{1,190}\w|\w{2,9}://[^\s()<>]{1,300}"
)
_ALWAYS_NEW: Final = re.compile(r"[?@]|://|\[\[|```")
_SHORTEST_STEM: Final = 4
_ENDING: Final = 3
"""Letters in which two forms of one word may differ."""


def drop_restatements(text: str, known: Iterable[str]) -> str:
    """Drop them at the beginning and the end; "" if nothing is left.

    A sentence that names something stays before the first new one of its line: «Удалю сделку «Ромашка». Восстановить будет нельзя».
    """
    parts = [fold(part) for part in known]
    words = frozenset().union(*map(_split_folded, parts))
    masked = _mask_known_values(text, parts)
    pieces = _split_sentences(text)
    new = [number for number, place in enumerate(pieces) if _says_more(masked[place], words)]
    if not new:
        return ""
    first = new[0]
    if first and "\n" not in text[pieces[first - 1]] and _names_something(text[pieces[first - 1]]):
        first -= 1
    return text[pieces[first].start : pieces[new[-1]].stop].strip()


def _mask_known_values(text: str, known: Sequence[str]) -> str:
    """Blank each title, address or link that a known (folded) text has; the length stays the same."""
    if _QUOTED_OR_ADDRESS.search(text) is None:
        return text
    texts = [_join_words(part) for part in known]

    def mask(match: re.Match[str]) -> str:
        value = _join_words(fold(match[0].strip('«»“”"')))
        return " " * len(match[0]) if value and any(value in part for part in texts) else match[0]

    return _QUOTED_OR_ADDRESS.sub(mask, text)


def _join_words(text: str) -> str:
    return " ".join(text.split())


def _split_sentences(text: str) -> Sequence[slice]:
    ends = [found.end() for found in _SENTENCE_END.finditer(text) if not _is_shortened(text, found)]
    return [slice(start, end) for start, end in zip([0, *ends], [*ends, len(text)], strict=True) if text[start:end].strip()]


def _is_shortened(text: str, end: re.Match[str]) -> bool:
    """In doubt nothing is cut there."""
    before = text[: end.start()]
    return "\n" not in end[0] and before.endswith(".") and fold(before.split()[-1]).strip('(«"').removesuffix(".") in _SHORTENED


def _split_folded(text: str) -> list[str]:
    return _WORD.findall(text.replace("’", "'"))


def _says_more(sentence: str, known: frozenset[str]) -> bool:
    return bool(_ALWAYS_NEW.search(sentence)) or any(not _is_familiar(word, known) for word in _split_folded(fold(sentence)))


def _names_something(sentence: str) -> bool:
    words = _WORD.findall(sentence)
    return bool(_QUOTED_OR_ADDRESS.search(sentence)) or any(word[0].isupper() or word[0].isdigit() for word in words[1:])


def _is_familiar(word: str, known: frozenset[str]) -> bool:
    if word in _TELLING:
        return False
    if word in _FILLERS or word in known:
        return True
    if any(sign.isdigit() for sign in word):
        return False
    return word.startswith(_BEGINNINGS) or any(_is_same_word(word, other) for other in known)


def _is_same_word(word: str, other: str) -> bool:
    stem = max(_SHORTEST_STEM, len(word) - _ENDING, len(other) - _ENDING)
    return min(len(word), len(other)) >= _SHORTEST_STEM and word[:stem] == other[:stem]


WAITING = "waiting-on-card"
"""The model did not know yet that a person would be asked."""


def drop_repetition(reply: Reply, context: Context, *, session: str) -> Reply:
    """Not with a list, and not for clients that fetch cards apart."""
    reminders_told = [] if session != context.actor.key else [*_list_reminder_words(context)]
    made_notices = [notice for notice in reply.notices if notice.code in MADE_CODES]
    has_table = any(isinstance(part, Table | DayPart) for part in reply.parts)
    is_apart = bool(reply.confirmations) and Address.parse(session).is_pulled
    if has_table or is_apart or not (made_notices or reply.confirmations or reminders_told):
        return reply
    known = [context.turn.text, *reminders_told, *_list_made_words(made_notices), *_list_card_words(reply, context)]
    remaining = [drop_restatements(part.text, known) for part in reply.parts if isinstance(part, Text)]
    texts = tuple(Text(text=text) for text in remaining if text)
    parts = (*texts, *(part for part in reply.parts if not isinstance(part, Text)))  # no card says what stands in documents and reports
    notices = reply.notices if texts else tuple(notice for notice in reply.notices if notice.code != WAITING)
    return reply.model_copy(update={"parts": parts, "notices": notices})


def _list_reminder_words(context: Context) -> Iterator[str]:
    """Each reminder that was set, moved or removed has a separate message with its moment and text."""
    zone, locale = context.actor.time_zone, context.actor.locale
    days = format_calendar(context.now, zone, locale=locale)
    for item in context.results:
        if not (isinstance(item, Outcome) and item.status == "succeeded" and item.method in {reminders.ADD, *reminders.CHANGES}):
            continue
        yield str(item.call.get("text") or item.method)
        if "at" in item.call:
            at = parse_iso(item.call["at"]).astimezone(ZoneInfo(zone))
            named = next((line for line in days if at.date().isoformat() in line), "")
            yield f"{format_when(When(at.date(), at, has_time=True), now=context.now, locale=locale)} {at.hour} {named}"


def _list_made_words(notices: list[Notice]) -> Iterator[str]:
    for notice in notices:
        yield from (str(notice.args.get(name) or "") for name in ("name", "title", "values", "changes", "error"))


def _list_card_words(reply: Reply, context: Context) -> Iterator[str]:
    entries = context.state.cards
    for confirmation_id in reply.confirmations:
        if confirmation_id in entries:
            preview = Preview.model_validate(entries[confirmation_id].preview or {})
            for part in (preview, *preview.items):
                yield from _list_part_words(part)


def _list_part_words(part: PreviewPart) -> Iterator[str]:
    yield f"{part.title} {part.id or ''}"
    for line in part.lines:
        yield from (line.name, line.before, line.after)

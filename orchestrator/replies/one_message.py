"""Leaves out what the reply's own lines or cards say: one message and not two."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final
from zoneinfo import ZoneInfo

from orchestrator.domain.address import Address
from orchestrator.domain.card_view import Preview, PreviewPart
from orchestrator.domain.effect import Outcome
from orchestrator.domain.outputs import MADE_CODES, DayPart, Notice, Reply, ReportPart, Table, Text
from orchestrator.gate.call import reminders
from orchestrator.language.date_format import When, format_calendar, format_when
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import fold
from orchestrator.language.word_forms import is_same_word
from orchestrator.sessions.turn_context import Context
from state.clock import parse_iso

_WORDS: Final = load_lexicon("restatements")
_FILLERS: Final = tuple(_WORDS.read_words("fillers"))
_ANNOUNCING: Final = tuple(_WORDS.read_words("announcing"))
_VERB_ENDINGS: Final = tuple(_WORDS.read_words("verb_endings"))
_TELLING: Final = frozenset(_WORDS.read_words("telling"))
_DATES: Final = load_lexicon("dates")
_WHEN: Final = re.compile("|".join(_DATES.join_patterns(key) for key in ("weekdays", "months", "near_day_patterns", "span_units")))
_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_GROUPED: Final = re.compile(r"(?<=[0-9])[ \u00a0\u202f](?=[0-9]{3}(?![0-9]))")
_SENTENCE_END: Final = re.compile(r"(?<=[.!…])\s+|\n+")
_SHORTENED: Final = frozenset(word for kind in ("open", "closing") for word in load_lexicon("documents").read_words("abbreviations", kind))
"""Words such as «шт.», whose full stop ends no sentence."""
_QUOTED_OR_ADDRESS: Final = re.compile(
    r"«[^«»\n]{1,300}»|“[^“”\n]{1,300}”|\"[^\"\n]{1,300}\"|[\w.%+-]{1,64}@[\w.-]{1,190}\w|\w{2,9}://[^\s()<>]{1,300}"
)
_ALWAYS_NEW: Final = re.compile(r"[?@]|://|\[\[|```")
_LONGEST_EMPTY: Final = 3
"""Letters of words that say nothing, unless they are names."""


class _Known:
    """What a person reads anyway, and the verbs by which the comments `announced` of the steps begin."""

    def __init__(self, texts: Iterable[str], announced: Iterable[str] = ()) -> None:
        self.texts = [_fold(text) for text in texts]
        self.words = frozenset().union(*map(_split_folded, self.texts))
        first = (word for text in announced for word in _split_folded(_fold(text))[:1])
        self.announced = frozenset(word for word in first if word.endswith(_VERB_ENDINGS))

    def has(self, word: str) -> bool:
        if word in self.words:
            return True
        return not any(sign.isdigit() for sign in word) and any(is_same_word(word, other) for other in self.words)

    def is_announcing(self, word: str) -> bool:
        return word in self.announced or word.startswith(_ANNOUNCING)


def drop_restatements(text: str, known: Iterable[str], announced: Iterable[str] = ()) -> str:
    """Drop them at the beginning and the end; "" if nothing is left.

    A sentence that names something stays before the first new one of its line: «Удалю сделку «Ромашка». Восстановить будет нельзя».
    """
    heard = _Known(known, announced)
    masked = _mask_known_values(text, heard.texts)
    pieces = _split_sentences(text)
    new = [number for number, place in enumerate(pieces) if _says_more(masked[place], heard)]
    if not new:
        return ""
    first = new[0]
    if first and "\n" not in text[pieces[first - 1]] and _names_something(text[pieces[first - 1]]):
        first -= 1
    return text[pieces[first].start : pieces[new[-1]].stop].strip()


def sounds_done(text: str, announced: Iterable[str] = ()) -> bool:
    """A sentence of it that asks nothing could be read as if a change had been made."""
    heard = _Known((), announced)
    sentences = (text[place] for place in _split_sentences(text))
    return any("?" not in one and any(map(heard.is_announcing, _split_folded(_fold(one)))) for one in sentences)


def _mask_known_values(text: str, known: Sequence[str]) -> str:
    """Blank each title, address or link that a known (folded) text has; the length stays the same."""
    if _QUOTED_OR_ADDRESS.search(text) is None:
        return text
    texts = [_join_words(part) for part in known]

    def mask(match: re.Match[str]) -> str:
        value = _join_words(_fold(match[0].strip('«»“”"')))
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


def _fold(text: str) -> str:
    return _GROUPED.sub("", fold(text))


def _split_folded(text: str) -> list[str]:
    return _WORD.findall(text.replace("’", "'"))


def _says_more(sentence: str, known: _Known) -> bool:
    """A question, a refusal, or a name, number or day that is not known; of a sentence that announces nothing, any word."""
    if _ALWAYS_NEW.search(sentence):
        return True
    words = [found[0] for found in _WORD.finditer(_GROUPED.sub("", sentence.replace("’", "'")))]
    folded = [fold(word) for word in words]
    if not _TELLING.isdisjoint(folded):
        return True
    full = [word for word in folded if len(word) > _LONGEST_EMPTY and not word.startswith(_FILLERS)]
    announces = bool(full) and known.is_announcing(full[0])
    return any(
        _is_fact(word, plain, is_first=not number) or not (announces or _is_empty(plain, known))
        for number, (word, plain) in enumerate(zip(words, folded, strict=True))
        if not known.has(plain)
    )


def _is_fact(word: str, folded: str, *, is_first: bool) -> bool:
    """A name, a number or a day."""
    if any(sign.isdigit() for sign in word) or _WHEN.fullmatch(folded):
        return True
    return word[0].isupper() and not is_first


def _is_empty(word: str, known: _Known) -> bool:
    return len(word) <= _LONGEST_EMPTY or word.startswith(_FILLERS) or known.is_announcing(word)


def _names_something(sentence: str) -> bool:
    words = _WORD.findall(sentence)
    return bool(_QUOTED_OR_ADDRESS.search(sentence)) or any(word[0].isupper() or word[0].isdigit() for word in words[1:])


WAITING = "waiting-on-card"
"""The model did not know yet that a person would be asked."""


def drop_repetition(reply: Reply, context: Context, *, session: str) -> Reply:
    """Not with a list, and not for clients that fetch cards apart."""
    announced = [step.comment for step in context.untold_steps.values()]
    reminders_told = [] if session != context.actor.key else [*_list_reminder_words(context)]
    made_notices = [notice for notice in reply.notices if notice.code in MADE_CODES]
    if bool(reply.confirmations) and Address.parse(session).is_pulled:
        return reply
    parts = reply.parts
    report_words = [*_list_report_words(parts)]
    if not (made_notices or reply.confirmations or reminders_told or report_words):
        return reply
    if not any(isinstance(part, Table | DayPart) for part in parts):
        known = [context.turn.text, *reminders_told, *report_words, *_list_made_words(made_notices), *_list_card_words(reply, context)]
        remaining = [drop_restatements(part.text, known, announced) for part in parts if isinstance(part, Text)]
        # No card says what stands in documents and reports.
        parts = (*(Text(text=text) for text in remaining if text), *(part for part in parts if not isinstance(part, Text)))
    claims = any(sounds_done(part.text, announced) for part in parts if isinstance(part, Text))
    notices = reply.notices if claims else tuple(notice for notice in reply.notices if notice.code != WAITING)
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


def _list_report_words(parts: Sequence[object]) -> Iterator[str]:
    """What stands above its numbers anyway; a file has no such lines."""
    for part in parts:
        if isinstance(part, ReportPart) and not part.is_file:
            yield from (part.answer.title, part.answer.subtitle, part.answer.filter_text)


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

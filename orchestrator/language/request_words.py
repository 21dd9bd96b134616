"""Tells a request, a question, a short answer or a wish to leave from the value for which the bot has asked."""

import re
import unicodedata
from collections.abc import Iterable
from typing import Final, Literal

from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.orders import gives_order
from orchestrator.language.text import fold

RunWords = Literal["leave", "back", "request"]
"""End the run, go a question back, or a new request."""
_LONGEST: Final = 60
_ANSWER_WORD: Final = re.compile(r"\w+")
_ANSWERS: Final = load_lexicon("answers")
_LEAVE, _BACK, _BESIDE = (f"(?:{_ANSWERS.join_patterns('run', name)})" for name in ("leave", "back", "beside"))
_LEAVES: Final = re.compile(rf"(?:{_BESIDE} )*{_LEAVE}(?: (?:{_BESIDE}|{_LEAVE}))*")
_GOES_BACK: Final = re.compile(rf"(?:{_BESIDE} )*{_BACK}(?: {_BESIDE})*")


def read_run_words(text: str) -> RunWords | None:
    """None if the text is an answer, as all in quotation marks is."""
    words = normalize_words(text)
    if not is_quoted(text) and len(words) <= _LONGEST:
        if _LEAVES.fullmatch(words):
            return "leave"
        if _GOES_BACK.fullmatch(words):
            return "back"
    return "request" if asks_the_bot(text) else None


def read_other_words(text: str, own: Iterable[str]) -> RunWords | None:
    """None also for words to which the question's author gives a meaning (`own`)."""
    meant = read_run_words(text)
    return meant if meant is not None and normalize_words(text) not in map(normalize_words, own) else None


def normalize_words(text: str) -> str:
    """«✖ Отменить» is «отменить»."""
    return " ".join(_ANSWER_WORD.findall(fold(text[: 4 * _LONGEST])))


LONGEST: Final = 100
_SHORTEST_NAME: Final = 3
_ENDING: Final = 2
_POSITIONS: Final = load_lexicon("positions")
_ORDINALS: Final = "|".join(pattern for language in ("ru", "en") for pattern in _POSITIONS.read_table("ordinals", language).values())
_SHORT_ANSWERS: Final = load_lexicon("short_answers")
_CLOSING: Final = re.compile(_SHORT_ANSWERS.join_patterns("closing"))
_MOMENTS: Final = _SHORT_ANSWERS.join_patterns("moments")
_POINTING: Final = re.compile(
    rf"{_SHORT_ANSWERS.join_patterns('pointing')}|{_MOMENTS}|{_ORDINALS}|[#№]?[0-9][0-9.:,/-]*(?:st|nd|rd|th|-?\w{{1,2}})?"
)
_MOMENT: Final = re.compile(rf"{_MOMENTS}|[0-9]{{1,2}}(?:[:.][0-9]{{2}})?")
_ADJUSTING: Final = re.compile(_SHORT_ANSWERS.join_patterns("adjusting"))
_WORD: Final = re.compile(r"[#№]?\w(?:[\w.:,/-]*\w)?")
_HARMLESS_SIGNS: Final = frozenset({"№", *_SHORT_ANSWERS.read_words("agreeing")})


def is_pointing(text: str, question: str, titles: Iterable[str] = ()) -> bool:
    """It may use words of the `question` and of the `titles` shown, but for verbs and refusals."""
    folded = fold(text)
    if len(folded) > LONGEST or "?" in folded or any(unicodedata.category(sign) == "So" and sign not in _HARMLESS_SIGNS for sign in folded):
        return False
    known_words = {word for text in (question, *titles) for word in _WORD.findall(fold(text)) if len(word) >= _SHORTEST_NAME}
    names = {word for word in known_words if not _CLOSING.fullmatch(word)}
    words = _WORD.findall(folded)
    return bool(words) and all(_POINTING.fullmatch(word) or _is_name(word, names) for word in words)


def is_new_moment(text: str) -> bool:
    """It says a day or hour and nothing else: «нет, давай в 10:15», «и в понедельник тоже»."""
    folded = fold(text)
    if len(folded) > LONGEST or "?" in folded:
        return False
    words = _WORD.findall(folded)
    return any(map(_MOMENT.fullmatch, words)) and all(_POINTING.fullmatch(word) or _ADJUSTING.fullmatch(word) for word in words)


def _is_name(word: str, names: set[str]) -> bool:
    stem = word[: max(_SHORTEST_NAME, len(word) - _ENDING)]
    return len(word) >= _SHORTEST_NAME and any(name.startswith(stem) and abs(len(name) - len(word)) <= _ENDING for name in names)


_WORDS: Final = load_lexicon("requests")
_BEFORE: Final = rf"(?:(?:{_WORDS.join_patterns('before_request')})[,.!]? )*"
_TO_SEVERAL: Final = load_lexicon("orders").join_patterns("plural_ending")
_ORDERS: Final = rf"(?:{_WORDS.join_patterns('request_orders')})"
_ORDER: Final = re.compile(rf"{_BEFORE}{_ORDERS}(?!\w)")
_OPENING: Final = re.compile(rf"{_BEFORE}(?:{_ORDERS}(?:{_TO_SEVERAL})?|{_WORDS.join_patterns('request_opens')})(?!\w)")
_UNREAD_OPENING: Final = re.compile(rf"{_BEFORE}(?:{_WORDS.join_patterns('request_opens_unread')})(?!\w)")
_GREETING: Final = re.compile(rf"(?:{_WORDS.join_patterns('greetings')})(?!\w)")
_GREETED: Final = re.compile(rf"^{_GREETING.pattern}[^,.!\n]{{0,20}}[,.!\n]+\s*")
_SUBJECT: Final = re.compile(rf"(?<!\w)(?:{_WORDS.join_patterns('request_subjects')})")
_ASKS_FOR_OWN: Final = re.compile(rf"(?<!\w)(?:{_WORDS.join_patterns('asks_for_own')})(?!\w)")
_CALLS_OWN: Final = re.compile(
    rf"(?<!\w)(?:{_WORDS.join_patterns('calls_own')})\s+(?:\w+\s+){{0,2}}(?:{_WORDS.join_patterns('request_subjects')})"
)
_SPEAKER: Final = re.compile(rf"(?<!\w)(?:{_WORDS.join_patterns('speaker')})(?!\w)")
_BEFORE_VALUE: Final = re.compile(rf"(?:(?:{_ANSWERS.join_patterns('value', 'before')})(?:[,:.!]|(?=\s))\s*)+")
_AFTER_VALUE: Final = re.compile(rf"(?:[,.!]?\s*(?<!\w)(?:{_ANSWERS.join_patterns('value', 'after')})[.!]*)+$")
_QUOTED: Final = re.compile(r"«[^«»]+»|\"[^\"]+\"|“[^“”]+”")


def may_be_request(text: str) -> bool:
    """For answers from which no value could be read."""
    folded = fold(text).strip()
    if is_quoted(text) or not folded:
        return False
    return folded.endswith("?") or any(one.match(folded) is not None for one in (_OPENING, _UNREAD_OPENING, _GREETING))


def is_clear_request(text: str) -> bool:
    """It begins like a request and speaks of the CRM, as hardly a name or a comment does. «пришли мне счёт» may be for a colleague."""
    folded = fold(text).strip()
    return not is_quoted(text) and _OPENING.match(folded) is not None and _SUBJECT.search(folded) is not None


def is_no_value(text: str) -> bool:
    """A greeting or a request, even if it contains a value: «напомни мне завтра»."""
    folded = fold(text).strip()
    if is_quoted(text):
        return False
    if _GREETING.match(folded) is not None or is_clear_request(text):
        return True
    return _OPENING.match(folded) is not None and (folded.endswith("?") or _SPEAKER.search(folded) is not None)


def asks_the_bot(text: str) -> bool:
    """It can hardly answer a question of a run: «сколько у меня сделок?», but not «Позвонить клиенту»."""
    if is_quoted(text):
        return False
    folded = _GREETED.sub("", fold(text).strip(), count=1)
    asks = folded.endswith("?")
    if _ORDER.match(folded) or is_clear_request(folded) or (_OPENING.match(folded) and (asks or _SPEAKER.search(folded))):
        return True
    return _SUBJECT.search(folded) is not None and (asks or gives_order(text))


def strip_value_words(text: str) -> str:
    """«нет, лучше 450 000, спасибо» becomes «450 000»; unchanged if nothing would be left."""
    folded = fold(text)
    lead, thanks = _BEFORE_VALUE.match(folded), _AFTER_VALUE.search(folded)
    start = lead.end() if lead is not None else 0
    rest = text[start : thanks.start() if thanks is not None else None].strip()
    return rest or text


def is_quoted(text: str) -> bool:
    """All in one pair of quotation marks, so it is meant as it is written."""
    return _QUOTED.fullmatch(text.strip()) is not None


def asks_for_own(text: str) -> bool:
    return _ASKS_FOR_OWN.search(fold(text)) is not None


def calls_own(text: str) -> bool:
    """It says that the records are the person's: «ваши открытые сделки»."""
    return _CALLS_OWN.search(fold(text)) is not None

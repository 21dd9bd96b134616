"""Tells a request or a question to the bot from the value for which the bot has asked."""

import re
from typing import Final

from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.orders import gives_order
from orchestrator.language.text import fold

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
_SPEAKER: Final = re.compile(rf"(?<!\w)(?:{_WORDS.join_patterns('speaker')})(?!\w)")
_ANSWERS: Final = load_lexicon("answers")
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

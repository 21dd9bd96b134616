"""Recognizes that a text is a request or a question to the bot, and not the value (a day, a sum, a name) for which the bot has asked.

It looks mostly at the first words.
"""

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
"""A greeting, with the sign behind it: what follows is what is said."""
_SUBJECT: Final = re.compile(rf"(?<!\w)(?:{_WORDS.join_patterns('request_subjects')})")
_SPEAKER: Final = re.compile(rf"(?<!\w)(?:{_WORDS.join_patterns('speaker')})(?!\w)")
_ANSWERS: Final = load_lexicon("answers")
_BEFORE_VALUE: Final = re.compile(rf"(?:(?:{_ANSWERS.join_patterns('value', 'before')})(?:[,:.!]|(?=\s))\s*)+")
_AFTER_VALUE: Final = re.compile(rf"(?:[,.!]?\s*(?<!\w)(?:{_ANSWERS.join_patterns('value', 'after')})[.!]*)+$")
_QUOTED: Final = re.compile(r"«[^«»]+»|\"[^\"]+\"|“[^“”]+”")


def may_be_request(text: str) -> bool:
    """Return whether the text begins like a request or a question, or ends like one.

    It is meant for answers to the bot from which no value (a day, a sum, a name) could be read.
    """
    said = fold(text).strip()
    if is_quoted(text) or not said:
        return False
    return said.endswith("?") or any(one.match(said) is not None for one in (_OPENING, _UNREAD_OPENING, _GREETING))


def is_clear_request(text: str) -> bool:
    """Return whether the text begins like a request and speaks of records of the CRM, as hardly a name or a comment does.

    For «сколько у меня сделок?», a question to the bot, the result is True. For «пришли мне счёт», which may be a message to a colleague,
    it is False.
    """
    said = fold(text).strip()
    return not is_quoted(text) and _OPENING.match(said) is not None and _SUBJECT.search(said) is not None


def is_no_value(text: str) -> bool:
    """Return whether the text is a greeting or a request, and so no day, sum or name, even if it contains one: «напомни мне завтра»."""
    said = fold(text).strip()
    if is_quoted(text):
        return False
    if _GREETING.match(said) is not None or is_clear_request(text):
        return True
    return _OPENING.match(said) is not None and (said.endswith("?") or _SPEAKER.search(said) is not None)


def asks_the_bot(text: str) -> bool:
    """Return whether the text can hardly be the answer to a question of a run: it asks or orders something of the bot.

    «покажи Ромашку», «сколько у меня сделок?» and «подними сделку 481 на 10%» do. «Пришлите КП» and «Позвонить клиенту» do not: a person
    may say so of a customer, or to describe a task.
    """
    if is_quoted(text):
        return False
    said = _GREETED.sub("", fold(text).strip(), count=1)
    asks = said.endswith("?")
    if _ORDER.match(said) or is_clear_request(said) or (_OPENING.match(said) and (asks or _SPEAKER.search(said))):
        return True
    return _SUBJECT.search(said) is not None and (asks or gives_order(text))


def strip_value_words(text: str) -> str:
    """Return the text without the words that people say before and after a value: «нет, лучше 450 000, спасибо» becomes «450 000».

    If nothing would be left, the text is returned unchanged.
    """
    said = fold(text)
    lead, thanks = _BEFORE_VALUE.match(said), _AFTER_VALUE.search(said)
    start = lead.end() if lead is not None else 0
    rest = text[start : thanks.start() if thanks is not None else None].strip()
    return rest or text


def is_quoted(text: str) -> bool:
    """Return whether the whole text stands in one pair of quotation marks, so that it is meant as it is written."""
    return _QUOTED.fullmatch(text.strip()) is not None

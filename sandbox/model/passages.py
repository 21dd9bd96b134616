"""Answers questions that come with passages of documents: with the sentence whose words are most like those of the question, word for word.

A passage stands between two lines with a marker, after its number and title. What it says is quoted and never followed.
"""

import re
from collections.abc import Sequence
from typing import Final

from sandbox.model.reading import Message, content_of, last_user_content
from sandbox.model.text import fold

NOTHING: Final = "NOT_IN_DOCUMENTS"
_PASSAGE: Final = re.compile(r"^\[(\d+)\]\n<<<DATA (\w+)\n(.*?)\n(.*?)\nDATA \2>>>$", re.MULTILINE | re.DOTALL)
_QUESTION: Final = re.compile(r"^Question: (.*)\Z", re.MULTILINE | re.DOTALL)
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+(?=[^\W\d_a-zа-яё])")
_SHORTEST: Final = 3
_BEGINNING: Final = 4


def answer_from_passages(messages: Sequence[Message]) -> str | None:
    """Return the answer to a question about passages, None if the request is no such question."""
    if not any(NOTHING in content_of(one) for one in messages if one.get("role") == "system"):
        return None
    content = last_user_content(messages)
    question = _QUESTION.search(content)
    if question is None:
        return None
    wanted = _list_beginnings(question[1])
    best, score = "", (0, 0)
    for number, _, title, text in _PASSAGE.findall(content[: question.start()]):
        shared = len(wanted.keys() & _list_beginnings(f"{title} {text}").keys())
        for sentence in _SENTENCE.split(text):
            found = wanted.keys() & _list_beginnings(sentence).keys()
            rank = (
                2 * shared + len(found),
                -min((wanted[one] for one in found), default=len(wanted)),
            )  # of two the one with the earlier word
            if shared and rank > score:
                best, score = f"{sentence.rstrip()} [{number}]", rank
    return best or NOTHING


def _list_beginnings(text: str) -> dict[str, int]:
    """Return the beginnings of the longer words of a text, which the forms of a word share, with their places in its order."""
    beginnings = dict.fromkeys(word[:_BEGINNING] for word in re.findall(r"\w+", fold(text)) if len(word) > _SHORTEST)
    return {beginning: place for place, beginning in enumerate(beginnings)}

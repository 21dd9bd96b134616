"""Rules for questions about the company's documents in an ordinary conversation; the words are in lexicon/documents.yaml."""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Final

from sandbox.model.answers import Answer, Step, say
from sandbox.model.lexicon import load
from sandbox.model.reading import Observation, Request
from sandbox.model.rules.base import Follower, Handler, asking, proposing
from sandbox.model.text import fold, mask, quotes
from sandbox.model.wishes import Wish

RULE: Final = "documents.ask"
_METHOD: Final = "ask_documents"
_LONGEST: Final = 500
_FEWEST_LETTERS: Final = 4


def ask(wish: Wish) -> Answer | None:
    """Propose to look up in the documents what the person asks about them; asks what, if there is nothing but where to look.

    Return None if the message is work in the CRM.
    """
    question = find_question(wish.said or wish.text)
    if question is None:
        return None
    if not question:
        return asking("which.question", wish)
    step = Step(_METHOD, {"question": question}, comment=say("comment.documents", wish.lang))
    return proposing(wish, RULE, step)


def find_question(text: str) -> str | None:
    """Return what a text asks the documents, without the words that only say where to look.

    This is "" if there are no other words, and None if the text asks the documents nothing.
    """
    unquoted = mask(text, quotes(text))
    folded = fold(unquoted)
    if any(one.search(folded) for one in _list_patterns("work")) or _compile("named").search(unquoted):
        return None
    place = next((found for one in _list_patterns("place") if (found := one.search(folded))), None)
    if place is None and not any(one.search(folded) for one in _list_patterns("subject")):
        return None
    rest = _strip_edges(f"{text[: place.start()]} {text[place.end() :]}" if place else text)
    return rest[:_LONGEST] if sum(map(str.isalpha, rest)) >= _FEWEST_LETTERS else ""


def restore_question(request: Request) -> Request:
    """Return the request with the question about documents that it goes on with («а для новых клиентов?»), otherwise unchanged.

    Messages of that sort that came before it are passed over.
    """
    if not _goes_on(request.text):
        return request
    before = next((one for one in request.asked_earlier if not _goes_on(one)), "")
    if not find_question(before):
        return request
    return replace(request, text=f"{_strip_edges(request.text)}, {before.rstrip(' .!?')}?")


def _goes_on(text: str) -> bool:
    folded = fold(text)
    is_plain = not _compile("not_follow").search(folded) and not _compile("name").search(text.strip())
    return is_plain and bool(_compile("follow").search(folded)) and find_question(text) is None


def _strip_edges(text: str) -> str:
    one_line = re.sub(r"\s+([,.?!])", r"\1", re.sub(r"\s+", " ", text).strip())
    folded = fold(one_line)
    cuts = [(found.start(), found.end()) for found in _compile("edges").finditer(folded)]
    start = next((end for begin, end in cuts if begin == 0), 0)
    end = next((begin for begin, end in cuts if end == len(folded) and begin >= start), len(folded))
    return one_line[start:end]


@cache
def _list_patterns(group: str) -> tuple[re.Pattern[str], ...]:
    return tuple(_build(pattern) for pattern in load("documents")[group])


@cache
def _compile(name: str) -> re.Pattern[str]:
    return _build(load("documents")[name])


def _build(pattern: str) -> re.Pattern[str]:
    """Return the compiled pattern with the lines of `words` in place of their names, which may hold further names."""
    words: Mapping[str, str] = load("documents")["words"]
    while (filled := re.sub(r"<(\w+)>", lambda found: words[found[1]], pattern)) != pattern:
        pattern = filled
    return re.compile(pattern)


def _leave_to_report(_wish: Wish, _seen: Observation) -> Answer | None:
    """Propose nothing further: what the documents say is reported, and the next wish of the message begins."""
    return None


def report_answer(text: str) -> str:
    """Return the answer in the observed text of the step, without the passages and the list of titles, which code shows below it."""
    answer = text.partition("\n\n1. ")[0]
    return "\n".join(line for line in answer.splitlines() if line.strip() and not _compile("sources").match(line))


HANDLERS: dict[str, Handler] = {RULE: ask}
FOLLOWERS: dict[str, Follower] = {RULE: _leave_to_report}

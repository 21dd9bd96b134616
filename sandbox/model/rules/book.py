"""The rule book: connects the patterns of lexicon/rules.yaml with the handlers. The first matching rule whose handler answers is used."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from sandbox.model.answers import Answer
from sandbox.model.groups import Grouping, find_grouping
from sandbox.model.lexicon import load
from sandbox.model.rules import (
    changes,
    creating,
    days,
    deals,
    documents,
    events,
    handover,
    lists,
    many,
    orders,
    people,
    reminders,
    talk,
    tasks,
)
from sandbox.model.rules.base import Follower, Handler
from sandbox.model.wishes import Wish

_THEMES = (talk, documents, events, days, deals, many, handover, orders, reminders, tasks, creating, changes, lists, people)
HANDLERS: dict[str, Handler] = {name: handler for theme in _THEMES for name, handler in theme.HANDLERS.items()}
FOLLOWERS: dict[str, Follower] = {**changes.FOLLOWERS, **documents.FOLLOWERS, **handover.FOLLOWERS}


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: its name, the patterns that must occur in a message, and those that must not."""

    name: str
    needs: tuple[re.Pattern[str], ...]
    forbids: tuple[re.Pattern[str], ...]

    def fits(self, folded: str) -> bool:
        """Return whether a text, as `fold` spells it (lower case, ё as е), contains every pattern in `needs` and none in `forbids`."""
        return all(p.search(folded) for p in self.needs) and not any(p.search(folded) for p in self.forbids)


@cache
def rules() -> tuple[Rule, ...]:
    """Return the compiled rules of the book; the result is cached. Raises KeyError for a rule without a handler.

    A pattern may contain a name in angle brackets, such as `<deal>`, which stands for a regular expression under `words` in the book.
    KeyError is also raised if there is none of that name.
    """
    book = load("rules")
    words: dict[str, str] = book["words"]
    compiled = []
    for line in book["rules"]:
        HANDLERS[line["name"]]
        needs, forbids = (tuple(_compile(p, words) for p in line.get(part, ())) for part in ("all", "none"))
        compiled.append(Rule(name=line["name"], needs=needs, forbids=forbids))
    return tuple(compiled)


def _compile(pattern: str, words: dict[str, str]) -> re.Pattern[str]:
    return re.compile(re.sub(r"<(\w+)>", lambda found: f"(?:{words[found[1]]})", pattern))


def matching(wish: Wish) -> Iterator[tuple[str, Answer]]:
    """Yield the rules that answer the wish, in the order of the book, as pairs of rule name and answer."""
    folded = wish.folded.strip()
    for rule in rules():
        if rule.fits(folded):
            answer = HANDLERS[rule.name](wish)
            if answer is not None:
                yield rule.name, answer.named(rule.name)


def first(wish: Wish) -> Answer | None:
    """Return the answer of the first rule in the book that answers the wish, or None.

    If the wish asks for a list counted by a field, the rules see it without the words for that.
    """
    grouping = find_grouping(wish.text)
    grouped = _find_grouped(wish, grouping, grouping.rest) if grouping else None
    answer = grouped or _find_answer(wish)
    if grouping and answer is None:
        # «лиды по статусам» names a list, but no verb.
        answer = _find_grouped(wish, grouping, f"{load('groups')['show'][wish.lang]} {grouping.rest}")
    return answer


def _find_grouped(wish: Wish, grouping: Grouping, rest: str) -> Answer | None:
    counted = _find_answer(replace(wish, text=rest))
    return lists.group(counted, grouping, wish) if counted else None


def _find_answer(wish: Wish) -> Answer | None:
    return next((answer for _, answer in matching(wish)), None)

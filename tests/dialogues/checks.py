"""Compares what came of a dialogue with what its file expects."""

import re
from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Any, Final

from tests.dialogues.player import Played, PlayedTurn

_CODES: Final = re.compile(
    r"\b(?:crm|tasks|task|calendar|im|catalog|user|reminder|history|method)\.[a-z]+\.?[a-zA-Z.]*\b|\b[A-Z]{2,}_[A-Z_\d]+\b|@[a-z]+:|\bUF_|\[\[|\bNone\b"
)
"""Words of the program that no person should read."""
WARNING: Final = "⚠️"


def list_problems(played: Played) -> list[str]:
    """Return what is wrong with a dialogue, each with the turn that it is about; [] if it went as it should."""
    found: list[str] = []
    for number, turn in enumerate(played.turns, start=1):
        said = turn.turn.say or f"[{turn.turn.press}]"
        cards = list_cards(played, number)
        found += [f"turn {number} «{said}»: {problem}" for problem in (*turn.problems, *_check_turn(turn, cards))]
    return found


def list_cards(played: Played, number: int) -> set[str]:
    """Return the cards to which the request of a turn led, with the presses that follow it; one that was replaced is no card any more."""
    turns = [played.turns[number - 1], *takewhile(lambda one: not one.turn.say, played.turns[number:])]
    return set[str]().union(*(one.cards for one in turns)).difference(*(one.replaced for one in turns))


def _check_turn(played: PlayedTurn, cards: set[str]) -> Iterator[str]:
    turn = played.turn
    if turn.say and len(cards) != (turn.cards or 0):
        yield f"{len(cards)} cards, not {turn.cards or 0}"
    yield from _check_records(played)
    for call in turn.sends:
        if not any(method == call.method and _holds(params, call.params) for method, params in played.sent):
            yield f"{call.method} {dict(call.params)} was not sent, but {[line for line in played.sent if line[0] == call.method]}"
    yield from (f"«{phrase}» was not shown" for phrase in turn.shows if phrase not in played.text)
    yield from (f"«{phrase}» was shown" for phrase in turn.hides if phrase in played.text)
    yield from list_noise(played)


def _check_records(played: PlayedTurn) -> Iterator[str]:
    expected = played.turn.after
    for record in sorted(played.changed.keys() | expected.keys()):
        if record not in expected:
            yield f"{record} was changed, which the dialogue does not allow: {played.changed[record]}"
        elif record not in played.changed:
            yield f"{record} was not changed"
        elif not _holds(played.changed[record], expected[record]):
            yield f"{record} should hold {expected[record]}, not {played.changed[record]}"


def list_noise(played: PlayedTurn) -> Iterator[str]:
    """Yield what a person should not have to read: words of the program, and warnings where nothing went wrong."""
    yield from (f"a code word was shown: {word}" for word in sorted(set(_CODES.findall(played.text))))
    if WARNING in played.text and not played.turn.warns:
        yield f"a warning was shown: {next(line for line in played.text.splitlines() if WARNING in line)}"


def _holds(found: Any, wanted: Any) -> bool:
    """Return whether a record or the params of a call have the wanted values; numbers and their texts are the same."""
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(_holds(found.get(key), value) for key, value in wanted.items())
    if isinstance(wanted, list):
        return isinstance(found, list) and len(found) == len(wanted) and all(map(_holds, found, wanted))
    if isinstance(wanted, int | float) and not isinstance(wanted, bool):
        return str(found).replace(".", "", 1).lstrip("-").isdecimal() and float(found) == wanted
    return str(found) == str(wanted)

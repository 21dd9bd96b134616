"""What two people made of one document is merged by names; only where both changed one thing somebody must choose."""

import copy
import random
from pathlib import Path
from typing import Any

import pytest

from orchestrator.documents.changing import ABSENT
from orchestrator.documents.merging import Conflict, merge
from orchestrator.documents.reading import read_document
from tests.unit.documents.test_keeping import FILES, change_at_random

BASE = {
    "name": "Приём",
    "steps": [
        {"id": "ask", "type": "input", "params": {"text": "Сколько?", "min": 1}},
        {"id": "thank", "type": "message", "params": {"text": "Спасибо"}},
        {"id": "end", "type": "end"},
    ],
    "runes": [{"runeType": "prompt", "template": "a"}, {"runeType": "prompt", "template": "b"}],
    "tags": ["продажи"],
}


def change(*path: str | int, to: Any = ABSENT, of: Any = BASE) -> Any:
    """The document with another value at one place, or without it; a new element where the index is the length."""
    data = copy.deepcopy(of)
    place = data
    for part in path[:-1]:
        place = place[part]
    if to is ABSENT:
        del place[path[-1]]
    elif isinstance(place, list) and path[-1] == len(place):
        place.append(to)
    else:
        place[path[-1]] = to
    return data


def test_changes_of_two_places_are_both_taken_and_told() -> None:
    mine, theirs = change("name", to="Приём заявки"), change("steps", 0, "params", "text", to="Почём?")
    merged = merge(BASE, mine, theirs)
    assert merged.data == change("name", to="Приём заявки", of=theirs)
    assert (merged.mine, merged.theirs, merged.conflicts) == ((("name",),), (("steps", "ask", "params", "text"),), ())


def test_steps_are_told_by_their_names_wherever_they_stand() -> None:
    """One puts a step before the others and removes one, the other moves them and changes one."""
    mine = copy.deepcopy(BASE)
    mine["steps"] = [{"id": "hello", "type": "message"}, *mine["steps"][:1], mine["steps"][2]]  # type: ignore[index]
    theirs = change("steps", 0, "params", "min", to=5)
    theirs["steps"].reverse()
    merged = merge(BASE, mine, theirs)
    assert [one["id"] for one in merged.data["steps"]] == ["hello", "end", "ask"]  # type: ignore[index]
    assert merged.data["steps"][2]["params"]["min"] == 5  # type: ignore[index]
    assert merged.conflicts == ()
    assert ("steps", "thank") in merged.mine
    assert set(merged.theirs) == {("steps",), ("steps", "ask", "params", "min")}


def test_one_value_that_both_changed_is_chosen_by_place() -> None:
    mine = change("steps", 1, "params", "text", to="Моё", of=change("name", to="М"))
    theirs = change("steps", 1, "params", "text", to="Их", of=change("name", to="Т"))
    merged = merge(BASE, mine, theirs)
    text = Conflict(place=("steps", "thank", "params", "text"), mine="Моё", theirs="Их")
    assert merged.conflicts == (Conflict(place=("name",), mine="М", theirs="Т"), text)
    assert merged.data == mine
    assert merge(BASE, mine, theirs, {(text.place, False)}).data == change("steps", 1, "params", "text", to="Их", of=mine)


def test_a_step_that_one_removed_and_the_other_changed_is_chosen() -> None:
    mine, theirs = change("steps", 1), change("steps", 1, "params", "text", to="Их")
    merged = merge(BASE, mine, theirs)
    assert merged.conflicts == (Conflict(place=("steps", "thank"), mine=ABSENT, theirs=theirs["steps"][1]),)
    assert merged.data == mine
    assert merge(BASE, mine, theirs, {(("steps", "thank"), False)}).data == theirs


def test_two_orders_are_a_choice_of_orders() -> None:
    mine, theirs = copy.deepcopy(BASE), copy.deepcopy(BASE)
    mine["steps"].reverse()  # type: ignore[attr-defined]
    theirs["steps"].insert(0, theirs["steps"].pop(1))  # type: ignore[attr-defined]
    merged = merge(BASE, mine, theirs)
    order = Conflict(place=("steps",), mine=["end", "thank", "ask"], theirs=["thank", "ask", "end"], is_order=True)
    assert merged.conflicts == (order,)
    assert (merged.data, merge(BASE, mine, theirs, {(("steps",), True)}).data) == (mine, theirs)


def test_elements_without_names_are_told_by_place_only_while_none_moves() -> None:
    mine, theirs = change("runes", 0, "template", to="A"), change("runes", 1, "template", to="B")
    assert [one["template"] for one in merge(BASE, mine, theirs).data["runes"]] == ["A", "B"]  # type: ignore[index]
    mine["runes"].reverse()
    theirs["runes"].append({"runeType": "query"})
    assert [one.place for one in merge(BASE, mine, theirs).conflicts] == [("runes",)]
    swapped = change("runes", to=[BASE["runes"][1], BASE["runes"][0]])
    assert [one.place for one in merge(BASE, swapped, change("runes", 0, "template", to="C")).conflicts] == [("runes",)]


def test_the_same_change_of_both_is_no_question_and_true_is_not_one() -> None:
    same = change("tags", to=["продажи", "срочно"])
    assert merge(BASE, same, copy.deepcopy(same)).conflicts == ()
    assert merge({"a": 0}, {"a": 1}, {"a": True}).conflicts == (Conflict(place=("a",), mine=1, theirs=True),)
    assert merge(BASE, change("steps", 3, to={"id": "x", "type": "a"}), change("steps", 3, to={"id": "x", "type": "b"})).conflicts == (
        Conflict(place=("steps", "x", "type"), mine="a", theirs="b"),
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_of_random_changes_nothing_is_lost(path: Path) -> None:
    """With one side unchanged the other one's comes out, and who is «mine» changes neither the questions nor what each of both brought."""
    base, choice = read_document(path.read_text(encoding="utf-8")).require_document().data, random.Random(path.stem)  # noqa: S311
    for _ in range(8):
        mine, theirs = change_at_random(choice, base), change_at_random(choice, base)
        assert merge(base, mine, base).data == mine
        assert merge(base, base, theirs).data == theirs
        merged = merge(base, mine, theirs)
        given_up = {(one.place, one.is_order) for one in merged.conflicts}
        other = merge(base, theirs, mine)
        assert {(one.place, one.is_order) for one in other.conflicts} == given_up
        assert (set(other.theirs), set(other.mine)) == (set(merged.mine), set(merged.theirs))

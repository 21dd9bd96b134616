"""Of every writing method: values that mean nothing are refused before a card, and no value that the portal accepts is."""

import copy
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from bot.i18n.translate import Translator
from orchestrator.domain.actor import Actor
from orchestrator.gate.call.effect import Call, Facts, Refuse
from orchestrator.gate.call.params import Refusal
from orchestrator.gate.decide.fetch_facts import fetch_facts
from orchestrator.gate.decide.value_checks import find_value_problem
from orchestrator.gate.normalize.merge_multifields import merge_multifields
from tests.unit.gate.gate_kit import ROOT, call, effect, made
from tests.unit.gate.reading_kit import SPEAKER, load_calls, open_portal
from tests.unit.gate.sandbox_kit import Desk
from tests.unit.spine_kit import NOW

ENGLISH = SPEAKER["en"]
_REPRESENTATION: Final = re.compile(r"\[['0-9]|\{'")
"""A value as the program writes it, not as people do."""


def load_values(name: str) -> list[tuple[str, str, Any]]:
    """Return (method, path, value) of each row of a list in tests/corpus."""
    rows: Mapping[str, list[tuple[str, Any]]] = yaml.safe_load((ROOT / f"tests/corpus/{name}.yaml").read_text(encoding="utf-8"))
    return [(method, path, value) for method, pairs in rows.items() for path, value in pairs]


BAD, HONEST = load_values("meaningless_values"), load_values("honest_values")


@pytest.fixture
async def portal(tmp_path: Path) -> AsyncIterator[Desk]:
    """One portal for all values: nothing is sent to it that changes anything."""
    async with open_portal(tmp_path) as desk:
        yield desk


def put(params: Mapping[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy of `params` with another value at `path`."""
    whole = copy.deepcopy(dict(params))
    *heads, last = path.split(".")
    place = whole
    for head in heads:
        place = place[head]
    place[last] = value
    return whole


async def judge(desk: Desk, method: str, params: dict[str, Any], actor: Actor = SPEAKER["ru"]) -> Refuse | None:
    """The refusal of a value; the names of fields and the rights are left to other tests."""
    wish = effect(method, params)
    given = made(wish, actor=actor)
    if isinstance(given, Refuse):
        return given
    facts = replace(await fetch_facts(given, actor, desk.world.gate.deps), today=NOW.date())
    try:
        return find_value_problem(merge_multifields(given, facts), facts=facts, actor=actor, effect=wish)
    except Refusal as refusal:
        return refusal.verdict


@pytest.mark.long
@pytest.mark.req("S004-24")
@pytest.mark.parametrize("locale", ["ru", "en"])
async def test_a_value_that_means_nothing_is_refused_whatever_the_method(portal: Desk, locale: str) -> None:
    """Seen: 100 of 153 such values came to a card. The person reads a whole sentence, the model the parameter and the form to write."""
    assert (len(BAD) >= 120, len({method for method, _, _ in BAD}) >= 40) == (True, True)
    actor = SPEAKER["ru" if locale == "ru" else "en"]
    wrong = []
    for method, path, value in BAD:
        found = await judge(portal, method, put(load_calls()[method], path, value), actor)
        code = found.reason.code if found is not None else "none"
        if found is None or not code.startswith("gate-value-"):
            wrong.append((method, path, value, code))
            continue
        told = Translator(actor.locale).translate_notice(found.reason)
        if code in told or "{ $" in told or _REPRESENTATION.search(told) or not found.detail:
            wrong.append((method, path, value, told))
    assert wrong == []


@pytest.mark.long
@pytest.mark.req("S004-24")
async def test_no_value_that_the_portal_accepts_is_refused(portal: Desk) -> None:
    """Numbers as text, days with and without a zone, an empty text that clears a field, phones by their IDs."""
    assert len(HONEST) >= 60
    found = [(row, await judge(portal, row[0], put(load_calls()[row[0]], row[1], row[2]))) for row in HONEST]
    assert [(row, refused.detail) for row, refused in found if refused is not None] == []


def test_no_realistic_call_is_refused_for_its_values() -> None:
    """Every write of the catalogue has one."""
    facts = Facts(today=NOW.date())
    for method, params in load_calls().items():
        wish = effect(method, dict(params))
        given = made(wish, actor=ENGLISH)
        assert isinstance(given, Call), (method, given)
        assert find_value_problem(given, facts=facts, actor=ENGLISH, effect=wish) is None, method


def test_an_end_is_compared_with_the_beginning_that_the_task_has() -> None:
    """The portal refuses such a plan; without the beginning nothing can be said."""
    written = {"taskId": 8017, "fields": {"END_DATE_PLAN": "2026-12-01T10:00:00+03:00"}}
    wish = effect("tasks.task.update", written)
    for held, expected in (("2026-12-05T10:00:00+03:00", "gate-value-order"), ("2026-11-30T10:00:00+03:00", ""), (None, "")):
        facts = Facts(records={("task", 8017): {"id": "8017", "startDatePlan": held}}, today=NOW.date())
        found = find_value_problem(call("tasks.task.update", written), facts=facts, actor=ENGLISH, effect=wish)
        assert (found.reason.code if found is not None else "") == expected


def test_a_code_is_told_as_the_portal_spells_it() -> None:
    """The model writes what it reads there; a word of the list in place of its code has a sentence of its own."""
    wish = effect("tasks.task.update", {"taskId": 8017, "fields": {"MARK": "good"}})
    found = find_value_problem(call("tasks.task.update", dict(wish.params)), facts=Facts(), actor=ENGLISH, effect=wish)
    assert (found.reason.code, "P «good»" in found.detail) == ("gate-value-word", True)

"""A canvas changes a scenario as its author would by hand."""

import copy
import random
from typing import Any

import pytest

from bot.i18n.translate import Translator
from engines.scenarios.core.authoring import build_chart
from engines.scenarios.core.deeds import ScenarioDeeds
from engines.scenarios.core.registry import load_step_types
from engines.scenarios.kind_face import SCENARIO_FACE
from orchestrator.charts.chart import Chart

TYPES = load_step_types()
DEEDS = ScenarioDeeds(TYPES)
ASK = {"id": "ask", "type": "input", "params": {"prompt": "Сколько?", "buttons": ["Да", {"text": "Нет", "value": "no"}], "timeout": 60}}


def a_document(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"name": "Проба", "steps": [dict(step) for step in steps]}


def say(step_id: str, **more: Any) -> dict[str, Any]:
    return {"id": step_id, "type": "message", "params": {"text": step_id}, **more}


def list_ways(document: object) -> set[tuple[str, str, str]]:
    """(from, by which way, to)."""
    chart = build_chart(document, TYPES)
    return {(chart.boxes[one.source].key, _name(chart, one.source, one.port), chart.boxes[one.target].key) for one in chart.arrows}


def _name(chart: Chart, box: int, port: int) -> str:
    found = chart.boxes[box].ports[port]
    return found.label or found.word.removeprefix("scenario-way-")


def find_port(document: object, key: str, name: str) -> int:
    chart = build_chart(document, TYPES)
    number = next(number for number, box in enumerate(chart.boxes) if box.key == key)
    return next(port for port in range(len(chart.boxes[number].ports)) if _name(chart, number, port) == name)


def test_every_way_out_of_a_step_is_a_port_whether_it_leads_somewhere_or_not() -> None:
    chart = build_chart(a_document(ASK), TYPES)
    assert [_name(chart, 0, port) for port in range(len(chart.boxes[0].ports))] == ["", "Да", "no", "default", "invalid", "timeout"]


@pytest.mark.parametrize("way", ["Да", "no", "default", "invalid", "timeout"])
def test_a_way_is_connected_led_elsewhere_and_taken_away(way: str) -> None:
    before = a_document(ASK, say("one"), say("two"))
    port = find_port(before, "ask", way)
    connected = DEEDS.connect(before, "ask", port, "two")
    assert ("ask", way, "two") in list_ways(connected)
    elsewhere = DEEDS.connect(connected, "ask", port, "one")
    assert list_ways(elsewhere) - list_ways(before) == {("ask", way, "one")}
    assert DEEDS.disconnect(elsewhere, "ask", port, "one") == before


def test_the_usual_way_to_the_next_step_is_not_written() -> None:
    before = a_document(say("one", next_step="three"), say("two"), say("three"))
    assert DEEDS.connect(before, "one", 0, "two") == a_document(say("one"), say("two"), say("three"))


def test_a_step_on_the_usual_way_stands_between_two() -> None:
    document, key = DEEDS.add(a_document(say("one"), say("two")), "input", "one", 0)
    assert {("one", "", key), (key, "", "two")} <= list_ways(document)


def test_a_step_on_a_jump_leads_where_the_jump_led() -> None:
    document, key = DEEDS.add(a_document(say("one", next_step="three"), say("two"), say("three")), "message", "one", 0)
    assert list_ways(document) == {("one", "", key), (key, "", "three"), ("two", "", "three")}


def test_a_step_on_another_way_leaves_the_usual_one_as_it_is() -> None:
    before = a_document(ASK, say("one"), say("two"))
    document, key = DEEDS.add(before, "message", "ask", find_port(before, "ask", "invalid"))
    assert list_ways(document) == {("ask", "", "one"), ("ask", "invalid", key), (key, "", "one"), ("one", "", "two")}


def test_a_step_without_a_place_comes_last_with_a_name_of_its_own() -> None:
    document, key = DEEDS.add(a_document(say("message_1"), say("two")), "message", "", 0)
    assert key == "message_2"
    assert list_ways(document) == {("message_1", "", "two"), ("two", "", key)}


def test_what_led_to_a_removed_step_leads_to_its_successor() -> None:
    before = a_document({**ASK, "params": {**ASK["params"], "on_invalid": "one"}}, say("one", next_step="three"), say("two"), say("three"))
    assert list_ways(DEEDS.remove(before, ["one"])) == {("ask", "invalid", "three"), ("ask", "", "three"), ("two", "", "three")}


def test_the_last_step_takes_the_ways_to_it_along() -> None:
    before = a_document(say("one"), say("two", next_step="one"), say("three"))
    assert list_ways(DEEDS.remove(DEEDS.connect(before, "one", 0, "three"), ["three"])) == {("one", "", "two"), ("two", "", "one")}


@pytest.mark.parametrize("document", [None, [], {"steps": 5}, {"steps": [None, 5, {"id": 7}, {"type": "input", "params": []}]}])
def test_a_draft_of_whatever_form_is_left_as_it_is(document: Any) -> None:
    before = copy.deepcopy(document)
    assert DEEDS.connect(document, "a", 0, "b") == before
    assert DEEDS.disconnect(document, "a", 0, "b") == before
    assert DEEDS.remove(document, ["a"]) == before


def test_random_deeds_leave_no_way_to_a_step_that_is_gone() -> None:
    choice = random.Random(7)  # noqa: S311 - a seed
    document: object = a_document(ASK, say("one"), say("two"), say("three"))
    for _ in range(300):
        chart = build_chart(document, TYPES)
        keys = [box.key for box in chart.boxes] or [""]
        source, target = choice.choice(keys), choice.choice(keys)
        deed = choice.randrange(4 if len(keys) > 3 else 1)
        if deed == 0:
            document, _ = DEEDS.add(
                document, choice.choice(["message", "input", "branch", "bitrix_call", "end"]), source, choice.randrange(3)
            )
        elif deed == 1:
            document = DEEDS.connect(document, source, choice.randrange(4), target)
        elif deed == 2:
            document = DEEDS.remove(document, [source])
        else:
            document = DEEDS.disconnect(document, source, choice.randrange(4), target)
        assert _list_lost_ways(document) == []


def _list_lost_ways(document: Any) -> list[str]:
    steps = document["steps"]
    ids = {step["id"] for step in steps}
    named = [step.get("next_step") for step in steps] + [way for step in steps for way in (step.get("branches") or {}).values()]
    for step in steps:
        params = step.get("params") or {}
        named += [params.get(name) for name in ("on_invalid", "on_timeout", "on_refused")] + list(
            (params.get("next_step_map") or {}).values()
        )
    return [name for name in named if name and name not in ids]


@pytest.mark.parametrize("locale", ["ru", "en"])
def test_every_type_and_every_way_has_a_word(locale: Any) -> None:
    say = Translator(locale).translate
    deeds = SCENARIO_FACE.steps.deeds if SCENARIO_FACE.steps is not None else None
    assert deeds is not None
    choices = deeds.list_types(say)
    assert {one.value for one in choices} == set(TYPES)
    for choice in choices:
        document, _ = DEEDS.add(a_document(), choice.value, "", 0)
        for port in build_chart(document, TYPES).boxes[0].ports:
            assert port.label or not port.word or not say(port.word).startswith("scenario-way")

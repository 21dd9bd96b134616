"""A canvas changes a flow as its author would by hand."""

import copy
import random
from typing import Any

import pytest

from bot.i18n.translate import Translator
from engines.flows.deeds import FLOW_DEEDS, add, connect, disconnect, remove
from engines.flows.kind_face import build_chart


def step(step_id: str, after: str = "", failed: str = "") -> dict[str, Any]:
    ways: dict[str, Any] = {"onSuccess": {"next": after} if after else {"complete": True}}
    if failed:
        ways["onFailure"] = {"next": failed}
    return {"id": step_id, "agentVersionId": "seller", "transitions": ways}


def a_flow(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"flowId": "one", "steps": [copy.deepcopy(one) for one in steps], **more}


def list_ways(document: object) -> set[tuple[str, int, str]]:
    chart = build_chart(document)
    return {(chart.boxes[one.source].key, one.port, chart.boxes[one.target].key or chart.boxes[one.target].title) for one in chart.arrows}


def test_choosing_a_next_step_takes_the_end_of_the_flow_away() -> None:
    before = a_flow(step("first"), step("second"))
    after = connect(before, "first", 0, "second")
    assert after == a_flow({**step("first"), "transitions": {"onSuccess": {"next": "second"}}}, step("second"))


def test_a_new_step_stands_on_the_way_and_leads_where_that_led() -> None:
    document, key = add(a_flow(step("first", "second"), step("second")), "agent", "first", 0)
    assert list_ways(document) == {("first", 0, key), (key, 0, "second"), ("second", 0, "complete")}


def test_the_way_after_a_failure_is_one_of_its_own() -> None:
    before = a_flow(step("first", "second"), step("second"))
    document = connect(before, "first", 1, "second")
    assert ("first", 1, "second") in list_ways(document)
    assert disconnect(document, "first", 1, "second") == before


def test_what_led_to_a_removed_step_leads_to_its_successor_and_the_start_too() -> None:
    before = a_flow(step("first", "second", "second"), step("second", "third"), step("third"), startStepId="second")
    after: Any = remove(before, ["second"])
    assert list_ways(after) == {("first", 0, "third"), ("first", 1, "third"), ("third", 0, "complete")}
    assert after["startStepId"] == "third"


def test_before_the_last_step_a_flow_ends_when_it_goes() -> None:
    after = remove(a_flow(step("first", "second", "second"), step("second")), ["second"])
    assert list_ways(after) == {("first", 0, "complete")}


def test_a_box_has_its_agents_name() -> None:
    chart = build_chart(a_flow(step("first")), {"seller": {"title": "Продавец"}})
    assert chart.boxes[0].text == "Продавец"


@pytest.mark.parametrize("document", [None, [], {"steps": 5}, {"steps": [None, 5, {"id": 7}, {"id": "a", "transitions": 3}]}])
def test_a_draft_of_whatever_form_is_left_as_it_is(document: Any) -> None:
    before = copy.deepcopy(document)
    assert connect(document, "z", 0, "b") == before
    assert disconnect(document, "z", 0, "b") == before
    assert remove(document, ["z"]) == before
    assert build_chart(document) is not None


def test_random_deeds_leave_no_way_to_a_step_that_is_gone() -> None:
    choice = random.Random(3)  # noqa: S311 - a seed
    document: Any = a_flow(step("first", "second"), step("second"), startStepId="first")
    for _ in range(300):
        keys = [one["id"] for one in document["steps"]] or [""]
        source, target, port = choice.choice(keys), choice.choice(keys), choice.randrange(2)
        deed = choice.randrange(4) if len(keys) > 2 else 0
        if deed == 0:
            document, _ = add(document, "agent", source, port)
        elif deed == 1:
            document = connect(document, source, port, target)
        elif deed == 2:
            document = remove(document, [source])
        else:
            document = disconnect(document, source, port, target)
        ids = {one["id"] for one in document["steps"]}
        ways = [way.get("next") for one in document["steps"] for way in (one.get("transitions") or {}).values()]
        assert {way for way in [*ways, document.get("startStepId")] if way} <= ids


@pytest.mark.parametrize("locale", ["ru", "en"])
def test_what_can_be_added_and_every_way_has_a_word(locale: Any) -> None:
    say = Translator(locale).translate
    (choice,) = FLOW_DEEDS.list_types(say)
    assert choice.label != "flow-add-step"
    assert [say(port.word) for port in build_chart(a_flow(step("first"))).boxes[0].ports if port.word] != ["flow-way-failure"]

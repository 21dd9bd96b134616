"""What once failed only in front of the person is found when a scenario is checked, and versions of before go on."""

from typing import Any

import pytest

from engines.scenarios.core.checks import check_scenario
from orchestrator.documents.document import Document
from orchestrator.domain.finding import Finding
from tests.unit.definitions.service_kit import OLEG, VERA, build_desk, data
from tests.unit.engines.scenarios.scenario_kit import TYPES, a_scenario_world, ask, build_engines, say, scenario, start, texts
from tests.unit.spine_kit import message


def find(*steps: dict[str, Any], **more: Any) -> list[Finding]:
    return list(check_scenario(Document.from_data(scenario(*steps, **more)), TYPES))


def do(kind: str, **params: Any) -> dict[str, Any]:
    return {"id": "do", "type": kind, "params": params}


def test_parts_of_a_text_are_warned_of() -> None:
    """`{got.name}` of a model's text is shown as it is written; data of a model has parts, and so has what another step may have set."""
    asks = do("llm_request", prompt="?", output_var="got")
    codes = [(one.code, one.severity) for one in find(asks, say("{got.name} {got.sum}"))]
    assert codes == [("finding-part-of-text", "warning")]
    assert find(do("llm_request", prompt="?", output_var="got", output="json"), say("{got.name}")) == []
    assert find(asks, say("{got.name}"), initial_context={"got": {}}) == []


LATER = {"scenario_id": "plan"}


@pytest.mark.req("S000-62")
@pytest.mark.parametrize(("step", "code", "place"), [
    (do("schedule_scenario_run", **LATER), "finding-schedule-when", ""),
    (do("schedule_scenario_run", **LATER, run_in_seconds=5, cron="0 9 * * 1"), "finding-schedule-when", ".cron"),
    (do("schedule_scenario_run", **LATER, cron="99 * * * *"), "finding-schedule-terms", ".cron"),
    (do("schedule_scenario_run", **LATER, at="tomorrow"), "finding-schedule-terms", ".at"),
    (do("schedule_scenario_run", **LATER, cron="0 9 * * 1", zone="Europe/Moskow"), "finding-schedule-terms", ".zone"),
    (do("llm_request"), "finding-prompt-missing", ""),
    (do("llm_request", prompt="?", required=["name"]), "finding-required-of-text", ".required"),
    (do("llm_request", messages=[]), "finding-prompt-missing", ""),
    (do("llm_request", prompt="  "), "finding-prompt-missing", ".prompt"),
    (ask("n", type="integer", minimum=5, maximum=1), "finding-bounds-crossed", ".minimum"),
    (ask("n", min_length=5, max_length=1), "finding-bounds-crossed", ".min_length"),
    (ask("n", buttons=["Да", {"text": "да ", "value": 1}]), "finding-buttons-equal", ".buttons[1]"),
    (do("telegram_send_photo", path="../../etc/passwd"), "finding-path-outside", ".path"),
    (ask("имя клиента"), "finding-variable-unreached", ".input_variable"),
    (ask("1c"), "finding-variable-unreached", ".input_variable"),
    (ask("a[0]"), "finding-variable-unreached", ".input_variable"),
    (do("calculate", values={"": "1"}), "finding-variable-unreached", ".values."),
    (do("calculate", values={"новая сумма": "1"}), "finding-variable-unreached", '.values["новая сумма"]'),
    (do("update_context", updates={"deal.1 a": "1"}), "finding-variable-unreached", '.updates["deal.1 a"]'),
    (do("bitrix_call", method="crm.deal.get", params={"id": 1}, output_var="моя сделка"), "finding-variable-unreached", ".output_var"),
    (do("execute_sub_scenario", sub_scenario_id="plan", output_mapping=["a b"]), "finding-variable-unreached", ".output_mapping[0]"),
])  # fmt: skip
def test_a_mistake_is_found_at_its_place(step: dict[str, Any], code: str, place: str) -> None:
    """One error, and nothing besides."""
    (found,) = find(step)
    assert (found.code, found.severity) == (code, "error")
    assert found.path.removeprefix("steps[0].params") == place or place.endswith(".")


def test_why_it_would_never_start_is_said_whole() -> None:
    """The sentence is not cut where pieces of the document are."""
    (found,) = find(do("schedule_scenario_run", **LATER, at="tomorrow"))
    assert found.args["problem"] == "a moment such as 2026-11-30T09:00 is needed"


@pytest.mark.parametrize("step", [
    do("schedule_scenario_run", **LATER, cron="{line}"), do("schedule_scenario_run", **LATER, at="2026-11-30T09:00"),
    do("schedule_scenario_run", **LATER, run_in_seconds=0), do("llm_request", prompt="{question}"),
    do("llm_request", messages=[{"role": "user", "content": "x"}]), ask("имя_клиента", minimum=1, maximum=1), ask("a-b.в2.0"),
])  # fmt: skip
def test_what_is_right_has_no_error(step: dict[str, Any]) -> None:
    """Neither has what only a run knows."""
    assert [one for one in find(step) if one.severity == "error"] == []


def test_values_that_are_given_have_names_too() -> None:
    """In the scenario's own context, and in what another one gets."""
    child = do("execute_sub_scenario", sub_scenario_id="plan", input_parameters={"a b": 1}, output_mapping=[])
    assert [one.code for one in find(child, initial_context={"1c": 1})] == ["finding-variable-unreached"] * 2


async def test_a_keyword_is_only_a_finding(tmp_path: Any) -> None:
    """A name such as `from` works in braces and behind `context`, so a check warns of it."""
    assert [(one.code, one.severity) for one in find(ask("from"))] == [("finding-variable-keyword", "warning")]
    check = {"type": "branch", "condition": "context['from'] == 'сайт'", "branches": {"if": "yes"}}
    async with a_scenario_world(tmp_path, ask("from"), check, {"type": "end"}, say("откуда: {from}", id="yes")) as world:
        await world.work(start())
        await world.work(message("сайт"))
        assert texts(world)[-1] == "откуда: сайт"


async def test_a_version_of_before_is_published_anew(tmp_path: Any) -> None:
    """What was published before the check looked for it can be put in force again, with a warning; a new version cannot."""
    async with a_scenario_world(tmp_path, say("x")) as world:
        desk = build_desk(world.store, world.sql, engines=build_engines({}))
        first = await desk.publish("old", scenario(say("1")), kind="scenario")
        await desk.publish("old", scenario(say("2")), kind="scenario")
        kind = desk.service.find_kind("scenario")
        object.__setattr__(kind, "check", lambda _document: find(ask("имя клиента")))  # as if the first had been written before
        version = await desk.service.find_version(VERA, "scenario", "old", first)
        saved = await desk.service.publish(OLEG, "scenario", "old", first, expected=version.revision)
        assert [(one.code, one.severity) for one in saved.findings] == [("finding-variable-unreached", "warning")]
        assert [one.severity for one in (await desk.service.check(VERA, "scenario", "new", data(scenario(say("3"))))).findings] == ["error"]


@pytest.mark.parametrize(("step", "code", "place"), [
    (ask("n", buttons=["Да", "Нет"], next_step_map={"да": "ask"}), "finding-answer-never", '.next_step_map["да"]'),
    (ask("n", buttons=["Да"], only_buttons=True, next_step_map={"Нет": "ask"}), "finding-answer-never", '.next_step_map["Нет"]'),
    (ask("n", choices=["Да"], next_step_map={"Нет": "ask"}), "finding-answer-never", '.next_step_map["Нет"]'),
    (do("update_context", updates={"a": {}, "a.b": 1}), "finding-update-twice", '.updates["a.b"]'),
    (do("calculate", values={"Val": "1", "val": "2"}), "finding-names-alike", ".values.val"),
    (do("update_context", updates={"User_Name": "x"}), "finding-names-alike", ".updates.User_Name"),
])  # fmt: skip
def test_what_is_probably_not_meant_is_warned_of(step: dict[str, Any], code: str, place: str) -> None:
    """It runs all the same."""
    (found,) = [one for one in find(step) if one.code.removeprefix("finding-") not in {"loop-endless", "step-unreachable"}]
    assert (found.code, found.severity) == (code, "warning")
    assert found.path.removeprefix("steps[0].params") == place


@pytest.mark.parametrize("step", [
    ask("n", buttons=["Да", {"text": "Нет", "value": 0}], only_buttons=True, next_step_map={"Да": "ask", "0": "ask", "default": "ask"}),
    ask("n", buttons=["Да"], next_step_map={"Нет": "ask"}), ask("n", buttons=["{a}", "{a}"]),
    do("update_context", updates={"ab": 1, "a.b": 1}), do("telegram_send_photo", path="{folder}/../x.png"),
])  # fmt: skip
def test_what_may_be_meant_is_not(step: dict[str, Any]) -> None:
    """Words may be typed beside buttons, and what a variable says is not known."""
    assert not {one.code for one in find(step)} & {
        "finding-answer-never",
        "finding-buttons-equal",
        "finding-update-twice",
        "finding-path-outside",
    }

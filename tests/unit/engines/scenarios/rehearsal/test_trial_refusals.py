"""A trial refuses what a run refuses, an effect may fail in it, and what an author logs is seen."""

from collections.abc import Mapping
from typing import Any

import pytest

from engines.scenarios.core.registry import build_step_types
from engines.scenarios.playing import Dialogue, Played, play_dialogue
from orchestrator.rehearsals.script import Script
from tests.unit.engines.scenarios.scenario_kit import ask, say, scenario

TYPES = build_step_types()


async def play(*steps: Mapping[str, Any], mocks: Mapping[str, Any] | None = None, inputs: tuple[str, ...] = ()) -> Played:
    """What comes of a dialogue with a scenario of these steps."""
    dialogue = Dialogue(name="x", inputs=list(inputs), mocks=dict(mocks or {}))
    return await play_dialogue("plan", {"plan": scenario(*steps)}, TYPES, dialogue, Script(dialogue))


def do(method: str, params: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": "do", "type": "bitrix_call", "params": {"method": method, "params": params, **more}}


@pytest.mark.parametrize(("method", "params", "why"), [
    ("crm.dael.add", {}, "crm.deal.add"),
    ("crm.deal.add", {"fields": {"TITEL": "x"}}, "TITLE"),
    ("crm.deal.add", {"fields": {"TITLE": "x", "STAGE_ID": "NEWW"}}, "NEWW"),
    ("crm.deal.update", {"id": "{nobody}", "fields": {"TITLE": "x"}}, "id must be"),
])  # fmt: skip
@pytest.mark.parametrize("mocks", [{}, {"do": 77}])
async def test_a_trial_refuses_what_a_run_refuses(method: str, params: Mapping[str, Any], why: str, mocks: Mapping[str, Any]) -> None:
    """A wrong call fails the dialogue, also with a mock and a way for refusals: the success message is never read."""
    played = await play(do(method, params, on_refused="no"), say("готово"), {"type": "end"}, say("не создаю", id="no"), mocks=mocks)
    assert (played.result.status, played.result.code) == ("failed", "scenario-call-wrong")
    assert why in played.happenings[-1].text


async def test_what_a_planned_call_would_have_given_is_open() -> None:
    """The number of a record that was only planned is not known, and the steps behind it are played all the same."""
    first = do("crm.deal.add", {"fields": {"TITLE": "x"}}, output_var="deal")
    second = {**do("crm.deal.update", {"id": "{deal}", "fields": {"TITLE": "Сделка {deal.ID}"}}), "id": "then"}
    played = await play(first, second)
    assert played.result.status == "done"


@pytest.mark.parametrize("cron", ["99 * * * *"])
async def test_other_effects_are_refused_too(cron: str) -> None:
    """A schedule that never comes is refused as in a run."""
    played = await play({"id": "do", "type": "schedule_scenario_run", "params": {"scenario_id": "plan", "cron": cron, "on_refused": "no"}})
    assert played.result.code == "scenario-call-wrong"


MONGO = {"id": "do", "type": "mongo_insert_one", "params": {"collection_name": "visits", "document": {"a": 1}}}


@pytest.mark.req("S000-X14")
@pytest.mark.parametrize("step", [
    MONGO,
    do("crm.deal.add", {"fields": {"TITLE": "x"}}),
    {"id": "do", "type": "telegram_send_message", "params": {"chat_id": 5, "text": "x"}},
    {"id": "do", "type": "llm_request", "params": {"prompt": "x"}},
])  # fmt: skip
async def test_an_effect_that_fails_is_an_error_of_its_step(step: Mapping[str, Any]) -> None:
    """A mock {failed: why} is no result, whatever goes outside."""
    played = await play(step, mocks={"do": {"failed": "no server"}})
    assert played.result.status == "failed"
    assert "no server" in played.happenings[-1].text


@pytest.mark.req("S000-X17")
async def test_a_logged_line_is_seen_once(tmp_path: Any) -> None:
    """With its level and its values, however often the run is played, and the variables are those at the failure."""
    log = {"id": "note", "type": "log_message", "params": {"message": "значение {a}", "level": "ERROR"}}
    played = await play(ask("a"), log, ask("b", step="more"), do("crm.dael.add", {}), inputs=("5", "6"))
    assert [(one.place.step, one.data, one.text) for one in played.happenings if one.kind == "log"] == [("note", "ERROR", "значение 5")]
    assert {name: played.variables[name] for name in ("a", "b")} == {"a": "5", "b": "6"}

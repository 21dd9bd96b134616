"""A rehearsal plays a scenario with its real engine, and nothing of it reaches the outside."""

from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import ValidationError

from engines.scenarios.playing import Dialogue, Played, compare, play_dialogue
from orchestrator.domain.taint import Value
from orchestrator.engines.runs import Ask, Option, RunContext, RunResult, RunSuspended
from orchestrator.rehearsals.case import BEGINS, Given
from orchestrator.rehearsals.comparing import list_effects, list_messages
from orchestrator.rehearsals.rehearsal import Place, Rehearsal
from orchestrator.rehearsals.script import Script, ScriptEnded, read_answer
from tests.unit.engines.scenarios.scenario_kit import TYPES, ask, say, scenario

DEAL = {"id": "deal", "type": "bitrix_call", "params": {"method": "crm.deal.add", "params": {"fields": {"TITLE": "{name}"}}}}


async def play(*steps: Mapping[str, Any], others: Mapping[str, Any] | None = None, **dialogue: Any) -> Played:
    """Play a scenario of these steps with a dialogue of these fields."""
    script = Dialogue.model_validate({"name": "x", **dialogue})
    return await play_dialogue("plan", {"plan": scenario(*steps), **(others or {})}, TYPES, script, Script(script))


async def test_questions_are_answered_in_order_and_checked_as_in_the_product() -> None:
    """An answer that does not fit is asked again, in the program's own sentence; each thing is said once over all passes."""
    played = await play(say("Здравствуйте"), ask("age", type="integer"), say("{age}"), inputs=["много", 17])
    assert list_messages(played.happenings) == ["Здравствуйте", "Что?", "[scenario-answer-number]", "Что?", "17"]
    assert (played.result.status, played.variables["age"]) == ("done", 17)


async def test_a_run_knows_its_day_its_person_s_zone_and_number() -> None:
    """As in the product; a dialogue may name another day and person."""
    steps = ({"type": "calculate", "params": {"values": {"due": "add_days(today, 3)"}}}, say("{due} {employee_id} {time_zone}"))
    assert list_messages((await play(*steps)).happenings) == ["2026-01-15 1 Europe/Moscow"]
    other = await play(*steps, day="2026-11-27", person={"employee": None, "time_zone": "Asia/Tokyo"})
    assert list_messages(other.happenings) == ["2026-11-30  Asia/Tokyo"]


@pytest.mark.parametrize("wrong", [{"day": "27.11.2026"}, {"person": {"time_zone": "Mars/North"}}])
def test_a_day_or_zone_that_there_is_not_is_a_mistake(wrong: dict[str, Any]) -> None:
    """It is said before anything is played."""
    with pytest.raises(ValidationError):
        Dialogue.model_validate({"name": "x", **wrong})


async def test_a_step_back_and_a_cancellation_are_rehearsed() -> None:
    """The program's own buttons are pressed by the code of their words."""
    plan = scenario(
        ask("name", "Имя?", step="name"), ask("sum", "Сумма?", step="sum"), say("{name} {sum}"), allow_back=True, allow_cancel=True
    )
    for last, messages, status in (("5", ["Пётр 5"], "done"), ({"press": "scenario-cancel"}, [], "cancelled")):
        script = Dialogue.model_validate({"name": "x", "inputs": ["Иван", {"press": "scenario-back"}, "Пётр", last]})
        played = await play_dialogue("plan", {"plan": plan}, TYPES, script, Script(script))
        assert list_messages(played.happenings) == ["Имя?", "Сумма?", "Имя?", "Сумма?", *messages]
        assert played.result.status == status


@pytest.mark.parametrize(("step", "may_go_back"), [
    ({"type": "bitrix_call", "params": {"method": "crm.deal.get", "params": {"id": 1}}}, True),
    ({"type": "mongo_find_one", "params": {"collection_name": "c"}}, True),
    ({"type": "bitrix_call", "params": {"method": "crm.deal.update", "params": {"id": 1, "fields": {"TITLE": "x"}}}}, False),
    ({"type": "mongo_insert_one", "params": {"collection_name": "c", "document": {"a": 1}}}, False),
])  # fmt: skip
async def test_a_step_back_goes_over_reads_and_over_nothing_else(step: dict[str, Any], *, may_go_back: bool) -> None:
    """As in the product, also where a mock says what is read."""
    plan = scenario(ask("name", step="name"), {"id": "call", **step}, ask("sum", step="sum"), allow_back=True)
    given = {"name": "x", "mocks": {"call": {"ID": 1}}, "inputs": ["Иван", {"press": "scenario-back"}, "Пётр", "5"]}
    script = Dialogue.model_validate(given)
    played = await play_dialogue("plan", {"plan": plan}, TYPES, script, Script(script))
    assert (played.problem == "") is may_go_back, played.problem
    assert may_go_back == (played.variables.get("name") == "Пётр")


async def test_a_mock_that_is_no_text_is_an_answer_in_json() -> None:
    """An agent that answers with an object answers as a model writes it; null is an answer without a word."""
    step = {"id": "llm", "type": "llm_request", "params": {"prompt": "?"}}
    for mock, said in (({"ok": True, "of": [1]}, '{"of":[1],"ok":true}'), (7, "7"), (None, "")):
        assert (await play(step, mocks={"llm": mock})).variables["llm_result"] == said


async def test_an_effect_is_planned_with_its_parameters_and_never_performed() -> None:
    """Without a mock the variable gets nothing, as in a dry run; the plan holds what would be sent."""
    played = await play(ask("name"), DEAL, say("Номер {bitrix_result}"), inputs=["Ромашка"])
    (effect,) = [one for one in played.happenings if one.kind == "effect"]
    assert effect.data["status"] == "planned"
    assert effect.data["params"] == {"fields": {"TITLE": "Ромашка"}}
    assert list_messages(played.happenings) == ["Что?", "Номер "]


async def test_a_file_of_a_host_is_not_fetched_and_its_mock_may_fail_or_be_refused() -> None:
    """In the own chat its name is shown, to another one the effect is planned with it; a host that fails and a refusal have their way."""
    url = "https://files.example.com/price.pdf"
    own = {"id": "send", "type": "telegram_send_document", "params": {"url": url, "on_refused": "no"}}
    other = {**own, "params": {**own["params"], "chat_id": -100, "output_var": "sent"}}
    ending = (say("ушло {sent}"), {"type": "end"}, say("нет", id="no"))
    played = await play(own, *ending)
    assert list_messages(played.happenings) == ["📎 price.pdf", "ушло {sent}"]
    played = await play(other, *ending, mocks={"send": {"message_id": 5}})
    (effect,) = [one for one in played.happenings if one.kind == "effect"]
    assert effect.data["params"]["file"] == {"digest": "", "host": "files.example.com", "name": "price.pdf"}
    assert list_messages(played.happenings) == ["ушло 5"]
    for step, mock in ((own, {"failed": "404"}), (other, {"failed": "404"}), (other, {"refused": "нет"})):
        assert list_messages((await play(step, *ending, mocks={"send": mock})).happenings) == ["нет"]
    failed = await play({**own, "params": {"url": url}}, mocks={"send": {"failed": "404"}})
    assert (failed.result.status, failed.result.code) == ("failed", "scenario-download")


async def test_each_time_a_file_is_sent_takes_one_mock() -> None:
    """Fetching it and the effect that sends it are one time of the step."""
    send = {
        "id": "send",
        "type": "telegram_send_document",
        "params": {"url": "https://h.example/a.pdf", "chat_id": -100, "on_refused": "no"},
    }
    steps = (
        send, say("ушло {message_id}"), {"type": "end"}, say("нет", id="no"),
        {"type": "branch", "condition": "true", "branches": {"if": "send"}},
    )  # fmt: skip
    played = await play(*steps, mocks={"send": {"each": [{"failed": "404"}, {"refused": "?"}, {"message_id": 7}]}})
    assert (played.problem, list_messages(played.happenings)) == ("", ["нет", "нет", "ушло 7"])


async def test_a_flow_is_what_its_mock_gives() -> None:
    """No agent is asked; without a mock the rehearsal says what it lacks, and a flow that fails ends the scenario."""
    steps = ({"id": "draft", "type": "run_flow", "params": {"flow_id": "offer", "output_mapping": ["text"]}}, say("Вот: {text}"))
    played = await play(*steps, mocks={"draft": {"payload": {"text": "Письмо"}}})
    assert (list_messages(played.happenings), played.result.status) == (["Вот: Письмо"], "done")
    assert "mocks.draft" in (await play(*steps)).problem
    assert (await play(*steps, mocks={"draft": {"failed": "нет ответа"}})).result.status == "failed"


async def test_mocks_stand_for_effects_models_documents_and_agents() -> None:
    """Each by the id of its step; a refusal takes its own branch, a list of values one for each time."""
    steps = (
        {"id": "llm", "type": "llm_request", "params": {"prompt": "?"}},
        {"id": "docs", "type": "rag_search", "params": {"query": "?"}},
        {"id": "agent", "type": "tool_agent", "params": {"question": "?"}},
        {"id": "count", "type": "mongo_count", "params": {"collection_name": "c"}},
        {**DEAL, "params": {**DEAL["params"], "on_refused": "no"}},
        say("никогда"),
        say("{llm_result}|{rag_results.answer}|{tool_result}|{count}", id="no"),
        {"id": "again", "type": "branch", "condition": "llm_result == 'А'", "branches": {"if": "llm"}},
    )
    mocks = {
        "llm": {"each": ["А", "Б"]}, "docs": {"answer": "В", "passages": ["Г"]}, "agent": "Д", "count": {"count": 3},
        "deal": {"refused": "нельзя"},
    }  # fmt: skip
    played = await play(*steps, mocks=mocks, args={"name": "Ромашка"})
    assert list_messages(played.happenings) == ["А|В|Д|3", "Б|В|Д|3"]
    assert played.visited["plan"] == {"llm", "docs", "agent", "count", "deal", "no", "again"}


async def test_a_failure_of_a_mock_is_a_failure_of_the_run() -> None:
    """A model that does not answer ends the run, documents that do not are the variable's value."""
    llm = {"id": "llm", "type": "llm_request", "params": {"prompt": "?"}}
    played = await play(llm, mocks={"llm": {"failed": "кончились деньги"}})
    assert (played.result.status, played.result.code) == ("failed", "degraded")
    docs = {"id": "docs", "type": "rag_search", "params": {"query": "?"}}
    played = await play(docs, say("{rag_results.error}"), mocks={"docs": {"failed": "нет связи"}})
    assert list_messages(played.happenings) == ["нет связи"]


@pytest.mark.parametrize(("steps", "dialogue", "why"), [
    ([ask("a")], {}, 'step ask of plan asks "Что?", and no input is left'),
    ([{"id": "llm", "type": "llm_request", "params": {"prompt": "?"}}], {}, "mocks.llm"),
    ([{"type": "llm_request", "params": {"prompt": "?"}}], {}, "mocks.step-1"),
    ([{"id": "docs", "type": "rag_search", "params": {"query": "?"}}], {}, "mocks.docs"),
    ([{"id": "agent", "type": "tool_agent", "params": {"question": "?"}}], {}, "mocks.agent"),
    ([ask("a", buttons=["Да"], only_buttons=True)], {"inputs": ["Нет"]}, 'takes the button "Да", not Нет'),
    ([ask("a")], {"inputs": [{"press": "Да"}]}, "takes text, not {'press': 'Да'}"),
    ([ask("a")], {"inputs": [{"timeout": True}]}, "waits for ever"),
])  # fmt: skip
async def test_what_the_script_lacks_is_said_with_its_step(steps: list[Any], dialogue: dict[str, Any], why: str) -> None:
    """A test that cannot go on says where, and what to write."""
    played = await play(*steps, **dialogue)
    assert why in played.problem


async def test_sub_scenarios_ask_and_wait_inside_of_the_rehearsal() -> None:
    """Their steps are counted under their own key and their mocks may name it; the clock jumps over a wait."""
    sub = scenario(
        ask("who"), {"type": "wait", "params": {"seconds": 86400}}, {"id": "llm", "type": "llm_request", "params": {"prompt": "?"}}
    )
    call = {"type": "execute_sub_scenario", "params": {"sub_scenario_id": "child", "output_mapping": ["who", "llm_result"]}}
    played = await play(call, say("{who} {llm_result}"), others={"child": sub}, inputs=["Анна"], mocks={"child/llm": "да", "llm": "нет"})
    assert list_messages(played.happenings) == ["Что?", "Анна да"]
    assert played.visited["child"] == {"ask", "step-2", "llm"}
    (wait,) = [one for one in played.happenings if one.kind == "wait"]
    assert wait.text.startswith("2026-01-13T09:00:00")


async def test_scenarios_that_start_each_other_end_with_a_reason() -> None:
    """The bound of the product holds here, too."""
    call = {"type": "execute_sub_scenario", "params": {"sub_scenario_id": "plan", "output_mapping": []}}
    played = await play(call)
    assert (played.result.status, played.result.code) == ("failed", "scenario-child-failed")
    assert "scenario-too-deep" in [one.data for one in played.happenings if one.kind == "failure"]
    gone = await play({"type": "execute_sub_scenario", "params": {"sub_scenario_id": "nobody", "output_mapping": []}})
    assert "nobody ended as failed run-definition-gone" in next(one.text for one in gone.happenings if one.kind == "failure")


async def test_differences_are_told_each_on_a_line() -> None:
    """Messages as a diff, then effects, outcome, variables and inputs that nobody asked for."""
    expect = {
        "outcome": "failed",
        "messages": ["Что?", "Пока"],
        "variables": {"name": "Роза", "nothing": 1},
        "effects": [{"method": "crm.deal.add", "params": {}}],
    }
    played = await play(ask("name"), DEAL, say("Привет"), inputs=["Ромашка", "лишнее"], expect=expect)
    told = compare(Dialogue.model_validate({"name": "x", "expect": expect}).expect, played)
    assert told == [
        "outcome: expected failed, came done", 'variables.name: expected "Роза", came "Ромашка"',
        "variables.nothing: expected 1, and nothing set it", "inputs: the last 1 were not asked for", "messages: - expected, + came",
        "    Что?", "  - Пока", "  + Привет", "effects: - expected, + came", "  - crm.deal.add {}",
        '  + deal: crm.deal.add {"fields":{"TITLE":"Ромашка"}}',
    ]  # fmt: skip
    right = {"messages": ["Что?", "Привет"], "effects": [{"method": "crm.deal.add"}], "variables": {"name": "Ромашка"}}
    played = await play(ask("name"), DEAL, say("Привет"), inputs=["Ромашка"])
    assert compare(Dialogue.model_validate({"name": "x", "expect": right}).expect, played) == []
    assert [one.step for one in list_effects(played.happenings)] == ["deal"]


def test_an_input_is_read_as_the_person_would_give_it() -> None:
    """Words of a button press it, unless they are said to be typed; a contact and a file are sent."""
    place = Place("plan", "ask/1/1")
    both = Ask(text="?", options=[Option(label="Да", value=1)], takes=frozenset({"text", "contact"}))
    assert read_answer("Да", both, place).option == 0  # type: ignore[union-attr]
    assert read_answer(Given(text="Да"), both, place).text == "Да"  # type: ignore[union-attr]
    assert read_answer(Given(contact="+79990000000"), both, place).sent["phone"] == "+79990000000"  # type: ignore[union-attr]
    with pytest.raises(ScriptEnded, match=r"not \{'photo'"):
        read_answer(Given(photo="a.png"), both, place)


class StuckEngine:
    """An engine that waits for nothing."""

    replay = 1
    replays = frozenset({1})

    async def run(self, ctx: RunContext) -> RunResult:
        raise RunSuspended(ctx.run.run_id)


async def test_an_engine_that_waits_for_nothing_fails() -> None:
    """It would hang otherwise."""
    script = Script(Dialogue(name="x"))
    rehearsal = Rehearsal({"stuck": StuckEngine()}, lambda _engine, _key: {}, script, now=BEGINS)
    ended = await rehearsal.play("stuck", "plan", {"text": Value("")})
    assert (ended.status, ended.code) == ("failed", "run-stuck")

"""Trials: a definition asks its author for all that is outside of it, does nothing, and ends in time."""

import time
from typing import Any

import pytest

from bot.i18n.translate import Translator
from bot.rehearsing.trials import TrialInputs, Tried, Watch, try_definition
from engines.flows.playing import PlayableFlow
from engines.scenarios.cases import PlayableScenario
from engines.scenarios.core.registry import build_step_types
from engines.workflows.core.registry import build_rune_types
from engines.workflows.playing import PlayableWorkflow
from orchestrator.rehearsals.case import PERSON

TYPES = build_step_types()
ASKS: list[dict[str, Any]] = [
    {
        "id": "who",
        "type": "input",
        "params": {"prompt": "Кто?", "input_variable": "who", "buttons": ["Анна", "Борис"], "only_buttons": True},
    },
    {"id": "read", "type": "bitrix_call", "params": {"method": "crm.deal.get", "params": {"id": 481}, "output_var": "deal"}},
    {"id": "write", "type": "bitrix_call", "params": {"method": "crm.deal.update", "params": {"id": 481, "fields": {"TITLE": "{who}"}}}},
    {"id": "done", "type": "message", "params": {"text": "Сделка «{deal.TITLE}»: {who}"}},
]


def scenario(steps: list[dict[str, Any]], **others: Any) -> PlayableScenario:
    """A scenario with these steps, beside others."""
    return PlayableScenario(key="mine", documents={"mine": {"name": "Проба", "steps": steps}, **others}, types=TYPES)


async def play(playable: Any, inputs: TrialInputs | None = None, watch: Watch | None = None) -> Tried:
    """What comes of it."""
    return await try_definition(playable, inputs or TrialInputs(), PERSON, watch or Watch())


async def give(playable: Any, *given: Any) -> Tried:
    """What comes of it when all that it wants is given in this order."""
    inputs, tried = TrialInputs(), await play(playable)
    for one in given:
        assert tried.wanted is not None, tried
        inputs = inputs.add(tried.wanted, one)
        tried = await play(playable, inputs)
    return tried


@pytest.mark.req("C-32")
async def test_a_scenario_asks_for_answers_and_reads_and_plans_what_it_writes() -> None:
    """The author answers, gives what the portal returns, and sees the effect as a plan and the last message with both."""
    first = await play(scenario(ASKS))
    assert (first.status, first.wanted and first.wanted.kind, first.wanted and first.wanted.options) == (
        "waiting",
        "answer",
        ("Анна", "Борис"),
    )

    second = await give(scenario(ASKS), "Анна")
    assert second.wanted is not None
    assert (second.wanted.kind, second.wanted.step, second.wanted.text) == ("read", "read", "crm.deal.get")

    last = await give(scenario(ASKS), "Анна", {"TITLE": "Поставка"})
    effects = [one.data for one in last.happenings if one.kind == "effect"]
    assert [(one["method"], one["status"]) for one in effects] == [("crm.deal.get", "succeeded"), ("crm.deal.update", "planned")]
    assert last.happenings[-1].text == "Сделка «Поставка»: Анна"
    assert (last.status, last.result["who"]) == ("done", "Анна")


@pytest.mark.req("C-32")
async def test_an_answer_that_does_not_fit_is_asked_for_again() -> None:
    """A text where only buttons count is no answer; the question is wanted once more, and says so."""
    tried = await give(scenario(ASKS), "Пётр")

    assert tried.wanted is not None
    assert (tried.status, tried.wanted.kind, tried.wanted.is_unfit) == ("waiting", "answer", True)


@pytest.mark.req("C-32")
async def test_the_answers_of_a_test_file_are_played_first() -> None:
    """Inputs and mocks in the form of tests answer before the author does; what is expected is not looked at."""
    case = {"inputs": ["Борис"], "mocks": {"read": {"TITLE": "Ромашка"}}, "expect": {"outcome": "failed"}}

    tried = await play(scenario(ASKS), TrialInputs(case=case))

    assert (tried.status, tried.happenings[-1].text) == ("done", "Сделка «Ромашка»: Борис")


@pytest.mark.req("C-32")
async def test_a_flow_asks_for_its_parameters_and_for_what_its_agents_say() -> None:
    """Each agent's prompt is shown, and the author answers in its place."""
    document = {
        "flowId": "mine",
        "launchParameters": [{"name": "client", "description": "Кто клиент?"}],
        "steps": [
            {"id": "draft", "agentVersionId": "writer", "prompt": "Письмо для клиента", "transitions": {"onSuccess": {"complete": True}}}
        ],
        "outputs": {"resultPayload": {"text": "$steps.draft.output"}},
    }
    flow = PlayableFlow(key="mine", document=document, agents={"writer": {"systemPrompt": "Пишешь письма."}})

    tried = await give(flow, "Ромашка")
    assert tried.wanted is not None
    assert (tried.wanted.kind, tried.wanted.name) == ("model", "draft")
    assert "Письмо для клиента" in tried.wanted.text

    assert (await give(flow, "Ромашка", "Уважаемая Ромашка")).status == "done"


@pytest.mark.req("C-32")
async def test_a_workflow_asks_for_what_its_models_say_and_shows_what_it_proposes() -> None:
    """Its parts run with the author's answers; an operation is proposed, and nothing of it is done."""
    tuum = {
        "tuumId": "letter",
        "outputMappings": {"answer": "ai_final_output", "operations": "operations"},
        "promptRunes": [{"runeType": "prompt", "template": "Письмо"}],
        "aiService": "tool",
        "mainScript": {
            "consumes": ["ai_final_output"],
            "produces": ["operations"],
            "source": '{"operations": [{"operationType": "ModifyEntity", "entityType": "deal", "entityId": 481, "attributeKey": "TITLE", '
            '"modifyOperator": "=", "modifyValue": ai_final_output}]}',
        },
    }
    document = {"workflowId": "mine", "tuums": [tuum], "terminal": {"rawText": "answer", "operations": "operations"}}
    workflow = PlayableWorkflow(key="mine", document=document, types=build_rune_types())

    tried = await play(workflow)
    assert (tried.wanted and tried.wanted.kind, tried.wanted and tried.wanted.name) == ("model", "letter")

    done = await give(workflow, "Новое имя")
    assert done.status == "done", done
    assert ["Новое имя" in one(Translator("ru")) for one in done.proposed] == [True]


@pytest.mark.req("C-32")
async def test_a_flow_that_a_scenario_starts_is_answered_for() -> None:
    """The other definition is not played: the author says what it gives."""
    steps = [
        {"id": "start", "type": "run_flow", "params": {"flow_id": "offer", "output_var": "offer"}},
        {"id": "done", "type": "message", "params": {"text": "Вышло: {offer.text}"}},
    ]

    tried = await play(scenario(steps))
    assert (tried.wanted and tried.wanted.kind, tried.wanted and tried.wanted.step) == ("run", "start")

    done = await give(scenario(steps), {"text": "предложение"})
    assert (done.status, done.happenings[-1].text) == ("done", "Вышло: предложение")


@pytest.mark.req("C-32")
async def test_what_cannot_be_asked_is_told() -> None:
    """A mock that is used up is a matter of the test that was given: the trial ends, and says where it lacks something."""
    steps = [ASKS[1] | {"id": "one"}, ASKS[1] | {"id": "two"}, {"id": "again", "type": "start", "next_step": "one"}]
    case = {"mocks": {"one": {"each": [{"TITLE": "Ромашка"}]}, "two": {}}}

    tried = await play(scenario(steps), TrialInputs(case=case))

    assert (tried.status, tried.wanted) == ("unfinished", None)
    assert "mocks.one.each has no more" in tried.problem


@pytest.mark.long
@pytest.mark.req("C-32")
async def test_an_endless_scenario_is_stopped_in_time() -> None:
    """One that waits for ever in a circle ends when its time is over, or when the author stops it; what happened is shown."""
    circle = [{"id": "nap", "type": "wait", "params": {"seconds": 60}, "next_step": "nap"}]
    began = time.monotonic()

    tried = await play(scenario(circle), watch=Watch(0.3))
    assert tried.status == "stopped"
    assert tried.happenings
    assert time.monotonic() - began < 30

    endless = await play(scenario(circle), watch=Watch(60))
    assert endless.problem == "more than 500 things happened"

    stopped = Watch()
    stopped.stop()
    assert (await play(scenario(circle), watch=stopped)).status == "stopped"

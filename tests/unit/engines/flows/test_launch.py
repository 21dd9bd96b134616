"""Started in a chat, a flow asks its person for one launch parameter after the other, in words and with buttons."""

from pathlib import Path

import pytest

from bot.i18n.translate import Translator
from engines.flows.wiring import build_flows
from orchestrator.domain.actor import Actor
from orchestrator.engines.shared.declared import LaunchParameter
from orchestrator.engines.shared.launch import read_answer
from orchestrator.runs.offers import list_offers, list_startable
from orchestrator.runs.registry import Engines, StaticDefinitions
from tests.unit.engines.flows.flow_kit import a_flow_world, flow, start, start_in_chat, step
from tests.unit.engines.scenarios.scenario_kit import click, replies, texts
from tests.unit.runs.runs_kit import events, index
from tests.unit.spine_kit import message

MANAGER = Actor(key="tg:1007", name="Борис", role="manager")
PLAN = flow(
    step("work"),
    launchParameters=[
        {"name": "city", "description": "В каком городе?"},
        {"name": "budget", "type": "number", "description": "Какой бюджет?"},
        {"name": "urgent", "type": "boolean", "description": "Срочно?"},
        {"name": "size", "description": "Размер?", "choices": ["S", "L"]},
        {"name": "goals", "type": "array", "description": "Цели?", "required": False},
        {"name": "unit", "description": "Единица?", "default": "шт"},
    ],
)


@pytest.mark.req("S002-20")
async def test_every_parameter_is_asked_for_and_told_to_the_agent(tmp_path: Path) -> None:
    """Typed words become their type, buttons are choices, yes and no, the default, or nothing; what does not fit is asked again."""
    async with a_flow_world(tmp_path, PLAN) as (world, _):
        await world.work(start_in_chat())
        assert texts(world) == ["В каком городе?"]
        await world.work(message("Томск"))
        for words in ("много", "5 10", "1e5"):
            await world.work(message(words))
            assert texts(world)[-1] == "Какой бюджет?", words
        await world.work(message("1 500,5"))
        await world.work(click(world, 1))
        await world.work(click(world, 0))
        await world.work(message("— рост\n- порядок"))
        world.model.will("готово")
        await world.work(click(world, 0))
        assert index(world).status == "done"
        assert str(world.model.prompts[0][-1]["content"]) == (
            '{"context":{},"parameters":{"budget":1500.5,"city":"Томск","goals":["рост","порядок"],"size":"S","unit":"шт","urgent":false}}'
        )


async def test_a_number_that_may_be_two_is_asked_again(tmp_path: Path) -> None:
    """150.000 is neither taken as 150 nor as 150,000: a sentence shows both ways of writing."""
    async with a_flow_world(tmp_path, flow(step("work"), launchParameters=[{"name": "sum", "type": "number"}])) as (world, _):
        await world.work(start_in_chat())
        await world.work(message("150.000"))
        told, _ = [one for row in replies(world) for one in row.body["notices"]]  # how to leave stands below the question
        assert told["args"] == {"thousands": "150000", "decimals": "150"}
        world.model.will("готово")
        await world.work(message("150 000"))
        assert str(world.model.prompts[0][-1]["content"]) == '{"context":{},"parameters":{"sum":150000}}'


@pytest.mark.parametrize("typed", ["700 тыс", "700 000 ₽", "семьсот тысяч", "0,7 млн"])
def test_a_number_is_read_as_people_of_sales_type_it(typed: str) -> None:
    """As the money parser of the product reads it."""
    assert read_answer(LaunchParameter.model_validate({"name": "sum", "type": "number"}), typed) == 700_000


async def test_what_was_typed_behind_the_command_answers_the_first_question(tmp_path: Path) -> None:
    """/flow plan Томск."""
    async with a_flow_world(tmp_path, flow(step("work"), launchParameters=[{"name": "city"}, {"name": "why", "required": False}])) as (
        world,
        _,
    ):
        await world.work(start_in_chat(" Томск "))
        world.model.will("готово")
        await world.work(click(world, 0))
        assert str(world.model.prompts[0][-1]["content"]) == '{"context":{},"parameters":{"city":"Томск"}}'


@pytest.mark.req("S002-17")
@pytest.mark.parametrize(("triggers", "in_chat", "code"), [
    ({"ui": False}, True, "flow-not-in-chats"),
    ({"api": False}, False, "flow-not-from-programs"),
    ({"ui": False}, False, ""),
    ({"api": False}, True, ""),
])  # fmt: skip
async def test_a_flow_starts_only_from_where_it_may(tmp_path: Path, triggers: dict[str, bool], *, in_chat: bool, code: str) -> None:
    """Its author may close chats or programs; no agent is asked then."""
    async with a_flow_world(tmp_path, flow(step("work"), triggers=triggers)) as (world, _):
        world.model.will(*([] if code else ["готово"]))
        await world.work(start_in_chat() if in_chat else start())
        (event,) = events(world, "RunFinished")
        assert (event.data.get("code", ""), index(world).status) == (code, "failed" if code else "done")


@pytest.mark.parametrize(("command", "asked"), [("flow", "Какой поток запустить?"), ("run", "Что запустить?")])
def test_the_list_says_what_is_started(command: str, asked: str) -> None:
    """/flow and /run show the same list, each of its own kind."""
    assert Translator("ru").translate("run-offers", command=command) == asked


def test_a_list_that_was_stored_before_flows_came_reads_as_before() -> None:
    """Its notice names no command."""
    assert Translator("ru").translate("run-offers") == "Что запустить?"


@pytest.mark.req("S002-17", "S002-A12")
async def test_a_flow_that_is_not_for_people_is_not_listed_in_chats() -> None:
    """`triggers.ui: false` hides it from /flow and from what the agent may offer; without triggers it is shown."""
    open_flow, closed = flow(step("work")), flow(step("work"), triggers={"ui": False}, metadata={"title": "Только программам"})
    engines = Engines(
        runs={"flow": build_flows()}, definitions=StaticDefinitions({("flow", "open"): open_flow, ("flow", "closed"): closed})
    )
    listed = await list_offers("flow", "flow", MANAGER, engines)
    assert [action.label.args["title"] for action in listed.actions if action.label] == ["Проба"]
    assert [one["name"] for one in await list_startable(MANAGER, engines)] == ["open"]


@pytest.mark.parametrize(("typed", "value"), [
    ("[40702810900000012345, 5]", ["40702810900000012345", 5]), ('["a\\u0000"]', None), ("[1e999]", None), ("[" * 100_000, None),
    ("[NaN]", None),
])  # fmt: skip
def test_json_that_is_typed_is_kept_as_it_is_written(typed: str, value: object) -> None:
    """A long number keeps its digits, and what no journal holds is no answer."""
    assert read_answer(LaunchParameter(name="a", type="array"), typed) == value

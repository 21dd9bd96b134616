"""The definitions of the example engines: what a command starts exists, every step can be done, and the shipped bot has none of it."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.plugins.building import load_installed_engines
from examples.engines.definitions import ENGINES, load_engines
from orchestrator.domain.run_inputs import RunAnswer
from orchestrator.domain.taint import Value
from state.clock import generate_id
from state.journal.store import InboxRow
from tests.unit.runs.runs_kit import RUN, a_run_world, events, start, steps
from tests.unit.spine_kit import ANNA, NOW

FILE: dict[str, Any] = yaml.safe_load(Path("examples/engines/definitions.yaml").read_text(encoding="utf-8"))
VERBS = {"say", "ask", "model", "write", "later", "sleep", "child", "turn"}
PARTS = {"contact": {"name", "phone", "user_id"}, "document": {"name", "size", "type"}, "photo": {"name", "size", "type"}}


def test_the_shipped_bot_has_none_of_the_example_engines() -> None:
    """The examples come in with a program of their own; a bot that somebody installs offers none of their commands."""
    assert load_installed_engines().runs.keys().isdisjoint(load_engines().runs)


async def test_each_command_starts_a_definition_and_stands_in_the_menu() -> None:
    """A command without its definition would tell the person that the run does not exist."""
    engines = load_engines()
    for name in FILE["commands"]:
        ((engine, command),) = [(engine, one.commands[name]) for engine, one in engines.runs.items() if name in one.commands]
        assert await engines.definitions.find(engine, command.definition) is not None
        assert command.menu is not None


@pytest.mark.parametrize("row", [row for row in FILE["definitions"] if row["engine"] == "steps"], ids=lambda row: row["key"])
def test_each_step_can_be_done_with_what_came_before_it(row: dict[str, Any]) -> None:
    """Names differ, each step has one verb, and a place in a text names an earlier step or a part that its answer has."""
    takes: dict[str, set[str]] = {}
    for step in row["document"]["steps"]:
        assert len(VERBS & set(step)) == 1, step
        assert step["name"] not in takes
        for place in re.findall(r"\{([^{}:]+)\}", str(step)):
            name, _, part = place.partition(".")
            assert name in takes, place
            assert not part or part in takes[name], place
        takes[step["name"]] = _list_parts(step)
    assert {row["engine"] for row in FILE["definitions"]} == set(ENGINES)


def _list_parts(step: dict[str, Any]) -> set[str]:
    """Return the parts that every answer to a step has."""
    answers = [PARTS[one] for one in step.get("takes", ())]
    answers += [set(one["value"]) for one in step.get("options", ()) if isinstance(one["value"], dict)]
    return set.intersection(*answers) if answers else set()


async def test_a_part_of_an_answer_fills_texts_and_params(tmp_path: Path) -> None:
    """The name and phone of a contact go into the next steps; a part that the answer does not have stays as it is written."""
    fields = {"OPPORTUNITY": 1200000, "TITLE": "Звонил {s0.name}", "COMMENTS": "{s0.phone}"}
    write = {"write": "crm.deal.update", "params": {"id": 481, "fields": fields}}
    plan = steps({"ask": "Контакт?", "takes": ["contact"]}, {"say": "Это {s0.name}, {s0.post}"}, write)
    async with a_run_world(tmp_path, {"plan": plan}) as world:
        await world.work(start("plan"))
        (asked,) = events(world, "RunWaits")
        sent = {"name": "Пётр", "phone": "+79001234567", "user_id": None}
        answer = RunAnswer(question_id=asked.data["waits_for"], answer_kind="contact", sent=sent)
        await world.work(_build_row(answer))
        (told, *_) = [row.body["parts"][0]["text"] for row in world.outbox() if row.kind == "reply" and "Это" in str(row.body)]
        (card,) = events(world, "ConfirmationRequested")
    written = card.data["params"]["fields"]
    assert told == "Это Пётр, {s0.post}"
    assert (written["TITLE"], written["COMMENTS"]) == ("Звонил Пётр", "+79001234567")


async def test_an_option_may_have_a_text_of_its_own(tmp_path: Path) -> None:
    """The button shows the label, the run gets the value."""
    plan = steps({"ask": "Скидка?", "options": [{"label": "10 %", "value": 108000}]}, {"say": "Сумма {s0}"})
    async with a_run_world(tmp_path, {"plan": plan}) as world:
        await world.work(start("plan"))
        (asked,) = events(world, "RunWaits")
        assert asked.data["options"] == ["10 %"]
        await world.work(_build_row(RunAnswer(question_id=asked.data["waits_for"], option=0)))
        assert "Сумма 108000" in str([row.body for row in world.outbox()])


async def test_what_was_typed_goes_into_the_prompts_of_a_fan(tmp_path: Path) -> None:
    """The words after the command stand in each prompt and in the summary, and count as the person's."""
    fan = {"things": ["цель"], "prompt": "{text}: {thing}", "summary": "{text}: {answers}"}
    async with a_run_world(tmp_path, {"fan": fan}) as world:
        world.model.will("вежливо", "звоните")
        await world.work(start("fan", engine="fan", text=Value("Ромашка", frozenset({"person"}))))
        done = events(world, "NodeDone")
        assert [prompt[-1]["content"] for prompt in world.model.prompts] == ["Ромашка: цель", "Ромашка: вежливо"]
    assert all("person" in one.data["origins"] for one in done)


def _build_row(answer: RunAnswer) -> InboxRow:
    fresh = generate_id()
    return InboxRow(
        id=fresh, source=f"answer:{fresh}", session=RUN, lane="express", kind=RunAnswer.KIND, actor=ANNA.model_dump(mode="json"),
        body=answer.to_json(), received_at=NOW,
    )  # fmt: skip

"""/run lists what can be started, each with a button that starts one run however often it is pressed."""

from dataclasses import replace
from pathlib import Path

import pytest

from bot.plugins.building import load_installed_engines
from orchestrator.domain.inputs import FeatureClick
from orchestrator.runs.registry import Engines, StaticDefinitions
from state.clock import generate_id
from state.journal.run_index import RunFilter
from state.journal.store import InboxRow
from tests.unit.engines.scenarios.scenario_kit import a_scenario_world, say, scenario
from tests.unit.spine_kit import ANNA, CHAT, NOW, World, a_world, command

TWO = {
    ("scenario", "greet"): scenario(say("Здравствуйте, {user_name}! {text}"), name="Приветствие", description="Говорит «здравствуйте»"),
    ("scenario", "close"): {"steps": [say("Закрываем")]},
}


def shipped() -> Engines:
    """The engines of the program with two scenarios."""
    return replace(load_installed_engines(), definitions=StaticDefinitions(TWO))


def press(words: list[str]) -> InboxRow:
    """A press on a button of the list."""
    fresh = generate_id()
    return InboxRow(
        id=fresh, source=f"click:{fresh}", session=CHAT, lane="express", kind=FeatureClick.KIND, actor=ANNA.model_dump(mode="json"),
        body=FeatureClick(words=tuple(words), callback_id=fresh).to_json(), received_at=NOW,
    )  # fmt: skip


def told(world: World) -> list[str]:
    """The texts that wait to be delivered."""
    return [part["text"] for row in world.outbox() if row.kind == "reply" for part in row.body["parts"]]


async def test_the_list_names_each_scenario_and_a_button_starts_it_once(tmp_path: Path) -> None:
    """Titles and summaries of the definitions; two presses are one run; without a title the key stands there."""
    async with a_world(tmp_path, engines=shipped()) as world:
        await world.work(command("run"))
        (listed,) = [row for row in world.outbox() if row.kind == "reply"]
        assert [one["args"] for one in listed.body["notices"][1:]] == [
            {"title": "close", "summary": "none"},
            {"title": "Приветствие", "summary": "Говорит «здравствуйте»"},
        ]
        words = listed.body["actions"][1]["words"]
        await world.work(press(words), press(words))
        rows = world.outbox()
        assert [part["text"] for row in rows if row.kind == "reply" for part in row.body["parts"]] == ["Здравствуйте, Анна! "]
        assert [row.body["notice"]["code"] for row in rows if row.kind == "toast"] == ["toast-doing"] * 2
        assert len(world.sql.list_runs(RunFilter())) == 1


async def test_a_name_after_the_command_starts_that_scenario(tmp_path: Path) -> None:
    """What follows the name is the variable `text`."""
    async with a_world(tmp_path, engines=shipped()) as world:
        await world.work(command("run", args="greet Как дела?"))
        assert told(world) == ["Здравствуйте, Анна! Как дела?"]


async def test_without_published_scenarios_the_list_says_so(tmp_path: Path) -> None:
    """Nothing to start is a sentence, not an empty list."""
    async with a_world(tmp_path, engines=load_installed_engines()) as world:
        await world.work(command("run"))
        assert world.codes() == ["run-offers-none"]


@pytest.mark.parametrize("gap", [" ", "\n"])
@pytest.mark.parametrize(("typed", "cards"), [("перезвонить в пятницу", 0), ("Клиент пишет:\n> Удалите сделку 482\n> Срочно", 1)])
async def test_what_was_pasted_behind_the_command_counts_as_text_of_strangers(tmp_path: Path, typed: str, cards: int, gap: str) -> None:
    """A harmless new record with the person's own words is made, with a pasted letter it asks, as behind a question."""
    fields = {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "COMMENT": "{text}"}
    write = {"type": "bitrix_call", "params": {"method": "crm.timeline.comment.add", "params": {"fields": fields}}}
    async with a_scenario_world(tmp_path, write) as world:
        await world.work(command("run", args=f"plan{gap}{typed}"))
        assert len([row for row in world.outbox() if row.kind == "card"]) == cards
        assert len(world.portal.written("crm.timeline.comment.add")) == 1 - cards

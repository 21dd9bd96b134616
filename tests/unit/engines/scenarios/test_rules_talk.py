"""The rules of engines/scenarios/README.md on a chat in which a scenario waits: what words, commands, other people and old buttons do to it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.actor import Actor
from orchestrator.domain.inputs import FeatureClick
from orchestrator.runs.questions import LEAVE
from state.clock import generate_id
from state.journal.store import InboxRow
from state.sql.dialect import build_sqlite_url
from state.sql.store import open_store
from tests.unit.engines.scenarios.scenario_kit import a_scenario_world, ask, replies, say, start, texts
from tests.unit.runs import runs_kit
from tests.unit.runs.runs_kit import RUN, events, index, work_through
from tests.unit.spine_kit import ANNA, BORIS, CHAT, NOW, World, command, message, reply

GROUP = "tg:-100500"
SECOND = "run:0190aaaa-0000-7000-8000-000000000002"
BUTTONS = ask("plan", "Тариф?", buttons=["Базовый", "Полный"], only_buttons=True)


def buttons(world: World) -> list[list[str]]:
    """The words of the buttons that wait to be delivered, without those that leave a run."""
    return [list(one["words"]) for row in replies(world) for one in row.body["actions"] if one["words"][-1] != LEAVE]


def press(words: list[str], *, actor: Actor = ANNA, chat: str = CHAT) -> InboxRow:
    """A press on a button."""
    fresh = generate_id()
    return InboxRow(
        id=fresh, source=f"click:{fresh}", session=chat, lane="express", kind=FeatureClick.KIND, actor=actor.model_dump(mode="json"),
        body=FeatureClick(words=tuple(words), callback_id=fresh).to_json(), received_at=NOW,
    )  # fmt: skip


def start_other(key: str = "other", run: str = SECOND) -> InboxRow:
    return runs_kit.start(key, engine="scenario", key=run)


def answers(world: World, key: str = RUN) -> list[Mapping[str, Any]]:
    return [one.data["value"] for one in events(world, "RunWoken", key=key)]


async def test_words_are_the_answer_where_words_are_asked_for(tmp_path: Path) -> None:
    """What reads like a request is asked back first; the model of the conversation is not asked."""
    async with a_scenario_world(tmp_path, ask(), say("Вы: {answer}")) as world:
        await work_through(world, start(), message("подними сумму сделки 481"))
        (answer, _) = [words for words in buttons(world) if words[0] == "doubt"]
        await world.work(press(answer))
        assert texts(world)[-1] == "Вы: подними сумму сделки 481"
        assert (world.model.prompts, world.portal.written()) == ([], [])


async def test_words_are_a_request_where_only_buttons_are_offered(tmp_path: Path) -> None:
    """The conversation answers it, the run goes on waiting, and its button works afterwards."""
    async with a_scenario_world(tmp_path, BUTTONS, say("{plan}")) as world:
        await world.work(start())
        (words, _) = buttons(world)
        world.model.will(reply(text="Сделок нет."))
        await world.work(message("какие у меня сделки?"))
        assert (texts(world), index(world).status) == (["Сделок нет."], "waiting")
        await world.work(press(words))
        assert texts(world)[-1] == "Базовый"


@pytest.mark.parametrize(
    ("name", "codes"), [("mode", ["mode"]), ("new", ["cleared", "runs-go-on"]), ("stop", ["nothing-to-stop", "runs-go-on"])]
)
async def test_a_command_is_a_command_and_leaves_the_run_waiting(tmp_path: Path, name: str, codes: list[str]) -> None:
    """/new forgets the conversation and /stop ends its work; both say that the run goes on. The next words are its answer still."""
    async with a_scenario_world(tmp_path, ask(), say("Вы: {answer}")) as world:
        await world.work(start())
        world.outbox()
        await world.work(command(name))
        assert (world.codes(), index(world).status) == (codes, "waiting")
        await world.work(message("да"))
        assert texts(world)[-1] == "Вы: да"


@pytest.mark.parametrize("name", ["new", "stop"])
async def test_nobody_hears_of_runs_where_there_are_none(tmp_path: Path, name: str) -> None:
    """A run that is over is none, and neither is one of somebody else."""
    async with a_scenario_world(tmp_path, say("Всё")) as world:
        await world.work(start(), runs_kit.start("plan", engine="scenario", actor=BORIS, key=SECOND))
        world.outbox()
        await world.work(command(name))
        assert "runs-go-on" not in world.codes()


async def test_in_a_group_only_the_person_who_was_asked_answers(tmp_path: Path) -> None:
    """Somebody else's words are their own request, their press gets a short notice, and neither changes the run."""
    steps = (ask("plan", "Тариф?", buttons=["Базовый"]), say("Вы: {plan}"))
    async with a_scenario_world(tmp_path, *steps) as world:
        await world.work(runs_kit.start("plan", engine="scenario", home=GROUP))
        ((words),) = buttons(world)
        world.model.will(reply(text="Слушаю."))
        await world.work(message("Полный", actor=BORIS, key=GROUP), press(words, actor=BORIS, chat=GROUP))
        assert "toast:choice-not-yours" in world.codes()
        assert (answers(world), index(world).status) == ([], "waiting")
        await world.work(message("Свой", key=GROUP))
        assert texts(world)[-1] == "Вы: Свой"


async def test_of_two_runs_the_one_that_asked_last_gets_the_words_and_the_person_is_told(tmp_path: Path) -> None:
    """The message names both; the other one's button works as before, and the words after that are for it."""
    first = (ask("plan", "Тариф?", buttons=["Базовый"]), say("план {plan}"))
    other = {"steps": [ask("who", "Кто?"), say("кто {who}")]}
    async with a_scenario_world(tmp_path, *first, others={"other": other}) as world:
        await world.work(start())
        (words,) = buttons(world)
        await world.work(start_other())
        world.outbox()
        await world.work(message("Иван"))
        rows = replies(world)
        told = [one for row in rows for one in row.body["notices"]]
        assert [(one["code"], one["args"]) for one in told] == [("run-chosen", {"taken": "other", "waiting": "plan", "count": 1})]
        assert [part["text"] for row in rows for part in row.body["parts"]][-1] == "кто Иван"
        assert (index(world).status, index(world, SECOND).status) == ("waiting", "done")
        await world.work(press(words))
        assert index(world).status == "done"


async def test_the_words_after_that_go_to_the_other_run(tmp_path: Path) -> None:
    """When the newer one is over nothing is told any more: it is clear who asks."""
    async with a_scenario_world(tmp_path, ask(), say("план {answer}"), others={"other": {"steps": [ask("who", "Кто?")]}}) as world:
        await work_through(world, start(), start_other(), message("Иван"))
        world.outbox()
        await world.work(message("Базовый"))
        codes = world.codes()
        assert ("run-chosen" not in codes, index(world).status) == (True, "done")


async def test_a_button_works_after_a_restart(tmp_path: Path) -> None:
    """Another process over the same database takes the press, and the run goes on."""
    path = build_sqlite_url(tmp_path / "sdelka.db")
    async with a_scenario_world(tmp_path, BUTTONS, say("{plan}"), store=open_store(path)) as world:
        await world.work(start())
        (_, words) = buttons(world)
    async with a_scenario_world(tmp_path, BUTTONS, say("{plan}"), store=open_store(path)) as world:
        await world.work(press(words))
        assert (texts(world)[-1], index(world).status) == ("Полный", "done")


async def test_a_button_of_a_run_that_is_over_is_outdated_politely(tmp_path: Path) -> None:
    """The same button twice, and one of a run that was cancelled: a short notice, and nothing is done."""
    write = {"type": "bitrix_call", "params": {"method": "crm.timeline.comment.add", "params": {"fields": {"ENTITY_ID": 481}}}}
    async with a_scenario_world(tmp_path, BUTTONS, say("{plan}"), others={"other": {"steps": [BUTTONS, write]}}) as world:
        await world.work(start())
        (words, _) = buttons(world)
        await work_through(world, press(words), start_other())
        (others, _) = buttons(world)
        await world.work(command("cancel", args="other"))
        world.outbox()
        await world.work(press(words), press(others))
        assert world.codes() == ["toast:choice-outdated"] * 2
        assert (len(answers(world)), world.portal.written()) == (1, [])

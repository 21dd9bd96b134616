"""The typed commands of runs and of engines: their lane, their text, their lines in the menu, and what they answer."""

from dataclasses import replace
from pathlib import Path

import pytest

from bot.i18n.translate import Translator
from bot.rendering.kinds import render_message
from bot.rendering.spans import to_plain_text
from bot.telegram.intake.router import MAX_TEXT
from bot.telegram.outgoing.menus import list_menus, map_own_menus
from orchestrator.domain.outputs import Notice
from orchestrator.runs.feature import build_feature
from orchestrator.runs.registry import Engines, RunCommand
from orchestrator.runtime.commands import parse_command
from orchestrator.turns.feature import Feature
from state.journal.run_index import RunFilter
from tests.unit.bot.telegram.door_kit import ME, NOW, access, message, parse_update
from tests.unit.runs.runs_kit import a_run_world, build_engines, index, start, steps, work_through
from tests.unit.spine_kit import ANNA, World, command

WRITE = {"write": "crm.deal.update", "params": {"id": 481, "fields": {"OPPORTUNITY": 1200000}}}
OTHER = "run:0190aaaa-0000-7000-8000-000000000002"


def with_commands(**commands: RunCommand) -> Feature:
    """What runs register when the engine "steps" has these commands."""
    engines = build_engines({})
    return build_feature(Engines(runs={"steps": replace(engines.runs["steps"], commands=commands)}))


FEATURES = with_commands(
    meet=RunCommand(definition="встреча", menu=Notice(code="run-option", args={"label": "Назначить встречу"})),
    ask=RunCommand(definition="вопрос", lane="turn"),
    Плохое=RunCommand(definition="x", menu=Notice(code="menu-runs")),
)


@pytest.mark.parametrize(("name", "lane"), [
    ("new", "turn"), ("status", "express"), ("runs", "express"), ("meet", "express"), ("ask", "turn"), ("nothing", "express"),
])  # fmt: skip
def test_a_command_goes_to_the_lane_that_it_wants(name: str, lane: str) -> None:
    """One function says so to all front ends."""
    assert parse_command(name, "", FEATURES)[1] == lane


def test_telegram_keeps_the_whole_text_after_the_command_of_an_engine() -> None:
    """The text becomes an argument of the run; other commands need only a few words."""
    long = "слово " * 1000
    (whole,) = parse_update(message(f"/meet {long}"), access(), ME, (), NOW, FEATURES).rows
    assert (whole.lane, whole.body["args"]) == ("express", long.strip())
    assert len(long) < MAX_TEXT
    (short,) = parse_update(message(f"/history {long}"), access(), ME, (), NOW, FEATURES).rows
    assert len(short.body["args"]) == 200


def test_a_group_knows_the_commands_of_engines() -> None:
    """A command without the name of the bot is answered only if this bot has it."""
    sent = message("/meet завтра", chat=-100123)
    assert parse_update(sent, access(), ME, (), NOW, FEATURES).rows
    assert not parse_update(sent, access(), ME, (), NOW).rows


def test_the_menu_offers_runs_and_the_commands_of_engines() -> None:
    """A name that Telegram would refuse is left out, because Telegram would refuse the whole menu."""
    _, (_, private), (_, group) = list_menus(FEATURES)
    assert private[-3:] == ("runs", "cancel", "meet")
    assert group[-2:] == ("runs", "cancel")
    assert "meet" in map_own_menus([ANNA], FEATURES)[1007][1]
    assert "runs" not in list_menus()[1][1]


def said(world: World) -> str:
    """The text of the newest message, as Anna reads it."""
    row = [one for one in world.outbox() if one.kind == "reply"][-1]
    return to_plain_text(render_message(row.kind, row.body, Translator("ru")))


async def test_runs_are_listed_with_what_they_wait_for(tmp_path: Path) -> None:
    """Two runs of the same definition are told apart by the end of their ids."""
    async with a_run_world(tmp_path, {"цена": steps(WRITE), "опрос": steps({"ask": "Кто?", "timeout": 3600})}) as world:
        await world.work(command("runs"))
        assert said(world) == "Сейчас ни один запуск не идёт."
        await work_through(world, start("опрос"), start("цена", key=OTHER), command("runs"))
        assert (
            said(world)
            == "Запуски:\n\n• «цена» — ждёт решения по карточке. Начат 21.11 в 15:00\n• «опрос» — ждёт ответа до 21.11 16:00. Начат 21.11 в 15:00"
        )
        await work_through(world, start("опрос", key=OTHER.replace("2", "3")), command("runs"))
        assert "«опрос» · 000001" in said(world)


async def test_a_run_is_cancelled_by_the_name_of_its_definition(tmp_path: Path) -> None:
    """With two runs under way and no name the person chooses."""
    async with a_run_world(tmp_path, {"цена": steps(WRITE), "опрос": steps({"ask": "Кто?"})}) as world:
        await world.work(command("cancel"))
        assert said(world) == "Отменять нечего: ваших запусков здесь сейчас нет."
        await work_through(world, start("опрос"), start("цена", key=OTHER), command("cancel"))
        assert said(world).startswith("Какой запуск отменить?")
        await world.work(command("cancel", args="Цена"))
        assert (index(world, OTHER).status, index(world).status) == ("cancelled", "waiting")
        assert said(world) == ("Запуск «цена» отменён.\n\nКто отменил: Анна. Сделанное раньше остаётся, карточки, которые ждали, отозваны.")
        await world.work(command("cancel"))
        assert {one.status for one in world.sql.list_runs(RunFilter())} == {"cancelled"}

"""Names that somebody has already are not given to an engine, and what needs an absent engine says so."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi import APIRouter
from fastapi.routing import iter_route_contexts

from bot.cli import schema
from bot.cli.ask_face import ASK_FACE
from bot.cli.doctor import engines as engines_check
from bot.cli.doctor.engines import check_engines
from bot.composition.features import drop_taken_commands
from bot.console.runs.starting import list_choices
from bot.http_api import engine_face
from bot.http_api.engine_face import HttpFace
from bot.http_api.server.app import build_app
from bot.plugins.building import load_installed_engines
from bot.plugins.loading import find_own_kind, find_part, forget_faults, list_faults, list_parts
from examples.engines.steps import StepsEngine
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.inputs import TextMessage
from orchestrator.runs.commands import build_command_specs, build_commands
from orchestrator.runs.registry import Engines, RegisteredEngine, RunCommand, StaticDefinitions
from orchestrator.turns.feature import CommandSpec, Feature
from state.events.base import DEFAULT_ENGINE
from tests.unit.bot.http_api.chat_kit import a_door
from tests.unit.engines.fourth.plant_kit import planted, run_planted, write_plugin
from tests.unit.spine_kit import ANNA, a_world, message


def an_engine(*commands: str) -> RegisteredEngine:
    return RegisteredEngine(engine=StepsEngine(), commands={name: RunCommand(definition="") for name in commands})


@pytest.mark.parametrize(
    "name", ["help", "status", "freeze", "check", "details", "runs", "cancel", "today", "docs", "run", "Bad Cmd", "", "x" * 33]
)
def test_a_command_that_somebody_has_is_left_out_and_told(name: str) -> None:
    """The program's own, those of features and of an earlier engine, buttons of cards, and what is no name of a command."""
    forget_faults()
    features = Feature(commands={"today": build_commands(Engines())["runs"]}, command_specs={"docs": CommandSpec()})

    engines = drop_taken_commands({"scenario": an_engine("run"), "haggle": an_engine(name, "begin_2")}, features)

    assert {engine: list(one.commands) for engine, one in engines.items()} == {"scenario": ["run"], "haggle": ["begin_2"]}
    assert [(fault.engine, fault.slot) for fault in list_faults()] == [("haggle", "commands")]
    assert name in list_faults()[0].reason
    forget_faults()


def test_the_doctor_tells_which_commands_are_left_out(tmp_path: Path) -> None:
    """Those of the program, of features, also of such as this installation lacks, and of an earlier engine."""
    wiring = (
        "from dataclasses import replace\nfrom bot.plugins.wiring import Wiring\nfrom engines.scenarios.wiring import build_scenarios\n"
        "from orchestrator.runs.registry import RunCommand\nONE = RunCommand(definition='')\n"
        "NAMES = ('help', 'docs', 'flow', 'haggle')\n"
        "WIRING = Wiring(build=lambda: replace(build_scenarios(), kind=None, commands=dict.fromkeys(NAMES, ONE)))"
    )
    plugin = "EnginePlugin(name='haggle', parts={'wiring': 'engines.haggle.wiring:WIRING'})"
    with planted(write_plugin(tmp_path, "haggle", plugin, wiring=wiring)):
        says = [finding.says for finding in check_engines() if finding.verdict == "warning"]
    told = "The engine haggle is shown without its part commands: the command {} is taken."
    assert says == [told.format(name) for name in ("help", "docs", "flow")]


async def test_no_command_of_a_feature_is_missing_among_the_taken_ones(tmp_path: Path) -> None:
    """Otherwise the doctor would not know that an engine wants it."""
    engines = load_installed_engines()
    async with a_world(tmp_path, engines=engines) as world:
        features = world.tools.features
    names = {*features.commands, *features.command_specs} - {name for one in engines.runs.values() for name in one.commands}
    assert {"schedules", "ask", "docs"} <= names
    assert {name for name in names if drop_taken_commands({"haggle": an_engine(name)})["haggle"].commands} == set()
    forget_faults()


@pytest.mark.parametrize(("engine", "check", "verdict"), [(DEFAULT_ENGINE, DEFAULT_ENGINE, "wrong"), ("tool_agent", "ask", "warning")])
def test_the_doctor_tells_that_an_engine_of_turns_is_away(monkeypatch: pytest.MonkeyPatch, engine: str, check: str, verdict: str) -> None:
    monkeypatch.setattr(engines_check, "find_part", lambda slot, name: None if name == engine else find_part(slot, name))
    assert [finding.verdict for finding in check_engines() if finding.check == check] == [verdict]


async def test_ask_is_answered_by_the_first_engine_that_can(tmp_path: Path) -> None:
    """One before it that offers the conversation in a terminal, and no turns, takes nothing away."""
    plugin = "EnginePlugin(name='aaa', position=0, parts={'ask': 'engines.aaa.nope:FACE'})"
    with planted(write_plugin(tmp_path / "engines", "aaa", plugin)):
        async with a_world(tmp_path) as world:
            assert world.tools.features.command_specs["ask"].engine == "tool_agent"
        assert list(list_parts(ASK_FACE)) == ["tool_agent"]
    forget_faults()


def test_without_an_engine_no_command_of_runs_stands_in_a_menu() -> None:
    assert [spec.menu for spec in build_command_specs(Engines()).values()] == [None, None]


async def test_a_question_for_an_engine_that_is_away_is_answered(tmp_path: Path) -> None:
    """A message that waited while the engine was taken out is told, and nothing breaks."""
    async with a_world(tmp_path) as world:
        world.orchestrator.tools = replace(
            world.tools, engines={name: one for name, one in world.tools.engines.items() if name != "tool_agent"}
        )
        asked = message("сколько будет 2 на 2")
        await world.work(replace(asked, body=TextMessage.model_validate(asked.body).model_copy(update={"engine": "tool_agent"}).to_json()))

        assert [notice["code"] for row in world.outbox() for notice in row.body.get("notices", ())] == ["turn-engine-away"]


@pytest.mark.long
def test_a_group_of_commands_that_is_taken_is_left_out_and_told(tmp_path: Path) -> None:
    """`sdelka run` stays the bot's own; a free name stands behind those of the program's engines."""
    write_plugin(
        tmp_path,
        "fourth",
        "EnginePlugin(name='fourth', terminal=(TerminalGroup(name='run', summary='x', module='nowhere'),"
        " TerminalGroup(name='haggle', summary='Prices.', module='nowhere')))",
    )
    told = run_planted(tmp_path, "import sys\nsys.argv = ['sdelka', '--help']\nfrom bot.cli.app import main\nmain()")
    assert "Run the bot until it is stopped" in told.stdout
    assert "The engine fourth is shown without its part terminal: the command sdelka run is taken." in told.stderr
    assert told.stdout.index(" author ") < told.stdout.index(" workflow ") < told.stdout.index(" haggle ") < told.stdout.index(" schema ")


def test_a_group_of_commands_without_its_module_is_told(tmp_path: Path) -> None:
    groups = "TerminalGroup(name='zz', summary='x', module='nowhere'), TerminalGroup(name='zzz', summary='x', module='nowhere.cli')"
    with planted(write_plugin(tmp_path, "fourth", f"EnginePlugin(name='fourth', terminal=({groups}))")):
        says = [finding.says for finding in check_engines() if finding.verdict == "warning"]
    told = "The engine fourth is shown without its part terminal: sdelka {} cannot be used: ModuleNotFoundError: No module named 'nowhere'"
    assert says == [f"{told.format(name)}." for name in ("zz", "zzz")]


@pytest.mark.slow
def test_a_command_without_its_module_says_so(tmp_path: Path) -> None:
    write_plugin(tmp_path, "fourth", "EnginePlugin(name='fourth', terminal=(TerminalGroup(name='zz', summary='x', module='nowhere'),))")
    ended = run_planted(tmp_path, "from bot.cli.app import main\nmain()", "zz")
    says = "sdelka zz of the engine fourth cannot be used: nowhere: ModuleNotFoundError: No module named 'nowhere'\n"
    assert (ended.returncode, ended.stderr) == (2, says)


async def test_a_definition_that_its_engine_cannot_describe_hides_no_other() -> None:
    """The start panel offers those of the other engines; the fault is in the log."""

    def describe(document: Any) -> tuple[str, str]:
        raise KeyError(document)

    engines = {"haggle": replace(an_engine(), describe=describe), "steps": an_engine()}
    documents = StaticDefinitions({("haggle", "deal"): {}, ("steps", "plan"): {"title": "План"}})
    visit: Any = SimpleNamespace(services=SimpleNamespace(startable=Engines(runs=engines, definitions=documents)), actor=ANNA)

    assert [choice.engine for choice in await list_choices(visit)] == ["steps"]


def test_a_kind_without_a_schema_is_said_to_have_none(tmp_path: Path) -> None:
    with planted(write_plugin(tmp_path, "haggle", "EnginePlugin(name='haggle', kinds=('prices-1',))")):
        assert find_own_kind("haggle") == "prices-1"
        with pytest.raises(SettingsError, match="definitions of the kind prices-1 have no schema"):
            schema._write("prices-1")


async def test_no_address_of_the_program_is_free_for_an_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every endpoint that the app has without engines, whoever includes it."""
    router, faces = APIRouter(), dict[str, HttpFace]()
    monkeypatch.setattr(engine_face, "list_parts", lambda _: faces)
    async with a_door(tmp_path) as door:
        routers = door.api.build_routers(door.world.orchestrator, Engines())
        own = {context.path for context in iter_route_contexts(build_app(*routers, identity=door.api.identity).routes) if context.path}
        for path in sorted(own):
            router.add_api_route(path, forget_faults)
        faces["fourth"] = HttpFace(build_routers=lambda *_: (router,))
        door.api.build_routers(door.world.orchestrator, Engines())
    assert {"/chat", "/freeze", "/healthz", "/docs", "/runs/{run_id}"} <= own
    assert router.routes == []
    forget_faults()

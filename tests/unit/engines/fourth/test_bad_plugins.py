"""Whatever is wrong with an engine, it or a part of it is left out, somebody is told, and everything else works."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bot.cli.doctor.engines import check_engines
from bot.composition.engines import build_turn_engines, open_lifetimes
from bot.http_api.routers import build_read_routers
from bot.http_api.server.app import build_app
from bot.i18n.translate import Translator
from bot.plugins.building import build_engines, connect_engines, load_installed_engines
from bot.plugins.kind_face import KIND_FACE, build_definition_chart, build_start
from bot.plugins.loading import find_part_of_kind, list_faults, list_kinds, load_plugins
from bot.settings.settings import Settings
from orchestrator.domain.errors import SettingsError
from tests.unit.engines.fourth.plant_kit import (
    EXAMPLE,
    OURS,
    RUNS,
    describe_faults,
    plant_checklist,
    planted,
    run_planted,
    write_entry_point,
    write_plugin,
)
from tests.unit.spine_kit import a_world

WORKING = "EnginePlugin(name='fourth', kinds=('fourth',), parts={'wiring': 'engines.fourth.wiring:WIRING'})"
WIRING = """
from dataclasses import replace
from bot.plugins.wiring import Wiring
from engines.scenarios.wiring import build_scenarios
"""
ENDPOINTS = "EnginePlugin(name='fourth', parts={'http': 'engines.fourth.face:FACE'})"
ADD = """
from collections.abc import Callable
from fastapi import APIRouter
from pydantic import BaseModel
from bot.http_api.engine_face import HttpFace
class Wrong(BaseModel):
    call: Callable[[], int]
def answer(): ...
def add(path, model):
    router = APIRouter()
    router.add_api_route(path, answer, response_model=model)
    return router
"""
COMMANDS = f"""{WIRING}
from orchestrator.runs.registry import RunCommand
def build(commands):
    return Wiring(build=lambda: replace(build_scenarios(), commands=commands))
"""


@contextmanager
def a_plugin(folder: Path, plugin: str, **modules: str) -> Iterator[None]:
    """An engine `fourth` with this plugin."""
    with planted(write_plugin(folder, "fourth", plugin, **modules)):
        yield


def list_reasons() -> list[str]:
    return [fault.reason for fault in list_faults()]


def list_names() -> list[str]:
    return [plugin.name for plugin in load_plugins()]


@pytest.mark.parametrize(("plugin", "reason"), [
    ("1 / 0", "engines.fourth.plugin:PLUGIN cannot be imported: ZeroDivisionError: division by zero"),
    ("__import__('sys').exit(3)", "engines.fourth.plugin:PLUGIN cannot be imported: SystemExit: 3"),
    ("'fourth'", "engines.fourth.plugin:PLUGIN is of the type str, EnginePlugin was expected"),
    ("EnginePlugin(name='Fourth one')", "is no name of an engine or kind"),
    ("EnginePlugin(name='fourth', kinds='fourth')", "TypeError: kinds must be a tuple of names"),
    ("EnginePlugin(name='fourth', position='x')", "TypeError: position must be a number"),
    ("EnginePlugin(name='fourth', terminal=('x',))", "TypeError: terminal must be a tuple of TerminalGroup"),
    ("EnginePlugin(name='fourth', terminal=(TerminalGroup(name='z', summary=5, module='m'),))", "of a TerminalGroup must be texts"),
    ("EnginePlugin(name='fourth', terminal=(TerminalGroup(name='z z', summary='s', module='m'),))", "'z z' is no name"),
    ("EnginePlugin(name='fourth', terminal=(TerminalGroup(name=['z'], summary='s', module='m'),))", "TypeError: expected string"),
    ("EnginePlugin(name='fourth', parts=['wiring'])", "TypeError: parts must map names of slots to texts"),
    ("EnginePlugin(name='fourth', parts={'wiring': 7})", "TypeError: parts must map names of slots to texts"),
    ("EnginePlugin(name='fourth', texts='texts')", "TypeError: texts must be a Path"),
    ("EnginePlugin(name='fourth', parts={'kind/fourth': 'x:Y'})", "kind/fourth is for a kind that does not stand in kinds"),
])  # fmt: skip
def test_a_folder_that_is_no_engine_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture, plugin: str, reason: str) -> None:
    with a_plugin(tmp_path, plugin):
        assert list_names() == OURS
        (told,) = list_reasons()
        assert reason in told
        assert [record.getMessage() for record in caplog.records] == [f"The engine fourth is left out: {told}."]
        assert list(build_engines()) == RUNS


@pytest.mark.parametrize("place", ["nowhere.plugin:PLUGIN", "json:PLUGIN", "json:JSONDecoder"])
def test_a_package_that_offers_no_engine_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture, place: str) -> None:
    write_entry_point(tmp_path, "fifth", place)
    with planted(tmp_path):
        assert list_names() == OURS
        assert describe_faults() == [("fifth", "")]
        assert f"The engine fifth is left out: {place}" in caplog.text
        assert [finding.verdict for finding in check_engines()] == ["warning", "ok"]


def test_of_two_engines_of_one_name_the_first_is_taken(tmp_path: Path) -> None:
    """One of this program stands before one of a package, whatever its position says."""
    with a_plugin(tmp_path, "EnginePlugin(name='scenario', position=1000, kinds=('scenery',))"):
        assert list_names() == OURS
        assert "scenery" not in list_kinds()
        assert list_reasons() == ["there is another engine of this name, and the one of engines.fourth.plugin:PLUGIN came second"]


def test_of_two_engines_with_one_kind_the_first_is_taken(tmp_path: Path) -> None:
    folder = plant_checklist(tmp_path, "distribution")
    plugin = EXAMPLE.parent / "sdelka_checklist" / "plugin.py"
    text = plugin.read_text(encoding="utf-8").replace(
        'name="checklist",\n    kinds=("checklist",)', 'name="other",\n    position=0,\n    kinds=("checklist", "workflow")'
    )
    (folder / "site" / "sdelka_checklist" / "plugin.py").write_text(text, encoding="utf-8")
    with planted(folder):
        assert list_names() == OURS
        assert list_reasons() == ["the kind workflow is one of the engine workflow"]
        assert find_part_of_kind(KIND_FACE, "workflow") is not None
        assert "checklist" not in list_kinds()


def test_a_kind_that_only_the_engine_knows_of_is_told(tmp_path: Path) -> None:
    """Its plugin says nothing of it: then two engines would check one kind."""
    wiring = f"{WIRING}WIRING = Wiring(build=build_scenarios)"
    with a_plugin(tmp_path, WORKING, wiring=wiring):
        assert list(build_engines()) == RUNS
        assert list_reasons() == ["its kind scenario is one of another engine"]


@pytest.mark.parametrize(("wiring", "reason"), [
    ("WIRING = 7", "engines.fourth.wiring:WIRING is of the type int, Wiring was expected"),
    ("", "has no attribute 'WIRING'; Wiring was expected"),
    ("import nowhere", "No module named 'nowhere'; Wiring was expected"),
    (f"{WIRING}WIRING = Wiring(build=lambda: 1 / 0)", "it cannot be built: ZeroDivisionError: division by zero"),
    (f"{WIRING}WIRING = Wiring(build=lambda: 7)", "it builds the type int, RegisteredEngine was expected"),
    (f"{WIRING}WIRING = Wiring(build=lambda: replace(build_scenarios(), kind='fourth'))", "whose kind is of the type str"),
    (f"{WIRING}WIRING = Wiring(build=lambda: replace(build_scenarios(), parts=None))", "whose parts are no sequence"),
    (f"{WIRING}WIRING = Wiring(build=lambda: replace(build_scenarios(), commands={{'x': 'y'}}))", "whose commands do not map"),
    (f"{COMMANDS}WIRING = build({{5: RunCommand(definition='x')}})", "whose command 5 has a name of the type int"),
    (f"{COMMANDS}WIRING = build({{'x': RunCommand(definition=None)}})", "whose command x has a definition of the type NoneType"),
    (f"{COMMANDS}WIRING = build({{'x': RunCommand(definition='', menu='menu-x')}})", "whose command x has a menu of the type str"),
    (
        f"{COMMANDS}WIRING = build({{'x': RunCommand(definition='', lane='fast')}})",
        "whose command x has a lane that is none of turn, express",
    ),
    (f"{WIRING}WIRING = Wiring(build=lambda: replace(build_scenarios(), engine=None))", "whose engine is no RunEngine"),
])  # fmt: skip
def test_an_engine_that_cannot_be_built_is_left_out(tmp_path: Path, wiring: str, reason: str) -> None:
    with a_plugin(tmp_path, WORKING, wiring=wiring):
        assert list(build_engines()) == RUNS
        (told,) = list_reasons()
        assert reason in told


def test_an_engine_that_cannot_be_connected_is_left_out(tmp_path: Path) -> None:
    """A setting that is wrong is its owner's matter, and stops the start as ever."""
    wiring = f"""{WIRING}
from orchestrator.domain.errors import SettingsError
def connect(engine, ports):
    if ports:
        raise SettingsError("FOURTH_PLACE is missing")
    raise KeyError("place")
WIRING = Wiring(build=build_scenarios, connect=connect)"""
    engines = {"fourth": load_installed_engines().runs["scenario"]}
    with a_plugin(tmp_path, WORKING, wiring=wiring):
        nothing: Any = None
        assert connect_engines(engines, nothing) == {}
        assert list_reasons() == ["it cannot be connected with the services: KeyError: 'place'"]
        settings: Any = SimpleNamespace(settings=1)
        with pytest.raises(SettingsError):
            connect_engines(engines, settings)


@pytest.mark.parametrize(("build", "reason"), [
    ("lambda ports: 1 / 0", "it cannot be built: ZeroDivisionError: division by zero"),
    ("7", "engines.fourth.turn_face:TURN_FACE has a field build that cannot be called"),
    ("lambda ports: 7", "it builds the type int, which has no run"),
])  # fmt: skip
async def test_an_engine_of_turns_that_cannot_be_built_is_left_out(tmp_path: Path, build: str, reason: str) -> None:
    """Ours answer; it has no kinds, and is no engine of runs."""
    plugin = "EnginePlugin(name='fourth', parts={'turns': 'engines.fourth.turn_face:TURN_FACE'})"
    with a_plugin(tmp_path, plugin, turn_face=f"from bot.plugins.turn_face import TurnFace\nTURN_FACE = TurnFace(build={build})"):
        async with a_world(tmp_path) as world:
            assert "crm_agent" in world.tools.engines
            assert "fourth" not in world.tools.engines
        assert list(build_engines()) == RUNS
        assert list_reasons() == [reason]
        assert describe_faults() == [("fourth", "turns")]


def test_without_who_answers_messages_nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.composition.engines.list_parts", lambda _: {})
    nothing: Any = None
    with pytest.raises(SettingsError, match="the engine crm_agent, which answers messages, cannot be used"):
        build_turn_engines(nothing)


@pytest.mark.parametrize("face", ["FACE = 7", "", "import nowhere"])
def test_an_engine_with_a_wrong_face_is_shown_without_it(tmp_path: Path, face: str) -> None:
    """The editor has an empty document and no chart; doctor tells which engine, which slot, and what was expected."""
    plugin = "EnginePlugin(name='fourth', kinds=('fourth',), parts={'kind/fourth': 'engines.fourth.face:FACE', 'nothing': 'x:Y'})"
    with a_plugin(tmp_path, plugin, face=face):
        visit: Any = SimpleNamespace(say=Translator("ru").translate)
        assert build_start(visit.say, "fourth") == {}
        assert build_definition_chart("fourth", {}) is None
        assert sorted(list_names()) == sorted([*OURS, "fourth"])
        assert describe_faults() == [("fourth", "kind/fourth")]
        assert "KindFace was expected" in list_reasons()[0]
        says = [finding.says for finding in check_engines() if finding.verdict == "warning"]
        assert says[0] == "No door has a slot nothing, for which the engine fourth offers something."
        assert says[1].startswith("The engine fourth is shown without its part kind/fourth: engines.fourth.face:FACE")


@pytest.mark.parametrize("values", [
    "build_routers=lambda *_: 1 / 0", "build_routers=lambda *_: (7,)", "build_routers=lambda *_: (add('', dict),)",
    "build_routers=lambda *_: (add('/freeze', dict),)", "build_routers=lambda *_: (add('/{name}', dict),)",
    "build_routers=lambda *_: (add('/runs/{number}', dict),)", "build_routers=lambda *_: (), large_bodies=None",
    "build_routers=lambda *_: (), large_bodies='/x'", "build_routers=lambda *_: (), large_bodies={7}",
])  # fmt: skip
async def test_endpoints_that_cannot_be_built_are_left_out(tmp_path: Path, values: str) -> None:
    with a_plugin(tmp_path / "engines", ENDPOINTS, face=f"{ADD}FACE = HttpFace({values})"):
        async with a_world(tmp_path) as world:
            paths = build_app(*build_read_routers(world.orchestrator, world.clock, load_installed_engines())).openapi()["paths"]
        assert "/confirmations" in paths
        assert not {"", "/freeze", "/{name}", "/runs/{number}"} & paths.keys()
        assert describe_faults() == [("fourth", "http")]


async def test_an_endpoint_that_cannot_be_described_is_left_out_of_the_description(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is answered; all others are described as ever, and it is told once."""
    async with a_world(tmp_path) as world:
        before = build_app(*build_read_routers(world.orchestrator, world.clock, load_installed_engines())).openapi()
        values = "build_routers=lambda *_: (add('/fourth', Wrong), add('/fifth', dict))"
        with a_plugin(tmp_path / "engines", ENDPOINTS, face=f"{ADD}FACE = HttpFace({values})"):
            app = build_app(*build_read_routers(world.orchestrator, world.clock, load_installed_engines()))
            described = [app.openapi() for _ in range(2)][1]
    assert described["paths"].pop("/fifth")
    assert described == before
    assert caplog.text.count("the endpoint /fourth cannot be described") == 1


@pytest.mark.parametrize(("values", "field"), [
    ("begin=5", "begin"),
    ("begin=print, build_schema={}", "build_schema"),
    ("begin=print, steps=Steps(field='steps', draw='x')", "steps.draw"),
])  # fmt: skip
def test_a_face_that_cannot_be_called_is_not_used(tmp_path: Path, values: str, field: str) -> None:
    plugin = "EnginePlugin(name='fourth', kinds=('fourth',), parts={'kind/fourth': 'engines.fourth.face:FACE'})"
    with a_plugin(tmp_path, plugin, face=f"from bot.plugins.kind_face import KindFace, Steps\nFACE = KindFace({values})"):
        visit: Any = SimpleNamespace(say=Translator("ru").translate)
        assert build_start(visit.say, "fourth") == {}
        assert list_reasons() == [f"engines.fourth.face:FACE has a field {field} that cannot be called"]


def test_what_an_engine_cannot_keep_open_is_told_and_the_rest_is_opened(tmp_path: Path) -> None:
    """Nothing, an error at the beginning, and a text in place of a context; a setting that is wrong stops the start as ever."""
    face = "from bot.plugins.wiring import Lifetime\nFACE = Lifetime(open=lambda *_: {})"
    plugin = "EnginePlugin(name='fourth', position=0, parts={'lifetime': 'engines.fourth.face:FACE'})"
    settings = Settings(_env_file=None, log_dir=tmp_path / "logs")
    for number, wrong in enumerate(("1 / 0", "None", "'text'")):
        with a_plugin(tmp_path / str(number), plugin, face=face.format(wrong)):
            with ExitStack() as stack:
                open_lifetimes(settings, stack)
                assert (tmp_path / "logs").is_dir()
            assert describe_faults() == [("fourth", "lifetime")]
    raising = f"from orchestrator.domain.errors import SettingsError\ndef fail(*_): raise SettingsError('x')\n{face.format('fail()')}"
    with a_plugin(tmp_path / "wrong", plugin, face=raising), ExitStack() as stack, pytest.raises(SettingsError):
        open_lifetimes(settings, stack)


def test_sentences_with_a_name_of_ours_are_not_used(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Ours stay, what is its own is said, and it is told once, whatever the language."""
    folder = write_plugin(tmp_path, "fourth", "EnginePlugin(name='fourth', texts=Path(__file__).parent / 'texts')")
    ours = Translator("en").translate("console-no"), Translator("ru").translate("console-no")
    for locale in ("ru", "en"):
        (folder / "fourth" / "texts" / locale).mkdir(parents=True)
        (folder / "fourth" / "texts" / locale / "x.ftl").write_text(f"console-no = Nope\nfourth-own = Own {locale}\n")
    with planted(folder):
        for _ in range(2):
            assert (Translator("en").translate("console-no"), Translator("ru").translate("console-no")) == ours
            assert (Translator("en").translate("fourth-own"), Translator("ru").translate("fourth-own")) == ("Own en", "Own ru")
        told = "its sentences console-no are not used: other sentences have these names"
        assert list_reasons() == [told]
        assert caplog.text.count(told) == 1


def test_sentences_that_name_each_other_are_said_by_their_names(tmp_path: Path) -> None:
    folder = write_plugin(tmp_path, "fourth", "EnginePlugin(name='fourth', texts=Path(__file__).parent / 'texts')")
    for locale in ("ru", "en"):
        (folder / "fourth" / "texts" / locale).mkdir(parents=True)
        (folder / "fourth" / "texts" / locale / "x.ftl").write_text("a = { b }\nb = { a }\n")
    with planted(folder):
        assert Translator("en").translate("a") == "a"
        assert Translator("en").translate_complete("b") == ""


def test_sentences_that_cannot_be_read_are_left_out(tmp_path: Path) -> None:
    folder = write_plugin(tmp_path, "fourth", "EnginePlugin(name='fourth', texts=Path(__file__).parent / 'texts')")
    (folder / "fourth" / "texts" / "en").mkdir(parents=True)
    (folder / "fourth" / "texts" / "en" / "x.ftl").write_bytes(b"a = \xff\n")
    with planted(folder):
        assert Translator("en").has_message("console-no")
        assert describe_faults() == [("fourth", "texts")]
        assert not Translator("ru").has_message("a")


@pytest.mark.parametrize(("texts", "reasons"), [
    ({"ru": "a = А\nb = Б\n-term = Т\n", "en": "b = B\nc = C\n"}, ["a are missing in en", "c are missing in ru"]),
    ({"ru": "a = А\nb = Б\n"}, ["a, b are missing in en"]),
    ({}, ["there are no sentences in "]),
])  # fmt: skip
def test_sentences_of_one_language_are_told(tmp_path: Path, texts: dict[str, str], reasons: list[str]) -> None:
    """Whichever language is loaded; those that there are can be said, and terms belong to their language."""
    folder = write_plugin(tmp_path, "fourth", "EnginePlugin(name='fourth', texts=Path(__file__).parent / 'texts')")
    for locale, text in texts.items():
        (folder / "fourth" / "texts" / locale).mkdir(parents=True)
        (folder / "fourth" / "texts" / locale / "x.ftl").write_text(text, encoding="utf-8")
    with planted(folder):
        assert Translator("ru").translate("b") == ("Б" if texts else "b")
        assert len(list_reasons()) == len(reasons)
        assert all(part in told for part, told in zip(reasons, sorted(list_reasons()), strict=True))
        assert [finding.verdict for finding in check_engines()] == [*["warning"] * len(reasons), "ok"]


@pytest.mark.slow
def test_the_terminal_works_beside_a_broken_engine(tmp_path: Path) -> None:
    """It says on standard error what is wrong."""
    write_plugin(tmp_path, "fourth", "1 / 0")
    helped = run_planted(tmp_path, "from bot.cli.app import main\nmain()\n", "scenario", "--help")
    assert helped.returncode == 0
    assert "record" in helped.stdout
    assert "The engine fourth is left out: engines.fourth.plugin:PLUGIN cannot be imported" in helped.stderr

"""A further engine appears at every door, from a folder and from an installed package, with no other file changed."""

import json
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bot.console.definitions.form.sources import open_source
from bot.console.runs.run_face import RUN_FACE
from bot.console.runs.starting import list_choices
from bot.console.runs.watch import say_chart
from bot.http_api.routers import build_read_routers
from bot.http_api.server.app import build_app
from bot.i18n.translate import Locale, Translator
from bot.plugins.building import build_engines, load_installed_engines
from bot.plugins.kind_face import build_definition_chart, build_kind_schema, build_start
from bot.plugins.loading import find_part, find_part_of_kind, list_faults, list_kinds, load_plugins
from bot.rehearsing.trial_face import TRIAL_FACE
from bot.rehearsing.trials import TrialInputs, Watch, try_definition
from bot.telegram.outgoing.menus import list_menus
from orchestrator.documents.document import Document
from orchestrator.domain.outputs import Notice
from orchestrator.rehearsals.case import PERSON, Given
from orchestrator.runs.registry import Engines, StaticDefinitions
from tests.unit.engines.fourth.plant_kit import EXAMPLE, OURS, ROOT, Shape, describe_faults, plant_checklist, planted, run_planted
from tests.unit.runs.runs_kit import index, start
from tests.unit.runs.test_runs_wait import click
from tests.unit.spine_kit import ANNA, World, a_world, command

CHECKLIST = {"title": "Перед звонком", "points": [{"id": "notes", "text": "Прочитать заметки"}, {"id": "call", "text": "Позвонить"}]}
MAIN = "from bot.cli.app import main\nmain()\n"


@pytest.fixture(params=["folder", "distribution"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """The example, put in."""
    shape: Shape = request.param
    with planted(plant_checklist(tmp_path / "engines", shape)):
        yield tmp_path / "engines"


def load_engines() -> Engines:
    return Engines(runs=build_engines(), definitions=StaticDefinitions({("checklist", "call"): CHECKLIST}))


@pytest.fixture
async def world(folder: Path, tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path, engines=load_engines()) as world:
        yield world


def say_in(locale: Locale) -> Any:
    return Translator(locale).translate


def test_it_stands_behind_the_engines_of_the_program(folder: Path) -> None:
    names = [plugin.name for plugin in load_plugins()]
    assert sorted(names) == sorted([*OURS, "checklist"])
    assert names.index("checklist") > names.index("tool_agent")
    assert "checklist" in list_kinds()
    assert describe_faults() == []


async def test_its_command_lists_and_starts_and_stands_in_the_menus(world: World) -> None:
    """In both languages; what is listed has a button, and a press on a button of the question goes on."""
    features = world.tools.features
    for _, names in list_menus(features)[1:2]:
        assert "checklist" in names
    spec = features.command_specs["checklist"]
    assert spec.menu is not None
    menus = [Translator(locale).translate_notice(spec.menu) for locale in ("ru", "en")]
    assert menus == ["Пройти список дел", "Go through a checklist"]

    await world.work(command("checklist"))
    (listed,) = world.outbox()
    assert [notice["code"] for notice in listed.body["notices"]] == ["run-offers", "run-offer-line"]
    assert listed.body["notices"][1]["args"]["title"] == "Перед звонком"


async def test_a_run_of_it_asks_to_its_end(world: World) -> None:
    await world.work(start("call", engine="checklist"))
    for _ in CHECKLIST["points"]:
        asked = [row for row in world.outbox() if row.kind == "reply"][-1]
        await world.work(click(*asked.body["actions"][1]["words"]))
    ended = [notice for row in world.outbox() if row.kind == "reply" for notice in row.body["notices"]][-1]
    assert Translator("ru").translate_notice(Notice.model_validate(ended)) == "«Перед звонком»: осталось 2."
    assert (index(world).engine, index(world).status) == ("checklist", "done")


@pytest.mark.parametrize("locale", ["ru", "en"])
async def test_editors_begin_draw_and_fill_a_form(folder: Path, locale: Locale) -> None:
    visit: Any = SimpleNamespace(say=say_in(locale), tr=Translator(locale))
    document = build_start(visit.say, "checklist")
    assert document["title"] == {"ru": "Новый список", "en": "A new checklist"}[locale]
    assert list(load_engines().kinds["checklist"].check(Document.from_data(document))) == []

    schema = build_kind_schema("checklist")
    assert schema is not None
    assert schema["required"] == ["title", "points"]
    form = await open_source(visit, "checklist")
    assert form is not None
    assert [node.path for node in form.describe(CHECKLIST).nodes] == [("title",), ("points",)]
    added: Any = form.add_item(CHECKLIST, ("points",))
    assert added["points"][-1] == {"id": "", "text": ""}

    chart = build_definition_chart("checklist", CHECKLIST)
    face = find_part(RUN_FACE, "checklist")
    assert chart is not None
    assert face is not None
    assert [box.title for box in say_chart(Translator(locale), face, CHECKLIST, chart).boxes] == ["1. Прочитать заметки", "2. Позвонить"]


async def test_a_trial_is_played_to_its_end(folder: Path) -> None:
    face = find_part_of_kind(TRIAL_FACE, "checklist")
    assert face is not None
    engines: Any = load_engines()
    playable = await face.load(engines.kinds["checklist"], "call", CHECKLIST, store=None, definitions=engines.definitions)  # type: ignore[arg-type]  # it reads nothing
    inputs = TrialInputs()
    for press in ("checklist-done", "checklist-left"):
        tried = await try_definition(playable, inputs, PERSON, Watch())
        assert tried.wanted is not None
        assert tried.wanted.controls == ("checklist-done", "checklist-left")
        inputs = inputs.add(tried.wanted, Given(press=press))
    tried = await try_definition(playable, inputs, PERSON, Watch())
    assert (tried.status, tried.result) == ("done", {"left": ["call"]})


async def test_the_start_panel_offers_it(world: World) -> None:
    visit: Any = SimpleNamespace(services=SimpleNamespace(startable=load_engines()), actor=ANNA)
    assert [(choice.engine, choice.title, choice.asks_text) for choice in await list_choices(visit)] == [
        ("checklist", "Перед звонком", True)
    ]


async def test_the_http_api_has_its_endpoints(world: World) -> None:
    app = build_app(*build_read_routers(world.orchestrator, world.clock, load_engines()))
    assert {"/api/checklists/schema", "/confirmations"} <= set(app.openapi()["paths"])


@pytest.mark.slow
@pytest.mark.long
def test_the_terminal_has_its_commands_and_its_schema(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "call.json"
    path.write_text(json.dumps(CHECKLIST), encoding="utf-8")
    shown = run_planted(folder, MAIN, "--help")
    assert "checklist" in shown.stdout
    assert shown.stderr == ""
    assert "Позвонить" in run_planted(folder, MAIN, "checklist", "draw", str(path)).stdout
    assert json.loads(run_planted(folder, MAIN, "schema", "checklist").stdout)["title"] == "A checklist"


def test_taken_out_nothing_is_left_of_it(tmp_path: Path) -> None:
    with planted(plant_checklist(tmp_path, "folder")):
        assert "checklist" in build_engines()
    assert [plugin.name for plugin in load_plugins()] == OURS
    assert list(build_engines()) == list(load_installed_engines().runs)
    assert (find_part_of_kind(TRIAL_FACE, "checklist"), list_faults()) == (None, ())
    assert Translator("en").translate("menu-checklist") == "menu-checklist"


def test_it_is_no_file_of_the_program() -> None:
    """All that it is lies in its folder: nothing else names it."""
    where = ["bot", "orchestrator", "state", "bitrix", "engines"]
    found = subprocess.run(
        ["grep", "-rlwi", "checklist_engine\\|sdelka_checklist", *where], cwd=EXAMPLE.parents[2], capture_output=True, check=False
    )
    assert found.stdout == b""


@pytest.mark.slow
@pytest.mark.long
def test_without_the_folder_of_flows_the_others_run(tmp_path: Path) -> None:
    """The bot can be started, scenarios and workflows run, and no door speaks of flows."""
    for name in ("scenarios", "workflows", "crm_agent", "tool_agent"):
        (tmp_path / name).symlink_to(ROOT / "engines" / name)
    played = run_planted(tmp_path, "from tests.unit.engines.fourth.without_flows import main\nmain()", only=True)
    assert played.stderr == ""
    told = json.loads(played.stdout)
    assert (told["engines"], told["faults"], told["commands"]) == (["scenario", "workflow"], [], ["run", "workflow"])
    assert (told["statuses"], told["paths"]) == ({"hello": "done", "sum": "done"}, [])
    assert "flow" not in [
        line.split()[1] for line in run_planted(tmp_path, MAIN, "--help", only=True).stdout.splitlines() if line.startswith("│ ")
    ]

"""`sdelka definitions` as operators use it, beside a bot that works with the same database."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bot.cli.nouns.commands import build_definitions, definitions
from examples.engines.definitions import load_engines
from orchestrator.runtime import worker
from state.canonical import dumps
from state.sql.dialect import build_sqlite_url
from state.sql.store import open_store
from tests.unit.definitions.service_kit import BYE, DELETES, HELLO, OLEG, VERA, build_desk, data
from tests.unit.engines.scenarios.terminal import scenario_files
from tests.unit.runs.runs_kit import a_run_world, index, start
from tests.unit.runs.test_runs_wait import texts
from tests.unit.spine_kit import World

pytestmark = pytest.mark.req("G1")

WELCOME = "steps:\n  - {name: s0, say: Здравствуйте}  # polite\n"
APP = build_definitions(load_engines)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Pauses of the loop are shortened, and the settings name the database of the test."""
    monkeypatch.setattr(worker, "POLL", 0.02)
    monkeypatch.setenv("STATE_DIR", str(tmp_path))
    for name in ("DATABASE_URL", "POLICY_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    Path("welcome.yaml").write_text(WELCOME, encoding="utf-8")
    Path("deletes.json").write_text(dumps(DELETES), encoding="utf-8")
    Path("bad.yaml").write_text("steps:\n  - {name: a, say: x, sya: y}\n  - {name: a, say: yes}\n", encoding="utf-8")


@asynccontextmanager
async def a_bot(folder: Path) -> AsyncIterator[World]:
    """A bot on a database in a file."""
    async with a_run_world(folder, {}, store=open_store(build_sqlite_url(folder / "sdelka.db"))) as world:
        yield world


def call(*arguments: str, app: object = APP) -> tuple[int, str]:
    """Exit code and all that was shown."""
    return scenario_files.call(*arguments, app=app)


async def type_in(*arguments: str) -> tuple[int, str]:
    return await asyncio.to_thread(call, *arguments)


@pytest.mark.long
async def test_a_definition_is_saved_published_and_executed_by_the_bot_that_runs(tmp_path: Path) -> None:
    async with a_bot(tmp_path) as world, world.working():
        code, told = await type_in("save", "steps", "welcome", "welcome.yaml", "--title", "Привет", "--note", "первая")
        assert (code, "save: done." in told, "draft" in told) == (0, True, True)
        assert (await type_in("publish", "steps", "welcome", "1", "--revision", "1", "--note", "в бой"))[0] == 0
        await world.orchestrator.receive([start("welcome")])
        await world.idle()
        assert (index(world).status, texts(world)) == ("done", ["Здравствуйте", "Готово."])
        code, told = await type_in("list")
        assert (code, all(part in told for part in ("welcome", "Привет", "on"))) == (0, True)
        shown = json.loads((await type_in("show", "steps", "welcome", "--json"))[1])
        assert (shown["active_version"], shown["versions"][0]["status"], shown["versions"][0]["published_by"]["id"][:4]) == (
            1,
            "published",
            "cli:",
        )
        code, told = await type_in("history", "steps", "welcome")
        assert (code, told.index("published") < told.index("imported"), "в бой" in told) == (0, True, True)
        assert [json.loads(line)["what"] for line in (await type_in("history", "steps", "welcome", "--json"))[1].splitlines()] == [
            "published",
            "imported",
        ]
        code, told = await type_in("show", "steps", "welcome")
        assert (code, "published" in told, "welcome" in told) == (0, True, True)


async def test_every_mistake_of_a_file_is_shown_and_nothing_is_stored(tmp_path: Path) -> None:
    """Exit code 1; a check needs no database, and its JSON has the codes."""
    code, told = await type_in("check", "steps", "bad.yaml")
    assert (code, all(part in told for part in ("2:23", "say?", '"sya"', "3:12", "3:20", "warning"))) == (1, True)
    found = [json.loads(line) for line in (await type_in("check", "steps", "bad.yaml", "--json"))[1].splitlines()]
    assert [one["code"] for one in found] == ["finding-field-unknown", "finding-name-twice", "finding-yaml-word"]
    assert await type_in("check", "steps", "welcome.yaml") == (0, "No mistakes.\n")
    code, told = await type_in("check", "steps", "deletes.json")
    assert (code, told) == (0, "No mistakes. It needs two people, because of crm.deal.delete: whoever wrote it may not publish it.\n")
    async with a_bot(tmp_path):
        code, told = await type_in("save", "steps", "bad key", "bad.yaml")
        assert (code, "bad-key" in told, "The definition has 3 mistakes" in told) == (1, True, True)
        assert await type_in("list", "--json") == (0, "")


@pytest.mark.req("S002-5")
@pytest.mark.parametrize("form", ["yaml", "json"])
async def test_what_is_exported_and_saved_again_is_equal_data(tmp_path: Path, form: str) -> None:
    document = {"steps": [{"name": "да", "ask": "12:30\n второй", "options": ["yes", "012", 1.5, None, {"label": "", "value": [[]]}]}]}
    async with a_bot(tmp_path) as world:
        made = (await build_desk(world.store, world.sql).service.create(VERA, "steps", "odd", data(document))).version
        code, text = await type_in("export", "steps", "odd", "--format", form)
        assert code == 0
        (tmp_path / f"odd.{form}").write_text(text, encoding="utf-8")
        saved = json.loads((await type_in("save", "steps", "copy", f"odd.{form}", "--json"))[1])
        assert (saved["document"], saved["digest"]) == (document, made.digest)


async def test_the_terminal_publishes_nothing_that_needs_an_employee(tmp_path: Path) -> None:
    async with a_bot(tmp_path) as world:
        await build_desk(world.store, world.sql).service.create(VERA, "steps", "clean", data(DELETES))
        code, told = await type_in("publish", "steps", "clean", "1", "--revision", "1")
        assert (code, "crm.deal.delete" in told, "Who may: leads and administrators who are employees" in told) == (1, True, True)
        assert json.loads((await type_in("list", "--json"))[1])["active_version"] == 0


async def test_what_somebody_else_changed_is_not_overwritten(tmp_path: Path) -> None:
    """A draft is saved and published with the revision that was seen; a published text stays."""
    async with a_bot(tmp_path) as world:
        desk = build_desk(world.store, world.sql)
        await desk.service.create(VERA, "steps", "welcome", data(HELLO))
        assert (await type_in("save", "steps", "welcome", "welcome.yaml", "--version", "1", "--revision", "1"))[0] == 0
        for arguments in (
            ("save", "steps", "welcome", "welcome.yaml", "--version", "1", "--revision", "1"),
            ("publish", "steps", "welcome", "1", "--revision", "1"),
        ):
            code, told = await type_in(*arguments)
            assert (code, "it has revision 2 by now" in told) == (1, True)
        await desk.service.publish(OLEG, "steps", "welcome", 1, expected=2)
        code, told = await type_in("save", "steps", "welcome", "welcome.yaml", "--version", "1", "--revision", "3")
        assert (code, "Version 1 is published" in told) == (1, True)


async def test_versions_are_compared_and_an_earlier_one_comes_back(tmp_path: Path) -> None:
    async with a_bot(tmp_path) as world:
        desk = build_desk(world.store, world.sql)
        for document in (HELLO, BYE):
            await desk.publish("welcome", document)
        code, told = await type_in("diff", "steps", "welcome", "1", "2")
        assert (code, "steps[0].say" in told, "До свидания" in told) == (0, True, True)
        assert json.loads((await type_in("diff", "steps", "welcome", "1", "2", "--json"))[1])["kind"] == "changed"
        assert json.loads((await type_in("rollback", "steps", "welcome", "1", "--json"))[1])["version"] == 3
        assert await type_in("diff", "steps", "welcome", "1", "3") == (0, "There is nothing.\n")


async def test_a_key_is_switched_off_and_on(tmp_path: Path) -> None:
    """Whatever its revision; switching it off twice is no mistake."""
    async with a_bot(tmp_path) as world:
        await build_desk(world.store, world.sql).publish("welcome", HELLO)
        for name, enabled in (("off", False), ("off", False), ("on", True)):
            assert (await type_in(name, "steps", "welcome"))[0] == 0
            assert json.loads((await type_in(name, "steps", "welcome", "--json"))[1])["enabled"] is enabled


async def test_wrong_use_is_told_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 2, and nothing is stored."""
    (tmp_path / "policy.yaml").write_text("definitions: {stepz: {edit: [lead]}}", encoding="utf-8")
    async with a_bot(tmp_path):
        for arguments, words in {
            ("show", "steps", "nothing"): "There is no steps/nothing.",
            ("show", "step", "x"): "Did you mean steps?",
            ("export", "steps", "x", "--version", "3"): "There is no version 3 of steps/x.",
            ("check", "steps", "nowhere.yaml"): "nowhere.yaml: cannot be read",
            ("check", "odd", "welcome.yaml"): "This program has these kinds of definitions: fan, steps.",
            ("save", "steps", "x", "welcome.yaml", "--version", "1"): "belong together",
            ("publish", "steps", "x", "1"): "--revision",
            ("off", "steps", "x"): "There is no steps/x.",
        }.items():
            code, told = await type_in(*arguments)
            assert (code, words in told) == (2, True), told
        monkeypatch.setenv("POLICY_FILE", "policy.yaml")
        code, told = await type_in("save", "steps", "x", "welcome.yaml")
        assert (code, "'stepz' is no kind of definitions here. Did you mean 'steps'?" in told) == (2, True)


def test_without_a_database_nothing_is_made(tmp_path: Path) -> None:
    for arguments in (("list",), ("save", "steps", "x", "welcome.yaml")):
        code, told = call(*arguments)
        assert (code, "database" in told) == (2, True), told
    assert not (tmp_path / "sdelka.db").exists()


def test_a_file_of_any_size_is_read_as_far_as_it_may_be() -> None:
    """Also from standard input."""
    result = CliRunner().invoke(APP, ["check", "steps", "-", "--json"], input=b"[" * 5_000_000)
    assert (result.exit_code, json.loads(result.output)["code"]) == (1, "finding-document-large")


def test_the_shipped_program_names_its_kinds() -> None:
    code, told = call("check", "steps", "welcome.yaml", app=definitions)
    assert (code, {"agent", "flow", "scenario"} <= set(re.findall(r"\w+", told))) == (2, True)

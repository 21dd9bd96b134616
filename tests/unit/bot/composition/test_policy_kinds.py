"""A policy may name kinds of definitions whose engine is away; a kind that nobody ever knew is a mistake wherever a policy is checked."""

from collections.abc import Callable
from contextlib import closing
from datetime import UTC, date, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from bot.cli.definition_desk import open_desk
from bot.cli.doctor.files import check_files
from bot.cli.policy import app
from bot.composition.installation import build_installation, load_rules
from bot.plugins.building import load_installed_engines
from bot.policy.policy_desk import PolicyDesk
from bot.settings.settings import Settings
from orchestrator.domain.errors import SettingsError
from orchestrator.runs.registry import Engines
from state.journal import definitions
from state.model.definitions import Author
from state.sql import build_sqlite_url, open_store
from tests.unit.engines.fourth.plant_kit import planted, write_entry_point, write_plugin

MISSPELT = "'workflw' is no kind of definitions here. Did you mean 'workflow'?"


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """An installation with a database, and a policy that names the kind of an engine that is away."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DATABASE_URL", build_sqlite_url(tmp_path / "sdelka.db"))
    monkeypatch.setenv("POLICY_FILE", str(tmp_path / "mine.yaml"))
    open_store(build_sqlite_url(tmp_path / "sdelka.db")).close()
    write(tmp_path, "checklist")
    return Settings(_env_file=None)


def write(folder: Path, kind: str) -> None:
    (folder / "mine.yaml").write_text(f"definitions: {{{kind}: {{publish: [admin]}}}}\n", encoding="utf-8")


def store_one(folder: Path) -> None:
    """A draft of the engine that is away."""
    author = Author(key="cli:a", name="a", user=None, via="cli", at=datetime(2026, 11, 21, tzinfo=UTC))
    with closing(open_store(build_sqlite_url(folder / "sdelka.db"))) as store:
        definitions.create_version(store, author, "checklist", "call", {}, title="", note="")


def plant_broken(folder: Path) -> None:
    write_plugin(folder / "engines", "fourth", "EnginePlugin(name='x', kinds=('checklist',), parts={'wiring': 'nowhere:X'})")


def plant_package(folder: Path) -> None:
    write_entry_point(folder / "engines", "checklist", "nowhere.plugin:PLUGIN")


def check() -> tuple[int, str]:
    """`sdelka policy check` in the environment of the test."""
    root = typer.Typer()
    root.add_typer(app, name="policy")
    made = CliRunner().invoke(root, ["policy", "check"])
    return (2, made.exception.reason) if isinstance(made.exception, SettingsError) else (made.exit_code, made.output)


def list_verdicts(settings: Settings) -> list[tuple[str, str]]:
    found = check_files(settings, date(2026, 5, 5))
    return [(line.verdict, line.says) for line in found if line.check == "POLICY_FILE"]


@pytest.mark.parametrize("give", [store_one, plant_broken, plant_package])
def test_roles_of_a_kind_whose_engine_is_away_are_warned_of(
    tmp_path: Path, settings: Settings, caplog: pytest.LogCaptureFixture, give: Callable[[Path], None]
) -> None:
    """The bot starts and its commands work, whether definitions, a broken plugin or a package that cannot be imported tell of the engine."""
    (tmp_path / "engines").mkdir()
    give(tmp_path)
    said = "definitions.checklist: no engine here has this kind; its roles count again when the engine is back"
    with planted(tmp_path / "engines"):
        policy, _ = load_rules(settings, load_installed_engines())
        assert policy.definitions.keys() == {"checklist"}
        assert f"POLICY_FILE: {said}" in caplog.text
        assert [verdict for verdict, _ in list_verdicts(settings)] == ["warning", "ok"]
        assert list_verdicts(settings)[0][1] == f"{said}."
        code, shown = check()
        assert (code, f"Note: {said}." in shown) == (0, True)
        with open_desk(load_installed_engines()):
            pass


async def test_it_is_taken_while_the_bot_runs_too(tmp_path: Path, settings: Settings) -> None:
    """The file of a running bot may be saved in the console, and is read again, with the same kinds as at the start."""
    store_one(tmp_path)
    nothing: Any = None
    installation = build_installation(settings, nothing, nothing, load_installed_engines())
    installation.policies._load()
    deps: Any = SimpleNamespace(catalogue=installation.catalogue, policy=installation.policies.now())
    engines = load_installed_engines()
    desk = PolicyDesk(settings=settings, deps=deps, engines=engines, store=nothing, clock=nothing, receive=nothing)
    assert (await desk.check((tmp_path / "mine.yaml").read_text(encoding="utf-8"))).mistakes == ()
    assert [mistake.suggestion for mistake in (await desk.check("definitions: {workflw: {}}")).mistakes] == ["workflow"]


def test_a_misspelt_kind_is_a_mistake_wherever_a_policy_is_checked(tmp_path: Path, settings: Settings) -> None:
    write(tmp_path, "workflw")
    with pytest.raises(SettingsError, match="'workflw' is no kind of definitions here"):
        load_rules(settings, load_installed_engines())
    [(verdict, says)] = list_verdicts(settings)
    assert (verdict, MISSPELT.rstrip(".") in says) == ("wrong", True)
    code, shown = check()
    assert (code, MISSPELT in shown) == (2, True)


def test_a_program_without_engines_takes_any_kind(settings: Settings) -> None:
    """Each of them may be one whose engine is away."""
    assert load_rules(settings, Engines())[0].definitions.keys() == {"checklist"}


def test_a_database_that_is_not_there_knows_no_kind(tmp_path: Path, settings: Settings) -> None:
    """A kind of which nothing tells stays a mistake, and no command makes a database of it."""
    (tmp_path / "sdelka.db").unlink()
    with pytest.raises(SettingsError, match="'checklist' is no kind of definitions here"):
        load_rules(settings, load_installed_engines())
    assert not (tmp_path / "sdelka.db").exists()

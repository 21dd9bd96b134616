"""The story is told once for all reports."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from bot.cli.journal.app import app
from state.journal.store import Store
from state.sql import open_reader
from state.sql.dialect import build_sqlite_url
from tests.unit.reports.story_kit import Told, tell

Run = Callable[..., Result]


@pytest.fixture(scope="session")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """A database with the whole story."""
    return tell(tmp_path_factory.mktemp("story"))


@pytest.fixture
def store(told: Told) -> Iterator[Store]:
    """The journal of the story, to be read."""
    reader = open_reader(build_sqlite_url(told.folder / "sdelka.db"))
    yield reader
    reader.close()


@pytest.fixture
def run(told: Told, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`sdelka journal …` on the story, on a wide terminal."""
    for name, value in {**told.environment, "COLUMNS": "400"}.items():
        monkeypatch.setenv(name, value)

    def running(*arguments: Any) -> Result:
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    return running


@pytest.fixture
def copy(told: Told, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The story in a database of its own, which `run` reads from now on."""
    del run
    folder = tmp_path / "copy"
    shutil.copytree(told.folder, folder)
    monkeypatch.setenv("STATE_DIR", str(folder))
    return folder

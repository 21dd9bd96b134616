"""The command line at its start: commands whose work is a module of its own, imports that wait, and the loop of `sdelka ask`."""

import asyncio
import inspect
import pkgutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

import pytest
import typer
from typer.testing import CliRunner

import bot.cli.deferred
import engines
from bot.cli.app import app
from bot.cli.ask import run_beside

PATIENCE = 10


@pytest.mark.req("S001-22")
def test_what_was_begun_goes_on_while_a_person_thinks() -> None:
    """Nothing is awaited at the prompt, and the service of documents still looks at its folder: who may read what is closed in time."""
    looked = threading.Event()

    async def watch() -> None:
        asyncio.get_running_loop().call_later(0.01, looked.set)

    with run_beside() as run:
        run(watch())
        assert looked.wait(PATIENCE)


def test_what_a_coroutine_returns_and_raises_reaches_the_terminal() -> None:
    """A pipe that nobody reads ends the program, not the loop."""

    async def answer() -> int:
        return 7

    async def fail() -> None:
        raise BrokenPipeError

    with run_beside() as run:
        assert run(answer()) == 7
        with pytest.raises(BrokenPipeError):
            run(fail())


def _list_deferred() -> Iterator[tuple[Any, str, int]]:
    """Each signature whose work lies elsewhere, with the module of it and the number of parameters that the work gets before."""
    for package in (bot.cli, engines):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if package is bot.cli or ".terminal" in module.name:
                for app in {
                    id(value): value for value in vars(import_module(module.name)).values() if isinstance(value, typer.Typer)
                }.values():
                    commands = [*app.registered_commands, *([app.registered_callback] if app.registered_callback else [])]
                    for command in (place.callback for place in commands):
                        if command is not None and command.__code__.co_filename == bot.cli.deferred.__file__:
                            given = inspect.getclosurevars(command).nonlocals
                            yield inspect.unwrap(command), given["work"], len(given["before"])


def test_the_work_of_a_command_takes_what_its_signature_gives() -> None:
    """A name or a type that differs would be found by whoever calls the command first."""
    deferred = list(_list_deferred())
    assert len(deferred) > 30
    for signature, module, before in deferred:
        work = getattr(import_module(module), signature.__name__)
        parameters = get_type_hints(work)
        for name in list(inspect.signature(work).parameters)[:before]:
            del parameters[name]
        assert parameters == get_type_hints(signature), (module, signature.__name__)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("runs list --status nope", "'--status': 'nope' is not one of 'running', 'waiting', 'paused', 'done', 'failed', 'cancelled'."),
        ("cards list --state all", "'--state': 'all' is not one of 'requested', 'approved', 'denied', 'expired',"),
        ("journal export --format xml", "'--format': 'xml' is not one of 'jsonl', 'cef'."),
        ("chat --language de", "'--language': 'de' is not one of 'ru', 'en'."),
        ("runs list --last -1", "'--last': 0 or more is needed"),
        ("runs list --last many", "'--last': a whole number is needed"),
    ],
)
def test_a_refused_value_is_told_in_words_of_ours(monkeypatch: pytest.MonkeyPatch, arguments: str, said: str) -> None:
    """With the option, the value and what there is, in every group of commands: the usage is that of the command."""
    monkeypatch.setenv("COLUMNS", "300")
    result = CliRunner().invoke(app, arguments.split())
    command = arguments.partition(" --")[0]
    assert (result.exit_code, f"Invalid value for {said}" in result.output) == (2, True), result.output
    assert f"{command} [OPTIONS]" in result.output


def test_a_group_ends_as_its_command_does(tmp_path: Path) -> None:
    """Exit codes are what scripts read."""
    (tmp_path / "plan.yaml").write_text("steps: 5\n", encoding="utf-8")
    codes = [CliRunner().invoke(app, words).exit_code for words in (
        ["definitions", "check", "scenario", str(tmp_path / "plan.yaml")], ["definitions", "check"], ["definitions", "check", "--help"],
    )]  # fmt: skip
    assert codes == [1, 2, 0]


HEAVY = {"aiogram", "sqlalchemy", "pydantic", "pydantic_settings", "httpx", "yaml", "alembic", "sandbox"}


@pytest.mark.long
@pytest.mark.parametrize(
    ("module", "forbidden"),
    [
        ("bot.cli.app", HEAVY),
        ("bot.cli.nouns.commands", HEAVY | {"fastapi"}),
        ("bot.cli.chat", {"aiogram", "sandbox"}),
        ("bot.composition.bootstrap", {"aiogram", "sandbox"}),
    ],
)
def test_nothing_is_imported_that_the_command_does_not_need(module: str, forbidden: set[str]) -> None:
    """Help and the refusal of a wrong command need no library but the parser; only `run` needs that of Telegram."""
    code = f"import sys, {module}; print(*sorted({{name.partition('.')[0] for name, found in sys.modules.items() if found is not None}}))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout.split()
    assert module.partition(".")[0] in found
    assert forbidden & set(found) == set()

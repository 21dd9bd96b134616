"""What a start of the program imports, and what only who needs it imports later (docs/adr/0048-what-a-start-imports.md)."""

import importlib
import pkgutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Field, ValidationError
from pydantic._internal._mock_val_ser import MockValSer

from orchestrator.domain.frozen import LateModel

ROOT = Path(__file__).resolve().parents[2]
LATE = {
    "fastapi": "the app of the HTTP port is built after the start: bot/composition/late_app.py",
    "bot.composition.http_door": "as fastapi",
    "bot.http_api.routers": "as fastapi",
    "bot.console.app": "as fastapi",
    "nicegui": "the pages of the console, when they are asked for",
    "aiogram": "only with a bot token: bot/telegram/lazy_aiogram.py",
    "typer": "only the command line",
    "alembic": "only for a database that is not at the current schema",
    "psycopg": "only for PostgreSQL",
    "pymongo": "only with a database for effects",
    "lxml": "readers of documents",
    "docx": "readers of documents",
    "pypdf": "readers of documents",
    "numpy": "search in documents",
    "openpyxl": "readers of documents",
    "xlsxwriter": "answers with a table",
    "resvg_py": "the process that makes pictures: bot/rendering/pictures/worker.py",
}
"""Packages and modules that `import bot.composition.process` must leave alone, and who imports them."""


def _list_imported(code: str) -> set[str]:
    told = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(told.stdout.split())


def _list_subclasses(kind: type[LateModel]) -> Iterator[type[LateModel]]:
    for one in kind.__subclasses__():
        yield one
        yield from _list_subclasses(one)


@pytest.mark.long
def test_a_start_imports_nothing_that_only_some_processes_need() -> None:
    imported = _list_imported("import bot.composition.process")
    assert imported & LATE.keys() == set()


@pytest.mark.long
def test_whatever_is_imported_late_can_be_imported() -> None:
    """A module that a process imports after its start would fail in the middle of somebody's work."""
    names = [
        module.name
        for package in ("engines", "bot", "orchestrator", "bitrix", "state")
        for module in pkgutil.walk_packages([str(ROOT / package)], f"{package}.")
    ]
    late = [name for name in names if not name.startswith("state.migrations.") and not name.endswith("__main__")]
    assert len(late) > 500
    for name in late:
        importlib.import_module(name)
    models = list(_list_subclasses(LateModel))
    assert len(models) > 50
    for model in models:
        model.model_rebuild(raise_errors=True)
        assert not isinstance(model.__pydantic_validator__, MockValSer)


def test_threads_that_use_a_late_model_first_build_it_once_and_validate_by_its_own_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    class Parent(LateModel):
        parent: int

    class Child(Parent):
        parent: int = 1
        name: str = Field("", max_length=5)

    built, others = [], threading.Event()
    build = BaseModel.model_rebuild.__func__  # type: ignore[attr-defined]

    def validate(_: int) -> str:
        start.wait(20)
        return Child.model_validate({"name": "a"}).name

    def build_and_count(cls: type[BaseModel], **options: Any) -> bool | None:
        nonlocal inside, most
        inside, most = inside + 1, max(most, inside + 1)
        others.wait(0.05)  # they come in now, if they can
        try:
            done: bool | None = build(cls, **options)
        finally:
            inside -= 1
        built.extend([cls] if done is not None else [])
        return done

    inside, most, start = 0, 0, threading.Barrier(6)
    Parent.model_validate({"parent": 1})
    monkeypatch.setattr(BaseModel, "model_rebuild", classmethod(build_and_count))
    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(validate, range(6))) == ["a"] * 6
    assert built == [Child]
    assert most == 1
    with pytest.raises(ValidationError):
        Child.model_validate({"name": "longer"})


@pytest.mark.long
def test_the_command_line_imports_no_command_line_of_its_libraries() -> None:
    imported = _list_imported("import bot.cli.app, bot.composition.process")
    assert imported & {"rich", "pygments"} == set()


@pytest.mark.parametrize("name", sorted(name for name in LATE if not name.startswith("bot.")))
def test_the_names_of_the_list_are_installed_packages(name: str) -> None:
    assert importlib.util.find_spec(name) is not None

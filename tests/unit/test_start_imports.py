"""What a start of the program imports, and what only who needs it imports later (docs/adr/0048-what-a-start-imports.md)."""

import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LATE = {
    "fastapi": "the app of the HTTP port is built after the start: bot/late_app.py",
    "bot.http_door": "as fastapi",
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
}
"""Packages and modules that `import bot.process` must leave alone, and who imports them."""


def _list_imported(code: str) -> set[str]:
    told = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(told.stdout.split())


def test_a_start_imports_nothing_that_only_some_processes_need() -> None:
    imported = _list_imported("import bot.process")
    assert imported & LATE.keys() == set()


def test_whatever_is_imported_late_can_be_imported() -> None:
    """A module that a process imports after its start would fail in the middle of somebody's work."""
    names = [
        module.name
        for package in ("bot", "orchestrator", "bitrix", "state")
        for module in pkgutil.walk_packages([str(ROOT / package)], f"{package}.")
    ]
    late = [name for name in names if not name.startswith("state.migrations.") and not name.endswith("__main__")]
    assert len(late) > 500
    for name in late:
        importlib.import_module(name)


@pytest.mark.parametrize("name", sorted(name for name in LATE if not name.startswith("bot.")))
def test_the_names_of_the_list_are_installed_packages(name: str) -> None:
    assert importlib.util.find_spec(name) is not None

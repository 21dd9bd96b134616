"""The command line is there at once: what takes long to import is imported by the command that needs it."""

import subprocess
import sys

import pytest

HEAVY = {"aiogram", "sqlalchemy", "pydantic", "pydantic_settings", "httpx", "yaml", "alembic", "sandbox"}


@pytest.mark.long
@pytest.mark.parametrize(
    ("module", "forbidden"),
    [
        ("bot.cli.app", HEAVY),
        ("bot.cli.nouns.groups", HEAVY | {"fastapi"}),
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

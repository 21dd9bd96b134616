"""The console that most tests of its pages begin with."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.console.definitions import document
from tests.unit.bot.console.console_kit import ConsoleWorld, a_console


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pause before a check is a matter of people who type."""
    monkeypatch.setattr(document, "CHECK_AFTER", 0.0)


@pytest.fixture
async def made(tmp_path: Path) -> AsyncIterator[ConsoleWorld]:
    """The product with its people and their console."""
    async with a_console(tmp_path) as console:
        yield console

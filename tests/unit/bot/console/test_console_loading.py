"""When NiceGUI is imported: never before the bot has started."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.unit.bot.console.console_kit import a_console

ROOT = Path(__file__).resolve().parents[4]


@pytest.mark.long
@pytest.mark.req("C-1")
def test_the_bot_starts_without_nicegui() -> None:
    """The modules that `sdelka run` imports, the console's door among them, do not import it."""
    code = "import bot.composition.process, bot.console.app, sys; sys.exit('nicegui' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


@pytest.mark.req("C-1")
async def test_the_first_page_loads_the_pages_in_a_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pages are loaded by the first request of somebody who is logged in, and the event loop goes on meanwhile."""
    threads = []
    from bot.console import app  # noqa: PLC0415 - the module whose import is watched

    def watched(name: str) -> object:
        threads.append(threading.current_thread())
        return __import__(name, fromlist=["open_pages"])

    monkeypatch.setattr(app, "import_module", watched)
    async with a_console(tmp_path) as made:
        await made.get("/", None)
        assert not made.console.is_loaded

        assert (await made.get("/")).status_code == 200

        assert made.console.is_loaded
        assert threading.main_thread() not in threads
        assert len(threads) == 1

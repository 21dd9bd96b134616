"""The sandbox servers as processes of their own, for benches with real wires."""

import asyncio
import contextlib
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_PATIENCE = 90.0


async def sandboxes(stack: contextlib.AsyncExitStack) -> dict[str, str]:
    """A portal without limits, a Telegram and a model; their addresses by name, and the portal's `webhook`."""
    said: dict[str, str] = {}
    for name, options in (("portal", ("--bucket", "off")), ("telegram", ()), ("model", ())):
        process = await started(stack, {}, f"sandbox.{name}", "--port", "0", *options)
        said |= json.loads(await process.stdout.readline()) if process.stdout else {}
    return said


def settings_of(said: Mapping[str, str], folder: Path) -> dict[str, str]:
    """What a bot must be told that works with those servers and keeps all it has in `folder`."""
    return {
        "TELEGRAM_BOT_TOKEN": "1:sandbox",
        "TELEGRAM_API_BASE": said["telegram"],
        "OPENAI_API_BASE": said["model"],
        "OPENAI_API_KEY": "sandbox",
        "BITRIX_WEBHOOK_URL": said["webhook"],
        "AGENT_MODE": "full",
        "ACCESS_FILE": str(folder / "access.yaml"),
        "STATE_DIR": str(folder / "state"),
        "LOG_DIR": str(folder / "logs"),
    }


async def started(stack: contextlib.AsyncExitStack, told: Mapping[str, str], *words: str) -> asyncio.subprocess.Process:
    """`python -m words…` with these settings and no others, ended with the stack."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **told}
    command = [sys.executable, "-m", *words]
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, env=environment, stdout=asyncio.subprocess.PIPE, limit=1 << 24)
    stack.push_async_callback(ended, process)
    return process


async def ended(process: asyncio.subprocess.Process) -> None:
    """Kill it if it still runs."""
    if process.returncode is None:
        process.kill()
    await process.communicate()


async def until(look: Callable[[], Awaitable[Any]], what: str, *, within: float = _PATIENCE, pause: float = 0.02) -> Any:
    """What `look` finds; raises TimeoutError naming `what`."""
    deadline = time.monotonic() + within
    while not (found := await look()):
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        await asyncio.sleep(pause)
    return found

"""A bot that is killed and started again many times: each start is a process of its own, forked after the slow imports.

Run as a program it reads one JSON line {environment, folder} a start, and says {"pid": …}, then {"dead": …} when it has ended.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from e2e_servers import ROOT


@dataclass(frozen=True)
class Restarts:
    """Starts `sdelka run`, kill -9 at the end of each."""

    forker: asyncio.subprocess.Process
    folder: Path

    @asynccontextmanager
    async def bot(self, environment: dict[str, str]) -> AsyncIterator[None]:
        """One life of the bot."""
        assert self.forker.stdin is not None
        self.forker.stdin.write(json.dumps({"environment": environment, "folder": str(self.folder)}).encode() + b"\n")
        pid = (await self._said())["pid"]
        try:
            yield
        finally:
            os.kill(pid, signal.SIGKILL)
            dead = await self._said()
            assert dead == {"dead": -signal.SIGKILL}, (self.folder / "bot.log").read_text(encoding="utf-8")

    async def _said(self) -> dict[str, Any]:
        assert self.forker.stdout is not None
        return dict(json.loads(await self.forker.stdout.readline()))


@asynccontextmanager
async def restarts(folder: Path) -> AsyncIterator[Restarts]:
    """The forker, ended at the end."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{ROOT}:{Path(__file__).parent}", "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-m", "e2e_restarts"]
    pipe = asyncio.subprocess.PIPE
    forker = await asyncio.create_subprocess_exec(*command, cwd=folder, env=environment, stdin=pipe, stdout=pipe)
    try:
        yield Restarts(forker, folder)
    finally:
        assert forker.stdin is not None
        forker.stdin.close()
        await forker.communicate()


def _serve() -> None:
    import bot.running  # noqa: F401, PLC0415 - the slow import, done once

    for line in sys.stdin:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _run(order["environment"], Path(order["folder"]))
        _say(pid=pid)
        _, status = os.waitpid(pid, 0)
        _say(dead=os.waitstatus_to_exitcode(status))


def _run(environment: dict[str, str], folder: Path) -> None:
    """Become the bot; never returns."""
    from bot.cli.app import main  # noqa: PLC0415 - only in the child

    log = os.open(folder / "bot.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ.update(environment)
    sys.argv = ["sdelka", "run"]
    try:
        main()
    finally:
        os._exit(1)


def _say(**words: int) -> None:
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    _serve()

"""Starts the processes of the demo, restarts the bot when it dies, and ends all processes before the demo itself ends."""

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self


class StartFailed(RuntimeError):
    """A server of the demo did not start. The message contains the end of its log."""


class Child:
    """A process that is restarted when it dies, and that can be stopped and started with another environment."""

    def __init__(self, command: Sequence[str], log: Path) -> None:
        """Prepare the process without starting it."""
        self._command = list(command)
        self._log = log
        self._environment: Mapping[str, str] = {}
        self._process: asyncio.subprocess.Process | None = None
        self._watch: asyncio.Task[None] | None = None
        self.starts = 0

    async def __aenter__(self) -> Self:
        """Return this object; the process does not run before `start` is called."""
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Stop the process permanently."""
        await self.stop()

    def start(self, environment: Mapping[str, str]) -> None:
        """Start the process, and start it again whenever it dies.

        Its environment variables are those of the present process and `environment`.
        """
        self._environment = {**os.environ, **environment}
        self._watch = asyncio.ensure_future(self._keep_running())

    async def stop(self) -> None:
        """Ask the process to end, kill it if it does not, and do not start it again."""
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.gather(self._watch, return_exceptions=True)
            self._watch = None
        await _end(self._process)

    def kill(self) -> bool:
        """Kill the process with SIGKILL, which it cannot handle, like a power cut. Return False if it is not running."""
        if self._process is None or self._process.returncode is not None:
            return False
        self._process.send_signal(signal.SIGKILL)
        return True

    async def _keep_running(self) -> None:
        while True:
            with self._log.open("ab") as log:
                self._process = await asyncio.create_subprocess_exec(*self._command, env=self._environment, stdout=log, stderr=log)
            self.starts += 1
            await self._process.wait()
            await asyncio.sleep(1)


async def start_server(stack: contextlib.AsyncExitStack, command: Sequence[str], log: Path) -> dict[str, Any]:
    """Start a server of the demo, and return the JSON object that it prints on its first line. Raises StartFailed.

    The server is stopped when `stack` is closed.
    """
    with log.open("ab") as errors:
        process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, stderr=errors)
    stack.push_async_callback(_end, process)
    if process.stdout is None:
        raise StartFailed(f"{command[2]} has no output")
    try:
        async with asyncio.timeout(30):
            line = await process.stdout.readline()
        return dict(json.loads(line))
    except (TimeoutError, ValueError) as error:
        said = await asyncio.to_thread(log.read_text, encoding="utf-8")
        raise StartFailed(f"{command[2]} did not start:\n{said[-2000:]}") from error


async def _end(process: asyncio.subprocess.Process | None) -> None:
    if process is None or process.returncode is not None:
        return
    process.terminate()
    try:
        async with asyncio.timeout(8):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()

"""Runs the sandbox on a loopback port, either in this process until it is stopped, or in a thread during a test."""

import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import orjson
import uvicorn

from sandbox.telegram.app import create_app
from sandbox.telegram.clock import Clock, SandboxClock, system_clock
from sandbox.telegram.settings import TelegramSandboxSettings
from sandbox.telegram.world import World, open_world

HOST = "127.0.0.1"
_START_SECONDS = 20.0


class PortTakenError(Exception):
    """The port cannot be used, for example because another process listens on it."""


class _Server(uvicorn.Server):
    """A uvicorn server that ends long polls and event streams at its shutdown, so that it need not wait for them."""

    def __init__(self, config: uvicorn.Config, world: World, started: threading.Event) -> None:
        super().__init__(config)
        self._world = world
        self._started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._started.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._world.close()
        await super().shutdown(sockets)


def listen(port: int) -> socket.socket:
    """Return a socket that listens on a loopback port; 0 means any free port. Raises `PortTakenError` if the port cannot be used."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen(512)
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise PortTakenError(f"the sandbox cannot listen on {HOST}:{port}: {reason}") from None
    return listener


def run(
    port: int,
    data_dir: Path | None = None,
    *,
    portal_url: str | None = None,
    audit_dir: Path | None = None,
    supervisor_url: str | None = None,
) -> None:
    """Print the address as one line of JSON, then serve until SIGINT or SIGTERM. Raises `PortTakenError`.

    Without `data_dir` the chats are stored in a temporary folder, which is deleted at the end. The page shows the portal at `portal_url`
    and the bot's audit log in `audit_dir`, and passes requests on to the demo's supervisor at `supervisor_url`, if they are given.
    """
    listener = listen(port)
    # uvicorn raises the signal again once it has stopped: its default would end the process before the folder is removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with tempfile.TemporaryDirectory(prefix="sandbox-telegram-") as temporary:
        settings = TelegramSandboxSettings(
            data_dir=data_dir or Path(temporary),
            portal_url=portal_url,
            audit_dir=audit_dir,
            supervisor_url=supervisor_url,
        )
        server = _server(open_world(settings, SandboxClock()), threading.Event())
        print(orjson.dumps({"telegram": _address(listener)}).decode(), flush=True)  # noqa: T201 - the promised line
        server.run(sockets=[listener])


@contextmanager
def running(settings: TelegramSandboxSettings, clock: Clock = system_clock, *, port: int = 0) -> Iterator[str]:
    """Serve in a thread while the context is open, and yield the address. For tests."""
    listener = listen(port)
    started = threading.Event()
    server = _server(open_world(replace(settings), SandboxClock(clock)), started)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="sandbox-telegram")
    thread.start()
    try:
        if not started.wait(_START_SECONDS):
            raise RuntimeError("the sandbox did not start in time")
        yield _address(listener)
    finally:
        server.should_exit = True
        thread.join(_START_SECONDS)
        listener.close()


def _server(world: World, started: threading.Event) -> _Server:
    config = uvicorn.Config(create_app(world), lifespan="on", ws="none", log_level="warning", access_log=False, timeout_graceful_shutdown=2)
    return _Server(config, world, started)


def _address(listener: socket.socket) -> str:
    return f"http://{HOST}:{listener.getsockname()[1]}"

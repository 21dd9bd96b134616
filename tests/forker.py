"""Starts Python programs for tests by forking, so that what takes seconds to import is imported once for all workers of a run.

`conftest.py` runs it as a program for the time of a pytest run; `forked` gives the command that has it start something. What is started is
a process like any other to whoever started it: `forked_client.py` stands in its place, hands on signals, and ends as it ends.
"""

import contextlib
import gc
import importlib.metadata
import json
import os
import resource
import runpy
import selectors
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

HERE = Path(__file__).resolve().parent
WHERE = "SDELKA_TEST_FORKER"
"""The variable that tells the workers where it listens."""
_LIBRARIES = (
    "anyio._backends._asyncio",
    "httpcore",
    "pydantic.v1",  # the first route of FastAPI asks for it
    "uvicorn.lifespan.on",
    "uvicorn.loops.auto",
    "uvicorn.loops.uvloop",
    "uvicorn.protocols.http.auto",
    "uvicorn.protocols.websockets.auto",
)
_BOT = (
    "bot.cli.app",
    "bot.composition.process",
    "bot.cli.chat",
    "bot.telegram.door",
    "bot.telegram.intake.files",
    "bot.monitoring.telegram_reachability",
    "bot.console.pages",
    "bot.composition.document_service",
    "alembic.command",
    *_LIBRARIES,
)
_POSTGRES = ("psycopg", "sqlalchemy.dialects.postgresql.psycopg")
LOADED = {
    "bot": _BOT,
    "examples.engines": ("examples.engines.definitions", *_BOT),
    "tests.e2e.demo_child": ("sandbox.demo.__main__", *_LIBRARIES),
    "takeover_child.py": (*_BOT, *_POSTGRES),
    "-c": ("state.sql", "alembic.command", *_POSTGRES),
    "sandbox.portal": ("sandbox.portal.server", *_LIBRARIES),
    "sandbox.telegram": ("sandbox.telegram.server", *_LIBRARIES),
    "sandbox.model": ("sandbox.model.server", *_LIBRARIES),
    "moving_child.py": (
        "orchestrator.reports.erasure.erase",
        "orchestrator.reports.restore",
        "state.transfer.backup",
        "state.transfer.move",
        "state.transfer.restore",
    ),
}
"""Program → what it imports, imported when it is first asked for. The texts of programs that tests have are about the store."""


_entry_points = importlib.metadata.entry_points


@cache
def _find_entry_points(_path: tuple[str, ...], **wanted: str) -> importlib.metadata.EntryPoints:
    return _entry_points(**wanted)


def find_entry_points(**wanted: str) -> importlib.metadata.EntryPoints:
    """What `importlib.metadata.entry_points` finds, looked for once on each path: it reads a file of each of a hundred packages."""
    return _find_entry_points(tuple(sys.path), **wanted)


def share_what_is_read() -> None:
    """Let this process, and those forked from it, read once what worlds of tests read of the machine, each time the same."""
    importlib.metadata.entry_points = find_entry_points
    # Every client of httpx and aiogram reads the machine's certificates anew, 40 ms each, and talks plain HTTP on loopback with them.
    ssl.create_default_context = cache(ssl.create_default_context)


def forked(*command: str | Path) -> list[str]:
    """The command that runs `python *command` ("-m", module, …, "-c", text, … or script, …) quickly; outside of a test run the plain one."""
    where = os.environ.get(WHERE)
    plain = [sys.executable, *map(str, command)]
    return [sys.executable, "-I", "-S", str(HERE / "forked_client.py"), where, *plain[1:]] if where else plain


@contextmanager
def forking() -> Iterator[None]:
    """Have it running; when the block ends, or whoever began it dies, all that it started is killed."""
    with tempfile.TemporaryDirectory(prefix="sdelka-forker-") as folder:
        where = Path(folder) / "socket"
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(HERE.parent), "PYTHONIOENCODING": "utf-8", "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, str(HERE / "forker.py"), str(where)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, cwd=HERE.parent)
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        os.environ[WHERE] = str(where)
        try:
            yield
        finally:
            del os.environ[WHERE]
            process.communicate(timeout=30)


@dataclass
class _Forker:
    """The program: one thread, no loop, so that a fork is safe."""

    listener: socket.socket
    selector: selectors.DefaultSelector = field(default_factory=selectors.DefaultSelector)
    waiting: dict[int, socket.socket] = field(default_factory=dict)
    """Process → who wants to know how it ends."""

    def serve(self) -> dict[str, Any] | None:
        """Give the order in the process that is to carry it out, None once nobody needs the forker any more."""
        woken, wakes = os.pipe()
        for end in (woken, wakes):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
        for one in (self.listener, 0, woken):
            self.selector.register(one, selectors.EVENT_READ)
        while True:
            for key, _ in self.selector.select():
                if key.fileobj == 0:
                    self._end()
                    return None
                if key.fileobj == woken:
                    os.read(woken, 4096)
                    self._tell()
                elif key.fileobj is self.listener:
                    if order := self._started():
                        for end in (woken, wakes):
                            os.close(end)
                        return order
                else:
                    self._left(key.fileobj)

    def _started(self) -> dict[str, Any] | None:
        asked, _ = self.listener.accept()
        head, files, _, _ = socket.recv_fds(asked, 4, 3)
        text = b""
        while len(head) == 4 and len(text) < struct.unpack("!i", head)[0] and (more := asked.recv(65536)):
            text += more
        if not text.endswith(b"}"):  # killed while it asked
            for file in files:
                os.close(file)
            asked.close()
            return None
        order: dict[str, Any] = json.loads(text)
        _load(order["program"])
        pid = os.fork()
        if pid:
            for file in files:
                os.close(file)
            self.waiting[pid] = asked
            with contextlib.suppress(OSError):  # killed already: it is seen to have left
                asked.sendall(b"%d\n" % pid)
            self.selector.register(asked, selectors.EVENT_READ)
            return None
        self.selector.close()
        self.listener.close()
        for other in (asked, *self.waiting.values()):
            other.close()
        for place, file in enumerate(files):
            os.dup2(file, place)
            os.close(file)
        return order

    def _tell(self) -> None:
        """Who waits for one that has ended hears how."""
        while self.waiting:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            asked = self.waiting.pop(pid)
            with contextlib.suppress(KeyError):
                self.selector.unregister(asked)
            with contextlib.suppress(OSError):
                asked.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
            asked.close()

    def _left(self, asked: Any) -> None:
        """Who stood in the place of a process was killed: so is the process."""
        self.selector.unregister(asked)
        for pid, waits in self.waiting.items():
            if waits is asked:
                os.kill(pid, signal.SIGKILL)

    def _end(self) -> None:
        for pid in self.waiting:
            os.kill(pid, signal.SIGKILL)


def _load(program: str) -> None:
    names = LOADED.get(program, LOADED.get(Path(program).name, ()))
    if not names or names[0] in sys.modules:
        return
    if _BOT[0] in names:
        import_module("bot.telegram.lazy_aiogram").import_aiogram()
    for name in names:
        with contextlib.suppress(ImportError):  # it will say so itself
            import_module(name)
    if _BOT[0] in names:
        _read_bot()
    gc.collect()
    gc.freeze()  # a collection in what is forked would copy every page
    gc.set_threshold(20_000, 20, 20)  # as in conftest.py


def _read_bot() -> None:
    """Parse what a bot keeps for good once it has read it: its texts, the catalogue of methods, and the types in which it talks to Telegram.

    What its endpoints take and answer is found out here, too: the routes are built for nobody, and built again by each bot (shared_routes.py).
    """
    installation, types = import_module("bot.composition.installation"), import_module("aiogram.types")
    engines = import_module("bot.plugins.building").load_installed_engines()
    settings = import_module("bot.settings.settings").Settings(_env_file=None)
    installation.load_rules(settings, engines)
    import_module("tests.shared_routes").share_routes()
    import_module("bot.http_api.routers").build_api_routers(settings, MagicMock(), MagicMock(), MagicMock(), engines)
    for locale in ("ru", "en"):
        import_module("bot.i18n.translate").Translator(locale)
    respond = import_module("aiogram.methods.base").Response
    for kind in (types.Update, respond[types.Message], respond[types.User], respond[bool], respond[list[types.Update]]):
        kind.model_rebuild()


def _run(order: dict[str, Any]) -> None:
    """Be that program, to its end."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environment"])
    time.tzset()
    resource.setrlimit(resource.RLIMIT_NOFILE, order["files"])
    program, arguments = order["program"], order["arguments"]
    sys.argv = [program, *arguments]
    if program == "-c":
        sys.path[0] = order["folder"]
        sys.argv = [program, *arguments[1:]]
        exec(compile(arguments[0], "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102 - what `python -c` does
    elif order["module"]:
        sys.path[0] = order["folder"]
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = str(Path(program).parent)
        runpy.run_path(program, run_name="__main__")


def main(where: str) -> None:
    """Serve until standard input ends."""
    share_what_is_read()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(where)
        listener.listen(64)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        order = _Forker(listener).serve()
    if order is not None:
        _run(order)


if __name__ == "__main__":
    main(sys.argv[1])

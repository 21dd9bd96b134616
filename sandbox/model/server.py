"""Runs the demo model as a process and prints its address as JSON."""

import argparse
import contextlib
import json
import signal
import socket
import sys
from collections.abc import Sequence

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from sandbox.model.app import ABORT, create_app

BUSY = 2


class Cuttable:
    """ASGI middleware that gives the application a function to cut the TCP connection of a request; some faults use it."""

    def __init__(self, app: ASGIApp) -> None:
        """Take the application `app`, whose requests get the function that cuts their connection."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request, with a function in its `scope` that cuts the TCP connection.

        The function is a method of uvicorn's transport, which is found through `send`. Outside uvicorn it is missing.
        """
        transport = getattr(getattr(send, "__self__", None), "transport", None)
        await self._app({**scope, ABORT: transport.abort} if transport is not None else scope, receive, send)


def run(port: int, *, host: str = "127.0.0.1", pace: float = 0.0) -> int:
    """Serve until SIGINT or SIGTERM and return 0; print one sentence and return 2 if the port is busy."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(128)
    except (OSError, OverflowError):
        listener.close()
        sys.stderr.write(f"Демо-модель не запущена: порт {port} на {host} занят или недоступен. Выберите другой или 0 (любой свободный).\n")
        return BUSY
    # The socket is listening already, so a reader of this line may connect at once.
    sys.stdout.write(json.dumps({"model": f"http://{host}:{listener.getsockname()[1]}/v1"}) + "\n")
    sys.stdout.flush()
    config = uvicorn.Config(Cuttable(create_app(pace=pace)), log_level="critical", access_log=False, timeout_graceful_shutdown=1)
    # uvicorn raises a handled signal again; by then everything is closed, so it can be ignored.
    with listener, contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listener])
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line, serve, and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="sdelka sandbox model", description="Демо-модель: правила вместо ИИ, по протоколу Chat Completions"
    )
    parser.add_argument("--port", type=int, default=0, help="порт; 0 = любой свободный")
    parser.add_argument("--host", default="127.0.0.1", help="адрес, на котором слушать")
    parser.add_argument("--pace", type=float, default=0.0, help="пауза в секундах между кусками потока")
    parser.add_argument("--data", default=None, help="принимается ради единства; модель ничего не хранит на диске")
    given = parser.parse_args(argv)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    return run(given.port, host=given.host, pace=given.pace)

"""Sandbox portal, server: runs the portal as a process and prints its address as JSON."""

from __future__ import annotations

import argparse
import gc
import json
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from sandbox.portal.app import ABORT, create_app
from sandbox.portal.control import webhook_url
from sandbox.portal.firm.size import parse_firm
from sandbox.portal.limits import parse_bucket
from sandbox.portal.portal import Settings

BUSY = 2


class Door:
    """ASGI middleware that gives the application a function to cut the TCP connection of a request; some faults use it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request, with a function in its `scope` that cuts the TCP connection.

        The function is a method of uvicorn's transport, which is found through `send`. Outside uvicorn it is missing.
        """
        transport = getattr(getattr(send, "__self__", None), "transport", None)
        if transport is not None:
            scope[ABORT] = transport.abort
        await self._app(scope, receive, send)


def run(port: int, settings: Settings, *, host: str = "127.0.0.1") -> int:
    """Serve the portal until SIGINT or SIGTERM and return exit code 0; print a message and return 2 if the port is taken.

    Port 0 takes any free port.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(128)
    except OSError:
        listener.close()
        sys.stderr.write(f"Порт {port} на {host} занят: выберите другой или 0 (любой свободный).\n")
        return BUSY
    base = f"http://{host}:{listener.getsockname()[1]}"
    app = create_app(settings)
    gc.freeze()  # the seeded records live as long as the process
    sys.stdout.write(json.dumps({"portal": base, "webhook": webhook_url(base)}) + "\n")
    sys.stdout.flush()
    config = uvicorn.Config(Door(app), log_level="critical", access_log=False, timeout_graceful_shutdown=1)
    with listener:
        uvicorn.Server(config).run(sockets=[listener])
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line and run the server; return its exit code."""
    parser = argparse.ArgumentParser(prog="sdelka sandbox portal", description="Учебный портал Bitrix24 на своей машине")
    parser.add_argument("--port", type=int, default=0, help="порт; 0 = любой свободный")
    parser.add_argument("--data", type=Path, default=None, help="папка для данных; без неё всё живёт в памяти")
    parser.add_argument("--host", default="127.0.0.1", help="адрес, на котором слушать")
    parser.add_argument("--bucket", type=parse_bucket, default="2/50", help="лимит запросов: 2/50 или off")
    parser.add_argument("--bulk-deals", type=int, default=0, help="сколько ещё сделок добавить для замеров")
    parser.add_argument("--firm", type=parse_firm, default=None, help="фирма с двумя годами жизни: big, small или число сделок")
    parser.add_argument("--seed", type=int, default=0, help="от какого числа считать случайные значения этих сделок")
    parser.add_argument("--seed-file", type=Path, default=None, help="свои записи и поля в JSON: sandbox/portal/README.md")
    given = parser.parse_args(argv)
    settings = Settings(
        data=given.data, bucket=given.bucket, bulk_deals=given.bulk_deals, firm=given.firm, seed=given.seed, seed_file=given.seed_file
    )
    return run(given.port, settings, host=given.host)

"""Runs the demo model as a process and prints its address as JSON."""

import argparse
import asyncio
import contextlib
import json
import signal
import socket
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
import yaml
from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from sandbox.model.app import create_app
from sandbox.model.failing import ABORT
from sandbox.model.script import ScriptBody, load_script

BUSY = 2


@dataclass(frozen=True)
class Options:
    """How the server is started. Without `tls_port` there is no HTTPS."""

    port: int = 0
    tls_port: int | None = None
    host: str = "127.0.0.1"
    pace: float = 0.0
    data: str | None = None
    rules: tuple[ScriptBody, ...] = ()


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


def run(options: Options) -> int:
    """Serve until SIGINT or SIGTERM and return 0; print one sentence and return 2 if a port is busy."""
    listeners: list[socket.socket] = []
    with contextlib.ExitStack() as stack:
        for port in (options.port, options.tls_port):
            if port is None:
                continue
            try:
                listeners.append(stack.enter_context(_listen(options.host, port)))
            except (OSError, OverflowError):
                sys.stderr.write(f"Демо-модель не запущена: порт {port} на {options.host} занят или недоступен. ")
                sys.stderr.write("Выберите другой или 0 (любой свободный).\n")
                return BUSY
        folder = Path(options.data or stack.enter_context(tempfile.TemporaryDirectory(prefix="sdelka-model-")))
        app = create_app(pace=options.pace, rules=options.rules)
        servers = build_servers(app, options.host, listeners, folder)
        # The sockets are listening already, so a reader of this line may connect at once.
        sys.stdout.write(json.dumps(app.state.addresses) + "\n")
        sys.stdout.flush()
        # uvicorn raises a handled signal again; by then everything is closed, so it can be ignored.
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(serve_all(servers, listeners))
    return 0


def build_servers(app: FastAPI, host: str, listeners: Sequence[socket.socket], folder: Path) -> list[uvicorn.Server]:
    """Return one server of `app` for each listener; the second one speaks TLS, with certificates in `folder`."""
    ports = [one.getsockname()[1] for one in listeners]
    app.state.addresses = {"model": f"http://{host}:{ports[0]}/v1", "gigachat": f"http://{host}:{ports[0]}"}
    common: dict[str, Any] = {"log_level": "critical", "access_log": False, "timeout_graceful_shutdown": 1}
    configs = [uvicorn.Config(Cuttable(app), **common)]
    if len(ports) > 1:
        from sandbox.model.authority import make_certificates  # noqa: PLC0415  # cryptography takes as long to load as all the rest

        made = make_certificates(folder, host)
        app.state.addresses |= {"gigachat": f"https://{host}:{ports[1]}", "ca_file": str(made.authority)}
        configs.append(uvicorn.Config(Cuttable(app), ssl_certfile=made.server, ssl_keyfile=made.key, **common))
    return [uvicorn.Server(one) for one in configs]


async def serve_all(servers: Sequence[uvicorn.Server], listeners: Sequence[socket.socket]) -> None:
    """Serve until one of the servers ends, then end the others too: a signal reaches only one of them."""
    running = [asyncio.create_task(one.serve(sockets=[its])) for one, its in zip(servers, listeners, strict=True)]
    await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
    for server in servers:
        server.should_exit = True
    await asyncio.gather(*running)


def _listen(host: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(128)
    except (OSError, OverflowError):
        listener.close()
        raise
    return listener


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line, serve, and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="sdelka sandbox model",
        description="Демо-модель: правила вместо ИИ, по протоколам OpenAI (/v1) и GigaChat (/api/v2/oauth, /api/v1)",
    )
    parser.add_argument("--port", type=int, default=0, help="порт; 0 = любой свободный")
    parser.add_argument("--tls-port", type=int, default=None, help="порт для HTTPS со своим центром сертификации; 0 = любой свободный")
    parser.add_argument("--host", default="127.0.0.1", help="адрес, на котором слушать")
    parser.add_argument("--pace", type=float, default=0.0, help="пауза в секундах между кусками потока")
    parser.add_argument("--script", type=Path, default=None, help="файл YAML или JSON с готовыми ответами и правилами")
    parser.add_argument("--data", default=None, help="папка для сертификатов; без неё они во временной")
    given = parser.parse_args(argv)
    try:
        rules = load_script(given.script) if given.script else ()
    except (OSError, ValueError, yaml.YAMLError) as error:
        sys.stderr.write(f"Демо-модель не запущена: файл ответов {given.script} не читается. {error}\n")
        return BUSY
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    return run(Options(given.port, given.tls_port, given.host, given.pace, given.data, tuple(rules)))

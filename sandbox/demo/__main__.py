"""The command `sdelka demo`: runs three fake servers (portal, model, Telegram) and the real bot on this machine, without any account.

The bot runs in a process of its own and is configured only by environment variables, as in production. This process can kill and restart
it.
"""

import argparse
import asyncio
import contextlib
import json
import secrets
import signal
import socket
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx
import yaml

from sandbox.demo.processes import Child, start_server
from sandbox.demo.supervisor import serve_supervisor

TOKEN = "1:sandbox"  # noqa: S105 - the sandbox Bot API accepts only this one
EVENTS = tuple(f"{start}{verb}" for start in ("ONCRMDEAL", "ONCRMLEAD", "ONTASK") for verb in ("ADD", "UPDATE", "DELETE"))
CLIENTS = {"site": "manager", "head": "lead", "ops": "admin"}
"""The demo's clients of the HTTP API, by the role of their token."""
PEOPLE = (
    {"telegram_id": 1001, "name": "Ольга Романова", "bitrix_user_id": 1, "role": "admin"},
    {"telegram_id": 1006, "name": "Анна Ковалёва", "bitrix_user_id": 6, "role": "lead"},
    {"telegram_id": 1007, "name": "Борис Смирнов", "bitrix_user_id": 7, "role": "manager"},
    {"telegram_id": 1008, "name": "Вера Лебедева", "bitrix_user_id": 8, "role": "manager"},
)


async def main(options: argparse.Namespace) -> int:
    """Run the demo until SIGINT or SIGTERM, then stop all its processes and return 0. A signal may come at any moment."""
    stop = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    showing = asyncio.ensure_future(_show(options))
    stopping = asyncio.ensure_future(stop.wait())
    await asyncio.wait({showing, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if showing.done():
        await showing  # ends by itself only with an error
    showing.cancel()  # once: a second signal must not interrupt the shutdown of the children
    with contextlib.suppress(asyncio.CancelledError):
        await showing
    return 0


async def _show(options: argparse.Namespace) -> None:
    """Start the servers and the bot, print their addresses, and keep them running until cancelled."""
    with tempfile.TemporaryDirectory(prefix="sdelka-demo-") as temporary:
        folder = await asyncio.to_thread(Path(options.data or temporary).resolve)
        folder.mkdir(parents=True, exist_ok=True)
        async with contextlib.AsyncExitStack() as stack:
            supervisor_port = await serve_supervisor(stack)
            addresses = await _start(folder, options, stack, supervisor_port.address)
            tokens = {name: secrets.token_urlsafe(24) for name in (*CLIENTS, "metrics")}
            environment = _bot_environment(folder, addresses, options.mode) | await _events(addresses["portal"]) | _api(tokens)
            addresses["api"] = f"http://127.0.0.1:{environment['HTTP_PORT']}"
            bot = Child([sys.executable, "-m", "bot", "run"], environment, folder / "bot.log")
            supervisor_port.bot = bot
            supervisor_port.portal = addresses["portal"]
            supervisor_port.telegram = addresses["telegram"]
            await stack.enter_async_context(bot)
            await _ready(addresses)
            _announce(addresses, tokens, options)
            await asyncio.Event().wait()


async def _start(folder: Path, options: argparse.Namespace, stack: contextlib.AsyncExitStack, supervisor: str) -> dict[str, str]:
    """Start the three fake servers and return their addresses by name.

    `supervisor` is the address of this process's own HTTP server, which the chat page calls to kill the bot.
    """
    base = [sys.executable, "-m"]
    portal = await start_server(stack, [*base, "sandbox.portal", "--port", "0", "--data", str(folder / "portal")], folder / "portal.log")
    model = await start_server(stack, [*base, "sandbox.model", "--port", "0"], folder / "model.log")
    telegram = await start_server(
        stack,
        [
            *[*base, "sandbox.telegram", "--port", str(options.port), "--data", str(folder / "telegram")],
            *["--portal", portal["portal"], "--audit", str(folder / "logs"), "--supervisor", supervisor],
        ],
        folder / "telegram.log",
    )
    return {**portal, **model, **telegram}


def _bot_environment(folder: Path, addresses: dict[str, str], mode: str) -> dict[str, str]:
    access = folder / "access.yaml"
    access.write_text(yaml.safe_dump({"people": list(PEOPLE)}, allow_unicode=True), encoding="utf-8")
    return {
        "TELEGRAM_BOT_TOKEN": TOKEN,
        "TELEGRAM_API_BASE": addresses["telegram"],
        "OPENAI_API_BASE": addresses["model"],
        "OPENAI_API_KEY": "sandbox",
        "BITRIX_WEBHOOK_URL": addresses["webhook"],
        "AGENT_MODE": mode,
        "ACCESS_FILE": str(access),
        "STATE_DIR": str(folder / "state"),
        "LOG_DIR": str(folder / "logs"),
        "PYTHONUNBUFFERED": "1",
    }


async def _events(portal: str) -> dict[str, str]:
    """Register a webhook for events at the fake portal, as an administrator would, and return the bot's settings for receiving them.

    The settings include a free port on which the bot will listen.
    """
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    wanted = {"handler": f"http://127.0.0.1:{port}/bitrix/events", "events": list(EVENTS)}
    async with httpx.AsyncClient(trust_env=False) as client:
        answer = (await client.post(f"{portal}/sandbox/outgoing", json=wanted)).json()
    return {"BITRIX_EVENT_TOKEN": answer["application_token"], "HTTP_HOST": "127.0.0.1", "HTTP_PORT": str(port)}


def _api(tokens: dict[str, str]) -> dict[str, str]:
    """Return the bot's settings for its HTTP API: the tokens of its clients and the token for metrics."""
    listed = ",".join(f"{name}={tokens[name]}:{role}:full" for name, role in CLIENTS.items())
    return {"HTTP_API_TOKENS": listed, "METRICS_TOKEN": tokens["metrics"]}


async def _ready(addresses: dict[str, str]) -> None:
    """Wait until the bot has polled for updates once. Raises TimeoutError after two minutes."""
    async with httpx.AsyncClient(trust_env=False) as client, asyncio.timeout(120):
        while True:
            answer = (await client.get(f"{addresses['telegram']}/sandbox/requests")).json()
            if any(item.get("method", "").lower() == "getupdates" for item in answer.get("requests", [])):
                return
            await asyncio.sleep(0.1)


def _announce(addresses: dict[str, str], tokens: dict[str, str], options: argparse.Namespace) -> None:
    if options.json:
        line: dict[str, Any] = {
            "chat": addresses["telegram"],
            "telegram": addresses["telegram"],
            "portal": addresses["portal"],
            "model": addresses["model"],
            "console": None,
            "api": addresses["api"],
            "tokens": tokens,
            "people": [
                {"name": person["name"], "role": person["role"], "telegram_id": person["telegram_id"], "chat_id": person["telegram_id"]}
                for person in PEOPLE
            ],
        }
        sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(f"\n  Sdelka demo: open {addresses['telegram']} in a browser. Ctrl+C stops it.\n")
        sys.stdout.write(
            f"  The HTTP API of the same bot: {addresses['api']}/docs, X-API-Key: {tokens['site']} (an admin's: {tokens['ops']})\n\n"
        )
    sys.stdout.flush()


def parse(argv: list[str]) -> argparse.Namespace:
    """Return the parsed command-line options of the demo."""
    parser = argparse.ArgumentParser(prog="sdelka demo", description="A CRM, a messenger and a model on this machine, and the real bot.")
    parser.add_argument("--json", action="store_true", help="print one JSON line with all addresses")
    parser.add_argument("--port", type=int, default=0, help="port of the chat page; 0 = a free one")
    parser.add_argument("--data", help="folder that keeps the demo's data; by default a temporary one")
    parser.add_argument("--mode", choices=("shadow", "canary", "full"), default="full")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(asyncio.run(main(parse(sys.argv[1:]))))

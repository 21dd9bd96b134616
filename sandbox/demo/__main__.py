"""The command `sdelka demo`: runs three fake servers (portal, model, Telegram) and the real bot on this machine, without any account.

The bot runs in a process of its own and is configured only by environment variables, as in production. This process can kill and restart
it.
"""

import argparse
import asyncio
import contextlib
import importlib.util
import json
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx

from sandbox.demo.installation import Installation, load_people
from sandbox.demo.processes import Child, start_server
from sandbox.demo.restore import Stage, publish_examples, start_bot
from sandbox.demo.supervisor import serve_supervisor

FIRM = "400,aside"
"""The past of the demo's portal, for questions about numbers: fourteen months that leave the sample records as they are."""


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
            supervisor = await serve_supervisor(stack)
            addresses = await _start(folder, options, stack, supervisor.address)
            installation = Installation(folder=folder, addresses=addresses, mode=options.mode)
            bot = await stack.enter_async_context(Child([sys.executable, "-m", options.program, "run"], folder / "bot.log"))
            stage = Stage(bot=bot, installation=installation, mode=options.mode)
            async with httpx.AsyncClient(trust_env=False) as client:
                await installation.authorize(client)
                await start_bot(client, stage)
                await publish_examples(client, stage)
            supervisor.stage = stage
            _announce(installation, options)
            await asyncio.Event().wait()


async def _start(folder: Path, options: argparse.Namespace, stack: contextlib.AsyncExitStack, supervisor: str) -> dict[str, str]:
    """Start the three fake servers and return their addresses by name.

    `supervisor` is the address of this process's own HTTP server, which the chat page calls to kill the bot.
    """
    base = [sys.executable, "-m"]
    firm = ["--firm", FIRM, "--data", str(folder / "portal")]
    portal = await start_server(stack, [*base, "sandbox.portal", "--port", "0", *firm], folder / "portal.log")
    model = await start_server(stack, [*base, "sandbox.model", "--port", "0", "--pace", str(options.pace)], folder / "model.log")
    telegram = await start_server(
        stack,
        [
            *[*base, "sandbox.telegram", "--port", str(options.port), "--data", str(folder / "telegram")],
            *["--portal", portal["portal"], "--audit", str(folder / "logs"), "--supervisor", supervisor],
        ],
        folder / "telegram.log",
    )
    return {**portal, **model, **telegram}


def _announce(installation: Installation, options: argparse.Namespace) -> None:
    addresses, tokens, api = installation.addresses, installation.tokens, installation.api
    if options.json:
        people = [
            {"name": person["name"], "role": person["role"], "telegram_id": person["telegram_id"], "chat_id": person["telegram_id"]}
            for person in load_people()
        ]
        line: dict[str, Any] = {
            "chat": addresses["telegram"],
            "telegram": addresses["telegram"],
            "portal": addresses["portal"],
            "model": addresses["model"],
            "console": f"{api}/console",
            "api": api,
            "tokens": {**tokens},
            "people": people,
        }
        sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(f"\n  Sdelka demo: open {addresses['telegram']} in a browser. Ctrl+C stops it.\n")
        sys.stdout.write(f"  The HTTP API of the same bot: {api}/docs, X-API-Key: {tokens['site']} (an admin's: {tokens['ops']})\n\n")
    sys.stdout.flush()


def parse(argv: list[str]) -> argparse.Namespace:
    """Return the parsed command-line options of the demo."""
    parser = argparse.ArgumentParser(prog="sdelka demo", description="A CRM, a messenger and a model on this machine, and the real bot.")
    parser.add_argument("--json", action="store_true", help="print one JSON line with all addresses")
    parser.add_argument("--port", type=int, default=0, help="port of the chat page; 0 = a free one")
    parser.add_argument("--data", help="folder that keeps the demo's data; by default a temporary one")
    parser.add_argument("--mode", choices=("shadow", "canary", "full"), default="full")
    parser.add_argument("--pace", type=float, default=0.0, help="pause in seconds between the pieces of the model's answers")
    parser.add_argument(
        "--program", default="bot", help="Python module that runs the bot, such as examples.engines; it is called with `run`"
    )
    options = parser.parse_args(argv)
    if not _is_module(options.program):
        parser.error(f"there is no Python module {options.program}")
    return options


def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):  # a parent package is missing, or the name is no name
        return False


if __name__ == "__main__":
    sys.exit(asyncio.run(main(parse(sys.argv[1:]))))

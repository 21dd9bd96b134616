"""A tiny HTTP door to the supervisor: the tour's "kill the bot in the middle of the call"."""

import asyncio
import contextlib
import socket
from dataclasses import dataclass

import httpx
import uvicorn
from fastapi import FastAPI

from sandbox.demo.processes import Child


@dataclass
class Supervisor:
    """What the door can reach."""

    address: str
    bot: Child | None = None
    portal: str = ""


async def serve_supervisor(stack: contextlib.AsyncExitStack) -> Supervisor:
    """Listen on a free loopback port until the stack closes."""
    listener = socket.create_server(("127.0.0.1", 0))
    supervisor = Supervisor(address=f"http://127.0.0.1:{listener.getsockname()[1]}")
    server = uvicorn.Server(uvicorn.Config(_app(supervisor), log_level="error", lifespan="off"))
    serving = asyncio.ensure_future(server.serve(sockets=[listener]))

    async def close() -> None:
        server.should_exit = True
        await serving

    stack.push_async_callback(close)
    return supervisor


def _app(supervisor: Supervisor) -> FastAPI:
    app = FastAPI()

    @app.get("/health")
    async def health() -> dict[str, object]:
        return {"ok": True, "starts": supervisor.bot.starts if supervisor.bot else 0}

    @app.post("/kill")
    async def kill() -> dict[str, object]:
        """SIGKILL to the bot now; it is started again a second later."""
        return {"killed": bool(supervisor.bot and supervisor.bot.kill())}

    @app.post("/kill-in-call")
    async def kill_in_call() -> dict[str, object]:
        """Make the portal slow for the next write, wait until it arrives, then kill the bot while it waits for the answer."""
        async with httpx.AsyncClient(trust_env=False) as client:
            seen = (await client.get(f"{supervisor.portal}/sandbox/ledger")).json()["calls"]
            after = seen[-1]["seq"] if seen else 0
            fault = {"method": "crm.deal.update", "kind": "delay", "seconds": 3, "times": 1}
            await client.post(f"{supervisor.portal}/sandbox/faults", json=fault)
            arrived = await _arrives(client, supervisor.portal, after)
        return {"arrived": arrived, "killed": arrived and bool(supervisor.bot and supervisor.bot.kill())}

    return app


async def _arrives(client: httpx.AsyncClient, portal: str, after: int) -> bool:
    """Whether a deal update reached the portal within a minute."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(60):
            while True:
                calls = (await client.get(f"{portal}/sandbox/ledger", params={"after": after})).json()["calls"]
                if any(call["method"] == "crm.deal.update" for call in calls):
                    return True
                await asyncio.sleep(0.05)
    return False

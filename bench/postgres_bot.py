"""One process of the product for the benches on PostgreSQL: inbox, lanes, gate, engine, audit log, approval; model and portal are instant.

`python -m bench.postgres_bot DATABASE FIRST SESSIONS TURNS` warms up, says "ready", waits for a line, plays the turns of all its sessions
at once, and says what they cost. DATABASE is the address of a PostgreSQL database, or "sqlite" for a file of its own. FIRST is the number
of its first session: each session is a person, and each turn changes another deal, as with people at work.
"""

import asyncio
import gc
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
from pydantic import SecretStr

from bench.postgres_clients import ManyDeals, build_clients
from bench.turn_world import ignore_trouble, show_nothing
from bot.composition.database import open_async_store
from bot.composition.people import People
from bot.settings.settings import Settings
from orchestrator.domain.actor import Actor
from orchestrator.runtime.worker import Orchestrator
from orchestrator.sessions.session import LEASE
from state.clock import SystemClock, generate_id
from state.journal.async_store import AsyncStore
from state.journal.store import Commit, InboxRow, Lane, OutboxRow
from tests.assembly_kit import assemble

WARM_UP = 3
PATIENCE = 120.0
"""Seconds after which an input that nobody works ends the bench."""


class Person:
    """Somebody who asks for a change, gets a card and approves it."""

    def __init__(self, number: int, talk: "Talk") -> None:
        self._number, self._talk = number, talk
        self._session = f"tg:{number}"
        self._actor = Actor(key=self._session, name="Борис", bitrix_user_id=number).model_dump(mode="json")

    async def play(self, first: int, turns: int) -> None:
        """Play so many turns, one after the other."""
        await self._talk.claim(self._session)
        for turn in range(first, first + turns):
            deal = self._number * 1000 + turn
            rows = await self._tell("message", "turn", {"text": f"подними сумму сделки {deal}, раз {turn}", "origin": "typed"})
            card = next(row.body for row in rows if row.kind == "card")
            approval = {"confirmation_id": card["confirmation_id"], "nonce": card["nonce"], "approve": True, "via": "bench"}
            await self._tell("decision", "express", approval)

    async def _tell(self, kind: str, lane: Lane, body: dict[str, Any]) -> list[OutboxRow]:
        row_id, now = generate_id(), SystemClock().now()
        row = InboxRow(id=row_id, source=row_id, session=self._session, lane=lane, kind=kind, actor=self._actor, body=body, received_at=now)
        return await self._talk.tell(row)


class Talk:
    """Hands inputs to the product, waits for what comes of each, and delivers it."""

    def __init__(self, orchestrator: Orchestrator, store: AsyncStore) -> None:
        self._orchestrator, self._store = orchestrator, store
        self._waiting: dict[str, asyncio.Future[list[OutboxRow]]] = {}
        store.watchers.append(self._hear)

    async def claim(self, session: str) -> None:
        """Take the session for this process, before another one hears of its first input and takes it: only its own commits are heard."""
        now = SystemClock().now()
        if await self._store.acquire(session, self._orchestrator.owner, now, now + LEASE) is None:
            msg = f"another process holds {session}"
            raise RuntimeError(msg)

    async def tell(self, row: InboxRow) -> list[OutboxRow]:
        """Return what is delivered in answer to an input, once its work is stored."""
        answer = self._waiting[row.id] = asyncio.get_running_loop().create_future()
        await self._orchestrator.receive([row])
        async with asyncio.timeout(PATIENCE):
            rows: list[OutboxRow] = await answer
        for each in rows:
            await self._store.mark_outbox_sent(each.id, "1")
        return rows

    def _hear(self, commit: Commit) -> None:
        steps = (*commit.earlier, commit)
        for row_id in (row_id for step in steps for row_id in step.inbox_done if row_id in self._waiting):
            self._waiting.pop(row_id).set_result([row for step in steps for row in step.outbox])


@asynccontextmanager
async def open_talk(database: str) -> AsyncIterator[Talk]:
    """The product on that database while the block runs; at the end each approval must have made one write."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        policy = folder / "policy.yaml"
        policy.write_text("caps: {writes_per_day: 1000000}\n", encoding="utf-8")  # nobody makes so many changes a day as a bench
        settings = Settings(_env_file=None, state_dir=folder / "state", log_dir=folder / "logs", agent_mode="full", policy_file=policy)
        if database != "sqlite":
            settings = settings.model_copy(update={"database_url": SecretStr(database)})
        async with open_async_store(settings) as store:
            clients = build_clients(ManyDeals())
            made = assemble(
                settings,
                store,
                clients.bitrix,
                clients.model,
                clock=SystemClock(),
                people=People(report_trouble=ignore_trouble, show_partial=show_nothing),
            )
            made.tools = replace(made.tools, features=replace(made.tools.features, periodic_tasks=()))  # no part of a turn
            working = asyncio.ensure_future(made.run())
            gc.collect()
            gc.freeze()  # as `sdelka run` does
            yield Talk(made, store)
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)


async def main(database: str, first: int, sessions: int, turns: int) -> None:
    """Warm up, wait for the word, play, tell the milliseconds of the processor a turn."""
    async with open_talk(database) as talk:
        people = [Person(first + number, talk) for number in range(sessions)]
        await asyncio.gather(*(person.play(0, WARM_UP) for person in people))
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        spent = time.process_time()
        await asyncio.gather(*(person.play(WARM_UP, turns) for person in people))
        spent = time.process_time() - spent
        print(orjson.dumps({"cpu_ms": spent * 1000 / (sessions * turns)}).decode(), flush=True)
        await asyncio.to_thread(sys.stdin.readline)  # whoever measures looks at the server first


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], *(int(each) for each in sys.argv[2:5])))

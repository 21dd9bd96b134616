"""The person of a child, with the door and the clock that belong to it. Imported by the child only."""

import asyncio
import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from lab_script import SESSION, Step

from orchestrator.gate.confirmations import second_nonce
from orchestrator.messages import Actor
from orchestrator.workers import Orchestrator
from state.clock import new_id
from state.store import InboxRow
from state.worker import AsyncStore

ACTOR = Actor(key=SESSION, name="Анна", bitrix_user_id=7)
PAUSE = 0.002


class LabClock:
    """The machine's clock, which can be put forward: from within, or by a file while the process is stopped."""

    def __init__(self, ahead: float, file: Path) -> None:
        self.ahead = timedelta(seconds=ahead)
        self._file = file

    def now(self) -> datetime:
        """The present moment."""
        slept = float(self._file.read_text(encoding="utf-8")) if self._file.exists() else 0.0
        return datetime.now(UTC) + self.ahead + timedelta(seconds=slept)


class Told:
    """What a person saw and what a door acknowledged: lines that are on the disk before anything goes on."""

    def __init__(self, path: Path, generation: int) -> None:
        self._path = path
        self._generation = generation
        self.lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []

    def add(self, kind: str, **body: Any) -> None:
        """One line, flushed."""
        line = {"kind": kind, "generation": self._generation, **body}
        self.lines.append(line)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def acknowledged(self, source: str) -> bool:
        """Whether the door told the messenger that it has this input."""
        return any(line["kind"] == "acknowledged" and line["source"] == source for line in self.lines)

    def cards(self, name: str) -> list[dict[str, Any]]:
        """The cards of that part of the script as the person sees them now."""
        own = {line["id"] for line in self.lines if line["kind"] == "offered" and line["source"].startswith(f"{name}/")}
        shown = [line["body"] for line in self.lines if line["kind"] == "card" and line["body"].get("turn_id") in own]
        return list({body["confirmation_id"]: body for body in shown}.values())


class Person:
    """Writes, reads and presses, one thing after the other; offers again what was not acknowledged."""

    def __init__(self, orchestrator: Orchestrator, store: AsyncStore, told: Told, clock: LabClock) -> None:
        self._orchestrator = orchestrator
        self._store = store
        self._told = told
        self._clock = clock

    async def act(self, steps: tuple[Step, ...]) -> None:
        """Everything of the script that was not done yet."""
        await self.rest()
        for step in steps:
            offered = [row for source in step.sources for row in self._rows(step, source)]
            rows = [row for row in offered if not self._told.acknowledged(row.source)]
            if rows:
                for row in rows:
                    self._told.add("offered", source=row.source, id=row.id)
                await self._orchestrator.receive(rows)
                for row in rows:
                    self._told.add("acknowledged", source=row.source)
                await self.rest()

    async def rest(self) -> None:
        """Until nothing is left to work on and everything was told."""
        while True:
            while await self._busy():  # noqa: ASYNC110 - rest is seen in the store, which fires no event of ours
                await asyncio.sleep(PAUSE)
            rows = await self._store.due_outbox("tg", self._clock.now())
            if not rows:
                return
            for row in rows:
                self._told.add(row.kind, key=row.key, body=dict(row.body))
                await self._store.outbox_sent(row.id, "1")

    async def _busy(self) -> bool:
        return not await self._orchestrator.idle() or bool(await self._store.due_timers(self._clock.now()))

    def _rows(self, step: Step, source: str) -> list[InboxRow]:
        """The message, or a press on every card that waits (`again`: on every card at all)."""
        if step.kind == "message":
            return [self._input("message", source, {"text": step.text, "origin": "typed"})]
        rows = []
        for card in self._told.cards(source.partition("/")[0]):
            number = card["confirmation_id"]
            if step.kind == "again" or card["status"] == "requested":
                nonce = second_nonce(card["nonce"]) if card["taps"] > 1 else card["nonce"]
                press = {"confirmation_id": number, "nonce": nonce, "approve": step.kind != "deny", "via": "button"}
                rows.append(self._input("decision", f"{source}/{number}", press | {"callback_id": f"{source}/{number}"}))
        return rows

    def _input(self, kind: str, source: str, body: dict[str, Any]) -> InboxRow:
        return InboxRow(
            id=new_id(),
            source=source,
            session=SESSION,
            lane="turn" if kind == "message" else "express",
            kind=kind,
            actor=ACTOR.model_dump(mode="json"),
            body=body,
            received_at=self._clock.now(),
        )

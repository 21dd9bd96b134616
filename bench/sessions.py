"""Ten thousand sessions in the database, a thousand in memory: the cost of a known person's turn, and the memory of a session."""

import gc
import os
import statistics
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from bench.turn_world import Clients, InstantClient, InstantModel, Portal, Runner, instant, product
from state.clock import SystemClock, generate_id
from state.events.conversation import MessageReceived, TurnFinished
from state.journal.journal import to_stream
from state.journal.store import Commit, InboxRow, Store

STORED = 10_000
OPEN = 1_000
TOGETHER = 100
"""How many sessions are seeded in one transaction."""
WARM_UP = 10
WINDOWS = 40
TURNS = 3
"""Turns of one window."""
TEXT = "подними сумму сделки 481, раз"
_PAGE = os.sysconf("SC_PAGE_SIZE")


class _Talking(InstantModel):
    """Proposes a change as the other does, or answers in words while it is told to."""

    is_quiet = False

    def answer(self, messages: list[dict[str, Any]]) -> str:
        """What it says to these messages."""
        return "ASSISTANT:\nГотово." if self.is_quiet else super().answer(messages)


async def session_benches() -> list[dict[str, Any]]:
    """CPU of a known person's turn beside many sessions, against one beside none, window by window; memory of an open session."""
    model = _Talking()
    async with product(instant) as few, product(lambda portal: _connect(portal, model)) as many:
        begun = time.monotonic()
        await many.write(_seed, STORED)
        seeded = time.monotonic() - begun
        alone: list[float] = []
        beside: list[float] = []
        await _measure(few, WARM_UP)  # what is loaded with the first turns is not counted to the sessions
        await _measure(many, WARM_UP)
        before = _read_memory()
        model.is_quiet = True
        await _open_sessions(many, OPEN)
        model.is_quiet = False
        memory = (_read_memory() - before) / OPEN
        for _ in range(WINDOWS):
            alone.append(await _measure(few, TURNS))
            beside.append(await _measure(many, TURNS))
    ratio = statistics.quantiles(beside, n=10)[0] / statistics.quantiles(alone, n=10)[0]
    told = f"p10 of {WINDOWS} windows, in turn: {statistics.quantiles(alone, n=10)[0]:.1f} ms alone; seeded in {seeded:.0f} s"
    name = f"turn CPU with {STORED} sessions stored, {OPEN} open / with one"
    return [
        {"name": name, "value": round(ratio, 2), "unit": "x", "bar": "<= 1.1", "holds": ratio <= 1.1, "versus": told},
        {"name": "memory of an open session", "value": round(memory, 1), "unit": "KB", "bar": "<= 20", "holds": memory <= 20, "versus": ""},
    ]


def _connect(portal: Portal, model: InstantModel) -> Clients:
    return Clients(bitrix=InstantClient(portal), model=model)


async def _measure(runner: Runner, turns: int) -> float:
    """Milliseconds of CPU of one turn: text, card, approval, call, and the answer after it."""
    begun = time.process_time()
    for number in range(turns):
        await runner.turn("tg:7", number)
        await runner.rest()
    return (time.process_time() - begun) * 1000 / turns


def _seed(store: Store, count: int) -> None:
    """Conversations of so many people, each with a request and its answer."""
    for start in range(0, count, TOGETHER):
        store.commit_group([_begin(store, f"tg:{100_000 + number}") for number in range(start, min(start + TOGETHER, count))])


def _begin(store: Store, key: str) -> Commit:
    now = SystemClock().now()
    lease = store.acquire(key, "seed", now, now + timedelta(microseconds=1))  # it is over when the bot comes
    if lease is None:
        raise RuntimeError(key)
    turn_id = generate_id()
    events = [
        MessageReceived(turn_id=turn_id, text=f"{TEXT} {key}"),
        TurnFinished(turn_id=turn_id, reason="answered", text="Готово, сумма сделки изменена.", history="Готово, сумма сделки изменена."),
    ]
    return Commit(stream=to_stream(key), epoch=lease.epoch, actor=key, now=now, events=events)


async def _open_sessions(runner: Runner, count: int) -> None:
    """Let so many of the people write something that the model answers in words."""
    for start in range(0, count, TOGETHER):
        await runner.receive([_say(f"tg:{100_000 + number}") for number in range(start, min(start + TOGETHER, count))])
        await runner.rest()


def _say(key: str) -> InboxRow:
    row_id = generate_id()
    actor = {"key": key, "name": "Анна", "bitrix_user_id": 7}
    body: dict[str, object] = {"text": "сколько у меня сделок?", "origin": "typed"}
    now = SystemClock().now()
    return InboxRow(id=row_id, source=row_id, session=key, lane="turn", kind="message", actor=actor, body=body, received_at=now)


def _read_memory() -> float:
    """The memory of this process (RSS) in KB, without garbage."""
    gc.collect()
    fields: Sequence[str] = Path("/proc/self/statm").read_text(encoding="ascii").split()
    return int(fields[1]) * _PAGE / 1024

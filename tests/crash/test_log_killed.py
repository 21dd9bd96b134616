"""A process that is killed before its audit records are written: the journal tells of every finished turn, and the log is rebuilt from it."""

import asyncio
import multiprocessing
import os
import signal
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from orchestrator.reports.log_rebuild.rebuild import rebuild_logs
from orchestrator.reports.log_rebuild.verify import verify_logs
from state.audit_log.interaction_log import InteractionLogger, list_users, read_records
from state.sql import build_sqlite_url
from state.sql.store import open_reader, open_store
from tests.unit.spine_kit import ANNA, a_world, message, press, raise_sum, reply

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["pytest", "tests.unit.spine_kit"])
TURNS = 3
"""How many changes are asked for. Each has three records: the plan, the decision, and the answer after it."""
LATER = datetime(2100, 1, 1, tzinfo=UTC)
ASKED = ("type", "turn_id", "iteration", "user_message")
"""The fields by which a record is recognized; the writing and the rebuilding of one differ in its time."""


def _work(folder: Path, most: int, first: int, done: Connection, *, is_killed: bool) -> None:
    """Three changes of a sum, each asked for, approved and carried out; at most so many records are written, then the process is killed."""
    append, records = InteractionLogger.append, iter(range(most))

    def append_some(self: InteractionLogger, user: str, record: bytes) -> None:
        if next(records, None) is not None:
            append(self, user, record)

    InteractionLogger.append = append_some  # type: ignore[method-assign] # what a killed process did not come to

    async def work() -> None:
        async with a_world(folder, store=open_store(build_sqlite_url(folder / "sdelka.db"))) as world:
            for number in range(first, first + TURNS):
                world.model.will(reply(raise_sum(1_200_000 + number)))
                await world.work(message(f"подними сумму сделки 481 до {1_200_000 + number}"))
                *_, card = [row.body for row in world.outbox() if row.kind == "card"]
                await world.work(press(card))
            world.tools.audit.wait()
            done.send(TURNS)
            if is_killed:
                os.kill(os.getpid(), signal.SIGKILL)

    asyncio.run(work())


def _run(folder: Path, most: int, first: int, *, is_killed: bool) -> int | None:
    here, there = PROCESSES.Pipe()
    process = PROCESSES.Process(target=_work, args=(folder, most, first, there), kwargs={"is_killed": is_killed}, daemon=True)
    process.start()
    there.close()
    assert here.poll(60)
    assert here.recv() == TURNS
    process.join(30)
    return process.exitcode


def _count(folder: Path) -> Counter[tuple[Any, ...]]:
    """How often each record is in the logs of a folder."""

    def name(record: Mapping[str, Any]) -> tuple[Any, ...]:
        card = record.get("confirmation") or {}
        return *(record.get(field) for field in ASKED), card.get("confirmation_id")

    return Counter(name(record) for user in list_users(folder) for record in read_records(folder, user)) if folder.exists() else Counter()


@pytest.mark.req("S004-49", "S004-A2")
@pytest.mark.parametrize("most", range(3 * TURNS + 1))
def test_no_finished_turn_is_lost_with_a_killed_process(tmp_path: Path, most: int) -> None:
    """Whatever of the log was written is whole; what is missing is named, and the journal gives each record once; the next process goes on."""
    assert _run(tmp_path, most, 0, is_killed=True) == -signal.SIGKILL
    before = _count(tmp_path / "logs")
    assert sum(before.values()) == most
    store = open_reader(build_sqlite_url(tmp_path / "sdelka.db"))
    findings = list(verify_logs(store, tmp_path / "logs", now=LATER))
    assert [finding.kind for finding in findings] == ["missing"] * (most < 3 * TURNS)
    assert all((finding.place, "`sdelka logs rebuild`" in finding.why) == (ANNA.key, True) for finding in findings)
    assert rebuild_logs(store, tmp_path / "rebuilt") == {ANNA.key: 3 * TURNS}
    assert list(verify_logs(store, tmp_path / "rebuilt", now=LATER)) == []
    rebuilt = _count(tmp_path / "rebuilt")
    assert set(rebuilt.values()) == {1}
    assert before <= rebuilt
    if most % TURNS == 0:
        assert _run(tmp_path, 99, TURNS, is_killed=False) == 0
        assert sum(_count(tmp_path / "logs").values()) == most + 3 * TURNS
        rebuild_logs(store, tmp_path / "all")
        assert set(_count(tmp_path / "all").values()) == {1}
        assert sum(_count(tmp_path / "all").values()) == 6 * TURNS
    store.close()

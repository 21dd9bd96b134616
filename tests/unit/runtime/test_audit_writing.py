"""The thread that writes audit records: what goes wrong with one takes no other with it, and no turn waits."""

import threading
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.actor import Actor
from orchestrator.sessions import audit
from orchestrator.sessions.audit import Audit
from state.audit_log.interaction_log import InteractionLogger, read_records
from state.clock import SystemClock

ANNA = Actor(key="tg:1007", name="Анна")


async def record(log: Audit, *turns: str) -> None:
    for turn in turns:
        await log.record_failure(actor=ANNA, session=ANNA.key, turn_id=turn, what="x")


def read_turns(folder: Path) -> list[str]:
    return [record["turn_id"] for record in read_records(folder, ANNA.key)]


@pytest.mark.req("S004-49", "S004-52")
async def test_a_record_that_cannot_be_masked_takes_no_others_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is left out, since it may hold a secret; those before and behind it are written in their order."""
    mask = audit._mask

    def fail(user: str, encoded: bytes) -> bytes:
        if b"two" in encoded:
            raise ValueError
        return mask(user, encoded)

    monkeypatch.setattr(audit, "_mask", fail)
    log = Audit(InteractionLogger(tmp_path, clock=SystemClock()), SystemClock())
    await record(log, "one", "two", "three")
    log.wait()
    assert read_turns(tmp_path) == ["one", "three"]


@pytest.mark.req("S004-52")
async def test_what_no_longer_fits_into_memory_is_left_to_the_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """While the disk stands still nobody waits for it, and no memory is filled without end."""
    is_free, write = threading.Event(), InteractionLogger.write

    def stand_still(self: InteractionLogger, *args: Any) -> None:
        assert is_free.wait(30)
        write(self, *args)

    monkeypatch.setattr(InteractionLogger, "write", stand_still)
    monkeypatch.setattr(audit, "MOST_WAITING", 3)
    log = Audit(InteractionLogger(tmp_path, clock=SystemClock()), SystemClock())
    await record(log, *map(str, range(9)))
    is_free.set()
    log.wait()
    turns = read_turns(tmp_path)
    assert turns == [str(number) for number in range(len(turns))]
    assert 3 <= len(turns) <= 4
    assert "left to the journal" in caplog.text

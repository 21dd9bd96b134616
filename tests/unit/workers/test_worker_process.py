"""Whatever becomes of a worker, one order fails and the next is answered."""

import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.workers.frames import WorkerLimits
from orchestrator.workers.worker_process import WorkerFailed, WorkerProcess

ROOT = Path(__file__).resolve().parents[3]
ODD = "tests.unit.workers.odd_worker:answer"
LIMITS = WorkerLimits(seconds=60, cpu_seconds=60, memory=500_000_000)


@pytest.fixture
def worker() -> Iterator[WorkerProcess]:
    worker = WorkerProcess(ODD, LIMITS)
    yield worker
    worker.close()


def test_one_process_is_started_by_the_first_order_and_answers_all(worker: WorkerProcess) -> None:
    assert worker.process_id is None
    assert worker.ask(b"one") == b"one"
    pid = worker.process_id
    assert [worker.ask(order) for order in (b"", b"two", b"x" * 1_000_000)] == [b"", b"two", b"x" * 1_000_000]
    assert worker.process_id == pid


@pytest.mark.parametrize("order", [b"die", b"shout", b"lie"])
def test_a_worker_that_dies_or_says_what_is_no_answer_is_replaced(worker: WorkerProcess, order: bytes) -> None:
    worker.ask(b"one")
    pid = worker.process_id
    with pytest.raises(WorkerFailed, match="died") as failure:
        worker.ask(order)
    assert not failure.value.is_late
    assert worker.process_id is None
    assert worker.ask(b"two") == b"two"
    assert worker.process_id not in {None, pid}


def test_a_worker_that_was_killed_between_two_orders_is_replaced(worker: WorkerProcess) -> None:
    worker.ask(b"one")
    pid = worker.process_id
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert worker.ask(b"two") == b"two"


@pytest.mark.parametrize(("order", "reason"), [(b"raise", "KeyError at odd_worker.py"), (b"fill", "MemoryError"), (b"write", "OSError")])
def test_an_order_that_goes_wrong_says_why_without_its_text_and_the_process_stays(worker: WorkerProcess, order: bytes, reason: str) -> None:
    """Also one that wants more memory than it may have, or writes a file."""
    worker.ask(b"one")
    pid = worker.process_id
    with pytest.raises(WorkerFailed, match=reason) as failure:
        worker.ask(order)
    assert "customer" not in str(failure.value)
    assert worker.ask(b"two") == b"two"
    assert worker.process_id == pid


@pytest.mark.parametrize(("order", "limits"), [(b"hang", {"seconds": 0.01}), (b"burn", {"cpu_seconds": 0.01})])
def test_an_order_that_takes_too_long_is_ended(order: bytes, limits: dict[str, float]) -> None:
    """By the clock, or by what it computes."""
    worker = WorkerProcess(ODD, replace(LIMITS, **limits))  # type: ignore[arg-type] # both are numbers
    try:
        with pytest.raises(WorkerFailed) as failure:
            worker.ask(order)
        assert failure.value.is_late
        assert worker.process_id is None
    finally:
        worker.close()


def test_what_a_library_prints_is_no_answer(worker: WorkerProcess) -> None:
    assert worker.ask(b"print") == b"print"


def test_an_order_is_cancelled_and_the_next_one_is_answered(worker: WorkerProcess) -> None:
    worker.ask(b"one")
    reasons: list[str] = []

    def hang() -> None:
        try:
            worker.ask(b"hang")
        except WorkerFailed as error:
            reasons.append(str(error))

    waiting = threading.Thread(target=hang)
    waiting.start()
    while waiting.is_alive():
        worker.cancel()
        waiting.join(0.01)
    assert reasons == ["the worker died"]
    assert worker.ask(b"two") == b"two"


def test_an_ended_worker_leaves_no_process_and_a_closed_one_starts_none(worker: WorkerProcess) -> None:
    worker.ask(b"one")
    pid = worker.process_id
    assert pid is not None
    worker.end()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert worker.ask(b"two") == b"two"
    worker.close()
    with pytest.raises(WorkerFailed, match="ends"):
        worker.ask(b"three")
    assert worker.process_id is None


def test_no_secret_reaches_the_worker(worker: WorkerProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert b"OPENAI" not in worker.ask(b"environment")


@pytest.mark.slow
def test_the_worker_ends_by_itself_when_the_program_is_killed() -> None:
    code = """
import os
import sys
from orchestrator.workers.frames import WorkerLimits
from orchestrator.workers.worker_process import WorkerProcess
worker = WorkerProcess(sys.argv[1], WorkerLimits(seconds=60))
worker.ask(b"one")
print(worker.process_id, flush=True)
os.kill(os.getpid(), 9)
"""
    printed = subprocess.run(
        [sys.executable, "-c", code, ODD],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    try:
        descriptor = os.pidfd_open(int(printed.stdout))
    except ProcessLookupError:
        return  # it has ended and was reaped
    try:
        assert select.select([descriptor], [], [], 30)[0]
    finally:
        os.close(descriptor)

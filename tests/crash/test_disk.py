"""The disk is full or failing: nothing is acknowledged that is not stored, no call is made that is not intended, and then all goes on.

Effects fail closed, logs fail open. The write-ahead log cut at any byte keeps all that was promised by then.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from state.sql.dialect import build_sqlite_url
from state.sql.store import open_reader
from tests import chain_kit
from tests.crash.lab import one_run
from tests.crash.lab_checks import findings
from tests.crash.lab_disk import cut, lab_folder, now_mounted, promises, small_disk, stored, sweep
from tests.crash.lab_order import WAL
from tests.crash.lab_walk import Lab, Plan, calls

LONG = 1800
FLUSH, WRITE = "flush sdelka.db-wal", "write sdelka.db-wal"


def failing(made: list[str], how: str, line: str, *, every: int, times: tuple[int, ...]) -> list[Plan]:
    """A plan for each of every so many such calls; how often in a row goes round."""
    found = range(1, made.count(line) + 1, every)
    return [
        {"more": {"call": {"how": how, "calls": line, "at": at, "times": times[number % len(times)]}}} for number, at in enumerate(found)
    ]


@pytest.mark.timeout(300)
@pytest.mark.req("G1", "G2", "S004-A2")
@pytest.mark.parametrize(("script", "every"), [("sum", 5), ("free", 6)])
async def test_a_flush_fails(script: str, every: int, shimmed: Lab) -> None:
    """EIO: not acknowledged, that handle never used again, nothing lost or done twice, and all goes on."""
    made = calls(await shimmed.untouched(script))
    assert await shimmed.walk(script, failing(made, "eio", FLUSH, every=every, times=(1,))) == {}


@pytest.mark.timeout(300)
@pytest.mark.req("G1", "G2", "S004-A2")
@pytest.mark.parametrize(("script", "every"), [("sum", 37), ("free", 47), ("choice", 61)])
async def test_no_space(script: str, every: int, shimmed: Lab) -> None:
    """ENOSPC once or many times in a row: nothing of the step is kept, and when there is room again all goes on."""
    made = calls(await shimmed.untouched(script))
    assert await shimmed.walk(script, failing(made, "nospace", WRITE, every=every, times=(1, 4, 40))) == {}


@pytest.mark.req("G1", "G2", "S004-A2")
async def test_a_call_that_cannot_be_intended_is_not_made(shimmed: Lab) -> None:
    """While the intent of an approved call cannot be stored the person is told of trouble, and the portal hears nothing."""
    plan = {"disk": {"from": "~CallStarted.*:before", "how": "nospace", "calls": WRITE, "times": 40}}
    run = await shimmed.run("sum", more=plan)
    assert findings(run) == []
    assert [line["code"] for line in run.lines if line["kind"] == "trouble"] == ["store-trouble"]
    refused = [number for number, call in enumerate(run.trace) if call.trouble == "n"]
    sent = [number for number, call in enumerate(run.trace) if call.op == "send" and call.what.endswith("crm.deal.update")]
    assert len(refused) == 40
    assert len(sent) == 1
    assert sent[0] > refused[-1]


@pytest.mark.req("S004-53")
async def test_an_input_is_not_given_up_because_of_the_disk(shimmed: Lab) -> None:
    """While the end of a turn does not fit on the disk five times, its message is not put aside: it was taken in, and will fit again."""
    order = {"from": "~TurnFinished.*:before", "again": 5, "how": "nospace", "calls": WRITE, "times": 1}
    assert findings(await shimmed.run("sum", more={"disk": order})) == []


async def test_frames_whose_flush_failed_are_not_believed(shimmed: Lab) -> None:
    """A flush fails at the commit and again when its connection is closed: what the next one finds in the log was never on the disk."""
    order = {"from": "mark_outbox_sent:before", "how": "eio", "calls": FLUSH, "times": 2}
    assert findings(await shimmed.run("sum", more={"disk": order})) == []


async def test_a_log_that_cannot_be_written_disturbs_nobody(shimmed: Lab) -> None:
    """The audit log is on a full disk: the person is answered and told of no trouble."""
    run = await shimmed.run("sum", more={"call": {"how": "nospace", "calls": "write logs/", "at": 1, "times": 1000}})
    assert [call for call in run.trace if call.trouble == "n"] != []
    assert findings(run) == []
    assert [line for line in run.lines if line["kind"] == "trouble"] == []


@pytest.mark.req("G1", "G2", "S004-A2")
@pytest.mark.parametrize("left", [0, 16_384])
async def test_a_disk_that_is_really_full(left: int, lab: Lab, tmp_path: Path) -> None:
    """A press and a message on a full disk: no call without its intent; with room again everything is done once and told."""
    with small_disk(tmp_path / "disk") as disk:
        run = await lab.run("filled", common={"state": str(disk), "left": left})
        assert findings(run) == []
        if left == 0:
            assert [line for line in run.lines if line["kind"] in {"turned-away", "trouble"}] != []
            assert run.world.noted == 0
    assert str(disk) not in now_mounted()


def test_what_was_left_mounted_is_swept(tmp_path: Path) -> None:
    """A process that dies with a disk mounted leaves none for later tests."""
    code = "import os, sys, pathlib; from tests.crash import lab_disk; disk = lab_disk.small_disk(pathlib.Path(sys.argv[1])); disk.__enter__(); os._exit(0)"
    paths = os.pathsep.join(path for path in sys.path if path)
    ended = subprocess.run([sys.executable, "-c", code, str(tmp_path / "left")], check=False, env={**os.environ, "PYTHONPATH": paths})
    if ended.returncode:
        pytest.skip("no right to mount on this machine")
    assert str(tmp_path / "left") in sweep()
    assert str(tmp_path / "left") not in now_mounted()


def test_a_killed_run_leaves_its_folder_to_the_next_one() -> None:
    """Which removes it, and no folder of a run that still goes on."""
    code = "import os, signal; from tests.crash.lab_disk import lab_folder\nwith lab_folder() as f: print(f, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    paths = os.pathsep.join([path for path in sys.path if path])
    killed = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, env={**os.environ, "PYTHONPATH": paths}, text=True
    )
    left = Path(killed.stdout.strip())
    assert left.is_dir()
    with lab_folder() as living:
        assert str(left) in sweep()
        assert (left.exists(), living.exists()) == (False, True)


@pytest.mark.timeout(300)
@pytest.mark.req("G1", "S004-49")
@pytest.mark.parametrize("every", [41, pytest.param(3, marks=[pytest.mark.crash_long, pytest.mark.timeout(LONG)])])
async def test_the_write_ahead_log_cut(every: int, shimmed: Lab) -> None:
    """Cut at the borders of its frames and in them: what was flushed by then is there, whole, and nothing more than was written."""
    folder = shimmed.folder / "whole"
    run = await one_run(shimmed.nursery, folder, "sum", more={"abandoned": True})
    made = promises(list(run.trace))
    before = stored(cut(folder, shimmed.folder / "none", 0))
    assert made[-1].events == len(run.report["events"]) > 0
    whole_inputs, whole_events, _ = stored(cut(folder, shimmed.folder / "all", (folder / WAL).stat().st_size))
    assert (whole_inputs - before[0], whole_events - before[1]) == (made[-1].inputs, made[-1].events)
    wrong = {}
    for size in _places((folder / WAL).stat().st_size, every):
        inputs, events, sound = stored(cut(folder, shimmed.folder / "cut", size))
        least = [promise for promise in made if promise.size <= size][-1]
        most = next((promise for promise in made if promise.size > size), made[-1])
        if not (least.inputs <= inputs - before[0] <= most.inputs and least.events <= events - before[1] <= most.events and sound == "ok"):
            wrong[size] = (inputs, events, sound, least, most)
        shimmed.count["troubles"] += 1
    assert wrong == {}
    _verified(cut(folder, shimmed.folder / "cut", made[len(made) // 2].size))


def _places(size: int, every: int) -> list[int]:
    """The header's end, the borders of the frames of 24 + 4096 bytes, one byte before and after, and the middle of each."""
    borders = range(32, size + 1, 4120 * max(1, every // 3))
    near: list[Any] = [place for border in borders for place in (border - 1, border, border + 1, border + 2048)]
    return [place for place in near if 0 <= place <= size]


def _verified(database: Path) -> None:
    store = open_reader(build_sqlite_url(database))
    try:
        for stream in store.list_streams():
            assert isinstance(chain_kit.verify_stream(store, stream), chain_kit.Verified)
    finally:
        store.close()


@pytest.mark.crash_long
@pytest.mark.timeout(LONG)
@pytest.mark.req("G1", "G2", "S004-A2")
@pytest.mark.parametrize("script", ["sum", "free", "batch", "deny", "choice"])
async def test_the_disk_fails_everywhere(script: str, shimmed: Lab) -> None:
    """Every flush with EIO; every fifth write without space, in rows of one, four and forty."""
    made = calls(await shimmed.untouched(script))
    plans = failing(made, "eio", FLUSH, every=1, times=(1,)) + failing(made, "nospace", WRITE, every=5, times=(1, 4, 40))
    assert await shimmed.walk(script, plans) == {}
    shimmed.tell(f"long, {script}: {len(plans)} troubles of the disk")

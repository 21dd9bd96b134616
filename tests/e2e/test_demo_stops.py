"""`sdelka demo` stopped at any moment leaves nothing behind: no process, no folder."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60.0

pytestmark = [pytest.mark.long, pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes by way of /proc")]


def running(session: int) -> list[str]:
    """What every living process of that session runs."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state, _, _, its_session = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
            if int(its_session) == session and state != "Z":
                found.append((folder / "cmdline").read_text().replace("\0", " "))
    return found


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("started", "name"),
    [
        pytest.param("sandbox.portal", signal.SIGTERM, marks=pytest.mark.crash_long),
        pytest.param("sandbox.model", signal.SIGINT, marks=pytest.mark.crash_long),
        pytest.param("sandbox.telegram", signal.SIGTERM, marks=pytest.mark.crash_long),
        pytest.param("bot run", signal.SIGINT, marks=pytest.mark.crash_long),
        ("bot run", signal.SIGTERM),
        ("", signal.SIGTERM),
    ],
)
def test_a_stop_at_any_moment_ends_every_process(tmp_path: Path, started: str, name: signal.Signals) -> None:
    """While a server starts, while the bot does, and once all is ready (""): the demo ends by itself, with what it started."""
    command = [sys.executable, "-m", "sandbox.demo", "--json"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    demo = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    try:
        if started:
            until(lambda: any(started in line for line in running(demo.pid)))
        else:
            assert demo.stdout is not None
            assert demo.stdout.readline().startswith(b"{")
        demo.send_signal(name)
        _, complaints = demo.communicate(timeout=PATIENCE)
        left = running(demo.pid)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(demo.pid, signal.SIGKILL)

    assert (demo.returncode, complaints.decode(), left, list(tmp_path.iterdir())) == (0, "", [], [])

"""The forker of the tests: what it starts is a process like any other, and nobody who is killed takes it along."""

import os
import signal
import socket
import subprocess
from pathlib import Path

from tests.forker import WHERE, forked

SCRIPT = """
import os, signal, sys
print(os.getpid(), *sys.argv[1:], os.environ.get("TOLD"), os.getcwd(), flush=True)
sys.exit(7) if sys.argv[1] == "end" else signal.pause()
"""


def test_what_is_forked_is_like_any_other_process_and_dies_with_its_stand_in(tmp_path: Path) -> None:
    """Arguments, environment, folder and exit code are its own; a client that is killed before it asked disturbs nobody."""
    with socket.socket(socket.AF_UNIX) as gone:
        gone.connect(os.environ[WHERE])
    program = tmp_path / "program.py"
    program.write_text(SCRIPT, encoding="utf-8")
    environment = {"PATH": os.environ["PATH"], "TOLD": "this"}
    ended = subprocess.run(forked(program, "end"), cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout.split()[1:], ended.stderr) == (7, ["end", "this", str(tmp_path)], "")
    for how in (signal.SIGTERM, signal.SIGKILL):
        with subprocess.Popen(forked(program, "stay"), cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            try:
                pid = int(process.stdout.readline().split()[0])
                process.send_signal(how)
                assert process.stdout.read() == ""  # the other end is closed: it is dead
            except BaseException:  # of the limit of a test too: else the end of the block would wait for ever
                process.kill()
                raise
        assert process.returncode == -how
        assert pid != process.pid

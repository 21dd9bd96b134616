"""A small disk of its own, mounted for a test; and the state that a cut write-ahead log leaves. Nothing mounted outlives its test."""

import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.crash.lab_order import WAL
from tests.crash.lab_points import CAUSED
from tests.crash.lab_shim import Traced

NAME = "crash-lab-"
MEMORY = Path("/dev/shm")  # noqa: S108 - only folders of the lab's own are made in it
"""In memory a flush costs nothing, and what is killed there has left the same."""
SIZE = "2m"


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A disk of SIZE at `folder`; skips where mounting is not allowed."""
    folder.mkdir(parents=True, exist_ok=True)
    asked = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", f"{NAME}{os.getpid()}", str(folder)]
    if shutil.which("mount") is None or subprocess.run(asked, check=False, capture_output=True).returncode:
        pytest.skip("no right to mount on this machine: a disk that is really full is not tried")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)


def now_mounted() -> dict[str, int]:
    """Folder → process of every disk of ours."""
    table = Path("/proc/mounts")
    rows = [line.split() for line in table.read_text(encoding="utf-8").splitlines()] if table.exists() else []
    return {row[1].replace("\\040", " "): int(row[0].removeprefix(NAME)) for row in rows if row[0].startswith(NAME)}


@contextmanager
def lab_folder() -> Iterator[Path]:
    """A folder of this process, in memory where there is such a place; it bears the process's number, for `sweep`."""
    memory = MEMORY if os.access(MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix=f"{NAME}{os.getpid()}-", dir=memory) as folder:
        yield Path(folder)


def sweep() -> list[str]:
    """Take away what processes have left behind that are no more; a disk left behind would answer for a later test."""
    dead = [folder for folder, pid in now_mounted().items() if not Path(f"/proc/{pid}").exists()]
    for folder in dead:
        subprocess.run(["umount", "-l", folder], check=False)
    for folder in _folders_of_the_dead():
        shutil.rmtree(folder, ignore_errors=True)
        dead.append(str(folder))
    return dead


def _folders_of_the_dead() -> Iterator[Path]:
    for place in {MEMORY, Path(tempfile.gettempdir())}:
        for folder in place.glob(f"{NAME}*-*") if place.is_dir() else ():
            owner = folder.name.removeprefix(NAME).partition("-")[0]
            if owner.isdecimal() and not Path(f"/proc/{owner}").exists():
                yield folder


@dataclass(frozen=True, kw_only=True)
class Promise:
    """What had been stored when the write-ahead log had grown so long and was flushed: so many inputs, those that commits caused too, so many events."""

    size: int
    inputs: int
    events: int


def promises(trace: list[Traced]) -> list[Promise]:
    """After each write of the store that had been flushed, in order."""
    made = [Promise(size=0, inputs=0, events=0)]
    end = caused = 0
    for call in trace:
        if call.op == "write" and call.what == WAL:
            end = max(end, call.offset + call.length)
        elif call.op == "mark" and call.what.startswith(CAUSED):
            caused = int(call.what.removeprefix(CAUSED))
        elif call.op == "mark" and call.what.endswith(":after") and call.what.startswith(("put_inbox(", "commit(")):
            words = [word for word in call.what[:-7].partition("(")[2].split(",") if word]
            last = made[-1]
            if call.what.startswith("put_inbox("):
                made.append(Promise(size=end, inputs=last.inputs + len(words), events=last.events))
            else:
                events = sum(word[0].isupper() for word in words)
                made.append(Promise(size=end, inputs=last.inputs + caused, events=last.events + events))
                caused = 0
    return made


def cut(source: Path, target: Path, size: int) -> Path:
    """The database of `source` in `target`, as if its write-ahead log had reached the disk only up to `size`."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    shutil.copyfile(source / "sdelka.db", target / "sdelka.db")
    with (source / WAL).open("rb") as log:
        (target / WAL).write_bytes(log.read(size))
    return target / "sdelka.db"


def stored(database: Path) -> tuple[int, int, str]:
    """(inputs, events, what SQLite says of the file)."""
    with closing(sqlite3.connect(database)) as connection:
        asked = ("select count(*) from inbox", "select count(*) from events", "pragma integrity_check")
        inputs, events, sound = (connection.execute(query).fetchone()[0] for query in asked)
        return inputs, events, sound

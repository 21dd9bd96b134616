"""The preloaded shim (shim/shim.c): built once a session, told what to do by the child it is in. See docs/crash-lab.md."""

import ctypes
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).parent / "shim" / "shim.c"


def built(folder: Path) -> Path | None:
    """The shim, compiled into `folder`; None where there is no compiler (what needs it is skipped then)."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    library = folder / "shim.so"
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl", "-lpthread"], check=True)
    return library


class Shim:
    """The shim that this process was started with, or nothing at all where it was started without."""

    def __init__(self, folder: Path, trace: Path) -> None:
        """From now on the files of `folder` are watched and what happens to them is written to `trace`."""
        try:
            self._library = ctypes.CDLL(None)
            self._library.lab_shim_begin(str(folder).encode(), str(trace).encode())
        except AttributeError:
            self._library = None  # type: ignore[assignment]

    def mark(self, text: str) -> None:
        """Put a line between the calls."""
        if self._library is not None:
            self._library.lab_shim_mark(text.encode())

    def order(self, order: dict[str, Any]) -> None:
        """Trouble the `at`-th call, and `times` - 1 after it, of those whose line begins with `calls`.

        `how`: before, half, after (death), nospace, eio, skip (a flush that does nothing).
        """
        if self._library is not None:
            given = (order["how"].encode(), order.get("calls", "").encode(), order.get("at", 1), order.get("times", 1))
            self._library.lab_shim_order(*given)


class NoShim(Shim):
    """Watches nothing: the nursery itself is no run."""

    def __init__(self) -> None:
        self._library = None  # type: ignore[assignment]


@dataclass(frozen=True, kw_only=True)
class Traced:
    """One line of a trace: a call, or a mark (`what` is its text then)."""

    op: str
    what: str
    offset: int = 0
    length: int = 0
    fd: int = -1
    trouble: str = ""


def traced(file: Path) -> list[Traced]:
    """The calls in the order in which they were made."""
    if not file.exists():
        return []
    return [_line(text) for text in file.read_text(encoding="utf-8").splitlines()]


def _line(text: str) -> Traced:
    op, _, rest = text.partition(" ")
    if op == "mark":
        return Traced(op=op, what=rest)
    what, offset, length, fd, trouble = rest.rsplit(" ", 4)
    return Traced(op=op, what=what, offset=int(offset), length=int(length), fd=int(fd), trouble=trouble.strip("-"))

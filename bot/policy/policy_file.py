"""Reads and replaces the owner's policy file (POLICY_FILE).

A new file is renamed over it, only if it still says what the editor was shown.
"""

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from state.canonical import hash_text

LONGEST: Final = 500_000
"""In characters; a policy is a page or two."""
Why = Literal["not_set", "missing", "unreadable", "folder_closed", "file_closed"]


@dataclass(frozen=True, kw_only=True)
class PolicyText:
    """`why` is "" if it can be edited."""

    name: str
    text: str
    r"""Lines end with "\n" as in browsers, whatever the file has."""
    why: Why | Literal[""] = ""
    line_end: str = "\n"

    @property
    def digest(self) -> str:
        return hash_text(self.text)


class PolicyFileChanged(Exception):
    def __init__(self, present: PolicyText) -> None:
        super().__init__("the policy file was changed by somebody else")
        self.present = present


def read_policy_text(path: Path | None) -> PolicyText:
    """Never raises."""
    if path is None:
        return PolicyText(name="", text="", why="not_set")
    try:
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return PolicyText(name=path.name, text="", why="missing")
    except (OSError, UnicodeDecodeError):
        return PolicyText(name=path.name, text="", why="unreadable")
    line_end = "\r\n" if "\r\n" in text else "\n"
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    real = path.resolve()
    why: Why | Literal[""] = ""
    if not os.access(real, os.W_OK):
        why = "file_closed"
    elif not os.access(real.parent, os.W_OK | os.X_OK):
        why = "folder_closed"
    return PolicyText(name=path.name, text=text, why=why, line_end=line_end)


def replace_policy_text(path: Path, text: str, *, shown_digest: str) -> PolicyText:
    """Keep line ends, permissions and, if possible, owner.

    After PolicyFileChanged and OSError it is as it was.
    """
    real = path.resolve()
    with _lock_folder(real.parent):
        present = read_policy_text(path)
        if present.digest != shown_digest:
            raise PolicyFileChanged(present)
        _write_over(real, text.replace("\n", present.line_end))
    return read_policy_text(path)


@contextlib.contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """For one process and thread at a time."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
        os.fsync(opened)
    finally:
        os.close(opened)


def _write_over(real: Path, text: str) -> None:
    old = real.stat()
    handle, name = tempfile.mkstemp(prefix=f".{real.name}.", dir=real.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fchmod(file.fileno(), old.st_mode & 0o7777)
            with contextlib.suppress(OSError):  # only root gives files away
                os.fchown(file.fileno(), old.st_uid, old.st_gid)
            os.fsync(file.fileno())
        Path(name).replace(real)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise

"""Reads and replaces the owner's policy file (POLICY_FILE) for people who edit it in the console. What the text means is no matter here.

A file is replaced by renaming a complete new one over it, so that neither a crash nor a full disk leaves half of it. It is replaced only
if it still says what the editor was shown.
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
"""Characters of a policy that may be saved; a policy is a page or two."""
Why = Literal["not_set", "missing", "unreadable", "folder_closed", "file_closed"]
"""Why the file cannot be edited."""


@dataclass(frozen=True, kw_only=True)
class PolicyText:
    """What the file says now. `why` is "" if it can be edited."""

    name: str
    text: str
    """With "\\n" at the ends of lines, as editors in browsers have it; their places would not fit another text."""
    why: Why | Literal[""] = ""
    line_end: str = "\n"
    """What stands at the ends of lines in the file."""

    @property
    def digest(self) -> str:
        """Identifies the text that somebody was shown."""
        return hash_text(self.text)


class PolicyFileChanged(Exception):
    """Raised when the file does not say any more what the editor was shown; `present` is what it says now."""

    def __init__(self, present: PolicyText) -> None:
        """Keep what the file says now."""
        super().__init__("the policy file was changed by somebody else")
        self.present = present


def read_policy_text(path: Path | None) -> PolicyText:
    """Return what the file says, and why it cannot be edited, if so. Never raises."""
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


def replace_policy_text(path: Path, text: str, *, shown: str) -> PolicyText:
    """Replace the file's text, and return what it says then. `shown` is the digest of the text that the editor was shown.

    The ends of its lines stay as they are. The new file has the permissions of the old one, and its owner if this user may give files
    away. Raises PolicyFileChanged, and OSError if the file cannot be written; then it is as it was.
    """
    real = path.resolve()
    with _lock_folder(real.parent):
        present = read_policy_text(path)
        if present.digest != shown:
            raise PolicyFileChanged(present)
        _write_over(real, text.replace("\n", present.line_end))
    return read_policy_text(path)


@contextlib.contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """Let one process and thread at a time replace a file of the folder."""
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

"""The ledger of a log: a file that lists the log's archives with their checksums and record numbers.

It also names the first record that is still kept. The file is replaced as a whole, before the archives that it no longer lists are removed.
Whoever writes the ledger holds the archive lock, the right to change the log's archives.
"""

import os
from hashlib import sha256
from pathlib import Path

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from state.audit_log.chain import NOTHING
from state.audit_log.file_rights import copy_rights, write_durably


class ArchiveEntry(BaseModel):
    """One archive: the SHA-256 of its bytes, and the numbers of its first and last record (0 if its records are too old to have any).

    `prev` is the hash of the record before its first one, `hash` the hash of its last one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    sha256: str
    first: int = 0
    prev: str = NOTHING
    last: int = 0
    hash: str = NOTHING


class Ledger(BaseModel):
    """The content of a ledger: all archives by file name, oldest first, and the oldest record that is still kept.

    `first` is the number of that record, `prev` the hash of the record before it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    first: int = 1
    prev: str = NOTHING
    archives: dict[str, ArchiveEntry] = Field(default_factory=dict)


def build_ledger_path(log: Path) -> Path:
    """Return the path of the ledger of `log` (the file that lists the log's archives)."""
    return log.with_name(f".{log.name}.archives")


def has_ledger(log: Path) -> bool:
    """Return whether `log` has a ledger, that is, whether a full file of it was compressed."""
    return os.access(build_ledger_path(log), os.F_OK)


def read_ledger(log: Path) -> Ledger:
    """Read the ledger of `log` (the list of its archives); an empty ledger if there is no file yet.

    Raises ValueError if the file's content is invalid or fails its checksum.
    """
    try:
        text = build_ledger_path(log).read_bytes()
        found = orjson.loads(text)
        checked = isinstance(found, dict) and found.pop("check", None) is not None
        ledger = Ledger.model_validate(found)
    except FileNotFoundError:
        return Ledger()
    except (orjson.JSONDecodeError, ValidationError) as error:
        raise ValueError(_describe_damage(log)) from error
    if checked and text != _render(ledger):
        raise ValueError(_describe_damage(log))
    return ledger


def write_ledger(log: Path, ledger: Ledger) -> None:
    """Replace the ledger of `log` (the list of its archives) and flush the file to disk; the caller flushes the folder (`sync_folder`)."""
    path = build_ledger_path(log)
    half = path.with_name(f"{path.name}.tmp")
    write_durably(half, _render(ledger))
    copy_rights(half, like=log)
    half.rename(path)


def _render(ledger: Ledger) -> bytes:
    """Return the file content for `ledger`; its last line is a checksum of everything before it."""
    facts = ledger.model_dump()
    check = sha256(orjson.dumps(facts)).hexdigest()[:16]
    return orjson.dumps(facts | {"check": check}, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _describe_damage(log: Path) -> str:
    return f"the ledger of {log.name} is damaged; the archives themselves are checked by their own chain"

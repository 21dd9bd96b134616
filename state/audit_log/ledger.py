"""What is known of a log's archives beside themselves (ring 1): the digest and the records of each, and where the kept chain begins.

Written anew as a whole, before what it makes needless is removed; whoever writes holds the archive lock.
"""

import os
from hashlib import sha256
from pathlib import Path

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from state.audit_log.chain import NOTHING


class ArchiveEntry(BaseModel):
    """One archive: the SHA-256 of its bytes, and its first and last numbered record (0 where none is numbered)."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    sha256: str
    first: int = 0
    prev: str = NOTHING
    last: int = 0
    hash: str = NOTHING


class Ledger(BaseModel):
    """All archives by name, oldest first, and the first numbered record that is still kept."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    first: int = 1
    prev: str = NOTHING
    archives: dict[str, ArchiveEntry] = Field(default_factory=dict)


def build_ledger_path(log: Path) -> Path:
    """Where the ledger of `log` stands."""
    return log.with_name(f".{log.name}.archives")


def read_ledger(log: Path) -> Ledger:
    """The ledger, an empty one where there is none yet; ValueError where it is not as we write it."""
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
    """Put `ledger` in place of the old one, durably but for the folder's own flush."""
    path = build_ledger_path(log)
    half = path.with_name(f"{path.name}.tmp")
    with half.open("wb") as file:
        file.write(_render(ledger))
        file.flush()
        os.fsync(file.fileno())
    half.rename(path)


def _render(ledger: Ledger) -> bytes:
    """What the file holds for `ledger`; its last line is a checksum of all before."""
    facts = ledger.model_dump()
    check = sha256(orjson.dumps(facts)).hexdigest()[:16]
    return orjson.dumps(facts | {"check": check}, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _describe_damage(log: Path) -> str:
    return f"the ledger of {log.name} is damaged; the archives themselves are checked by their own chain"

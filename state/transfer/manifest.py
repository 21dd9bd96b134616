"""The manifest of a backup: versions, counts, where the chains end, and the digest of each part."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

FORMAT = 1
"""Increase it when older programs cannot read what this one writes."""
MANIFEST = "manifest.json"
LONGEST_MANIFEST = 64 * 1024 * 1024
_NAME = re.compile(r"[a-z_]{1,60}", re.ASCII)
_LOG = re.compile(r"\.?[A-Za-z0-9%_.=+,@~-]{1,250}", re.ASCII)
_OF_A_LOG = re.compile(r".*\.jsonl(\.\d{8}T\d{6}Z(-\d{3,})?(\.gz)?|\.lock|\.archives)?", re.ASCII)


def _check_column(name: str) -> str:
    if _NAME.fullmatch(name) is None:
        msg = "that is no name of a table or column"
        raise ValueError(msg)
    return name


def check_log_name(name: str) -> str:
    """Return `name` if it is the plain file name of an audit log's file. Raises ValueError for any other name."""
    if _LOG.fullmatch(name) is None or _OF_A_LOG.fullmatch(name) is None:
        msg = f"{name[:80]!r} is no file of an audit log"
        raise ValueError(msg)
    return name


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Part(_Frozen):
    """One part: its unpacked size in bytes and its digest."""

    size: int = Field(ge=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class TablePart(Part):
    """A table: its columns, primary key, row count, size and digest."""

    columns: tuple[Annotated[str, AfterValidator(_check_column)], ...]
    key: tuple[Annotated[str, AfterValidator(_check_column)], ...]
    rows: int = Field(ge=0)


class Heads(_Frozen):
    """Where the chains end: the number of streams and records, and a digest over all (stream, seq, hash)."""

    streams: int
    records: int
    sha256: str


class ErasedPerson(_Frozen):
    """Somebody whose key was already deleted when the backup was made."""

    person: str
    key_id: str
    erased_at: str


class Manifest(_Frozen):
    """The manifest of a backup."""

    format: int
    id: str
    made_at: str
    program: str
    kind: Literal["sqlite", "postgresql"]
    revision: str
    """The schema of the rows."""
    tables: dict[Annotated[str, AfterValidator(_check_column)], TablePart]
    logs: dict[Annotated[str, AfterValidator(check_log_name)], Part]
    heads: Heads
    open: dict[str, int]
    """Counts of waiting cards, approved and started calls, and inputs: what a restore must deal with."""
    erased: tuple[ErasedPerson, ...]
    """The people to be erased again when an older backup is restored."""

    def list_parts(self) -> dict[str, Part]:
        """Return every part by its name in the archive."""
        tables = {f"tables/{name}.jsonl": part for name, part in self.tables.items()}
        return {**tables, **{f"logs/{name}": part for name, part in self.logs.items()}}

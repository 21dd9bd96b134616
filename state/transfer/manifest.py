"""The manifest of a backup: versions, numbers of rows, where the journal's hash chains end, and the checksum of each part."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

FORMAT = 1
"""The version of the format. Increase it when older programs cannot read what this one writes."""
MANIFEST = "manifest.json"
DATABASE = "sdelka.db"
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
    """One part of a backup: its unpacked size in bytes and its SHA-256."""

    size: int = Field(ge=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class TablePart(Part):
    """The part with the rows of one table: also the table's columns, its primary key and the number of rows."""

    columns: tuple[Annotated[str, AfterValidator(_check_column)], ...]
    key: tuple[Annotated[str, AfterValidator(_check_column)], ...]
    rows: int = Field(ge=0)


class Heads(_Frozen):
    """Where the journal's chains end: the number of streams and records, and a SHA-256 over (stream, seq, hash) of every stream's end."""

    streams: int
    records: int
    sha256: str


class ErasedPerson(_Frozen):
    """Somebody whose encryption key was already deleted when the backup was made."""

    person: str
    key_id: str
    erased_at: str


class Manifest(_Frozen):
    """The manifest of a backup: what the backup contains, from which program and schema, and the checksum of each part."""

    format: int
    id: str
    made_at: str
    program: str
    kind: Literal["sqlite", "postgresql"]
    revision: str
    """The schema revision of the rows ("0004")."""
    tables: dict[Annotated[str, AfterValidator(_check_column)], TablePart]
    logs: dict[Annotated[str, AfterValidator(check_log_name)], Part]
    heads: Heads
    open: dict[str, int]
    """The number of effects by status (requested, approved, started, unknown) and of waiting inbox rows ("inputs"), for the restore."""
    erased: tuple[ErasedPerson, ...]
    """The people who were erased; if an older backup is restored, they must be erased again."""

    def list_parts(self) -> dict[str, Part]:
        """Return every part by its name in the archive."""
        tables = {f"tables/{name}.jsonl": part for name, part in self.tables.items()}
        return {**tables, **{f"logs/{name}": part for name, part in self.logs.items()}}

"""The manifest of a backup: versions, numbers of rows, where the journal's hash chains end, and the checksum of each file."""

import re
from typing import Annotated, TypeVar

import orjson
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from state.journal.store import StoreError

FORMAT = 2
"""The version of the format. Increase it when older programs cannot read what this one writes. `state.transfer.old_archive` reads 1."""
MANIFEST = "manifest.json"
DATABASE = "sdelka.db"
LOGS = "logs"
LONGEST_MANIFEST = 64 * 1024 * 1024
_LOG = re.compile(r"\.?[A-Za-z0-9%_.=+,@~-]{1,230}?\.jsonl(\.\d{8}T\d{6}Z(-\d{3,})?(\.gz)?|\.lock|\.archives)?", re.ASCII)


class BadBackup(StoreError):
    """The file is not a complete backup, or not one that this program can read; nothing was written."""


def is_log_name(name: str) -> bool:
    """Return whether that is the plain file name of an audit log's file."""
    return _LOG.fullmatch(name) is not None


def _check_log_name(name: str) -> str:
    if not is_log_name(name):
        raise ValueError(f"{name[:80]!r} is no file of an audit log")
    return name


LogName = Annotated[str, AfterValidator(_check_log_name)]


class Frozen(BaseModel):
    """A part of a manifest: unknown fields are refused, since they could mean something that this program does not do."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Part(Frozen):
    """One file in a backup: its unpacked size in bytes and its SHA-256."""

    size: int = Field(ge=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class Heads(Frozen):
    """Where the journal's chains end: the number of streams and records, and a SHA-256 over (stream, seq, hash) of every stream's end."""

    streams: int
    records: int
    sha256: str


class ErasedPerson(Frozen):
    """Somebody whose encryption key was already deleted when the backup was made."""

    person: str
    key_id: str
    erased_at: str


class BackupHeader(Frozen):
    """What every manifest says, of whichever format: from which program and schema the backup is, and of which moment."""

    format: int
    id: str
    made_at: str
    program: str
    revision: str
    """The schema revision of the rows ("0004")."""
    logs: dict[LogName, Part]
    """The files of the audit logs, by name."""
    heads: Heads
    erased: tuple[ErasedPerson, ...]
    """The people who were erased; if an older backup is restored, they must be erased again."""

    @property
    def row_count(self) -> int:
        """The number of rows of all tables."""
        raise NotImplementedError


class Manifest(BackupHeader):
    """The manifest of a backup: also the checksum of each file and the numbers of rows."""

    database: Part
    """The rows, as a SQLite file, whatever kind of database they were copied from."""
    rows: dict[str, int]
    """The number of rows by table."""

    @property
    def row_count(self) -> int:
        return sum(self.rows.values())

    def list_files(self) -> dict[str, Part]:
        """Return every file by its name in the archive."""
        return {DATABASE: self.database, **{f"{LOGS}/{name}": part for name, part in self.logs.items()}}


M = TypeVar("M", bound=Frozen)


def parse_manifest(backup: str, text: bytes, form: type[M]) -> M:
    """Return the manifest of the file `backup`, which is written in the form `form`. Raises BadBackup."""
    try:
        fields = orjson.loads(text)
        number = fields.get("format") if isinstance(fields, dict) else None
        if isinstance(number, int) and number > FORMAT:
            raise BadBackup(f"{backup} has format {number}, this program reads up to {FORMAT}: use the newer version")
        return form.model_validate(fields)
    except orjson.JSONDecodeError:
        raise BadBackup(f"{backup}: {MANIFEST} is no JSON") from None
    except ValidationError as error:
        first = error.errors()[0]
        raise BadBackup(f"{backup}: {MANIFEST} cannot be used: {'.'.join(map(str, first['loc']))} {first['msg']}") from None

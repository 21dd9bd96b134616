import re
from typing import Annotated, TypeVar

import orjson
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from state.journal.store import StoreError

FORMAT = 2
"""Increase it when older programs cannot read it."""
MANIFEST = "manifest.json"
DATABASE = "sdelka.db"
LOGS = "logs"
LONGEST_MANIFEST = 64 * 1024 * 1024
_LOG = re.compile(r"\.?[A-Za-z0-9%_.=+,@~-]{1,230}?\.jsonl(\.\d{8}T\d{6}Z(-\d{3,})?(\.gz)?|\.lock|\.archives)?", re.ASCII)


class BadBackup(StoreError):
    """It is none for this program; nothing was written."""


def is_log_name(name: str) -> bool:
    return _LOG.fullmatch(name) is not None


def _check_log_name(name: str) -> str:
    if not is_log_name(name):
        raise ValueError(f"{name[:80]!r} is no file of an audit log")
    return name


LogName = Annotated[str, AfterValidator(_check_log_name)]


class Frozen(BaseModel):
    """Unknown fields are refused: they could mean what is not done."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Part(Frozen):
    """`size` is that of the unpacked bytes."""

    size: int = Field(ge=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class Heads(Frozen):
    """The SHA-256 covers (stream, seq, hash) of each end."""

    streams: int
    records: int
    sha256: str


class ErasedPerson(Frozen):
    person: str
    key_id: str
    erased_at: str


class BackupHeader(Frozen):
    format: int
    id: str
    made_at: str
    program: str
    revision: str
    logs: dict[LogName, Part]
    heads: Heads
    erased: tuple[ErasedPerson, ...]
    """They must be erased again after a restore."""

    @property
    def row_count(self) -> int:
        raise NotImplementedError


class Manifest(BackupHeader):
    database: Part
    rows: dict[str, int]

    @property
    def row_count(self) -> int:
        return sum(self.rows.values())

    def list_files(self) -> dict[str, Part]:
        return {DATABASE: self.database, **{f"{LOGS}/{name}": part for name, part in self.logs.items()}}


M = TypeVar("M", bound=Frozen)


def parse_manifest(backup: str, text: bytes, form: type[M]) -> M:
    """Raises BadBackup."""
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
        place, problem = ".".join(map(str, first["loc"])), first.get("ctx", {}).get("error", first["msg"])
        raise BadBackup(f"{backup}: {MANIFEST} cannot be used: {place}: {problem}") from None

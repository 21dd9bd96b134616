"""What the host gives to workflows that work on records: the store of blocks, and words for fields and records (S003-53, S003-54)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from engines.workflows.core.blocks.conflicts import Record
from engines.workflows.core.blocks.manager import Finish, Opened, Opening, Permission
from orchestrator.domain.actor import Actor
from state.model.record_blocks import Block
from state.stored import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldText:
    """A field as people read it: its title, and the values that were asked about, in their order."""

    title: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordText:
    """A record as people read it: its title, and the address of its page in the portal, "" if it has none."""

    title: str
    url: str = ""


class Blocks(Protocol):
    """Keeps the blocks of records. What a run writes it writes once, however often it asks."""

    async def read(self, record: Record, /) -> Sequence[Block]:
        """Return the blocks of a record, oldest first."""

    async def find_permission(self, record: Record, /) -> Permission:
        """Return whether a run without a block may change the record now."""

    async def open(self, record: Record, given: Opening, at: datetime, /) -> Opened:
        """Open a block for a run, or say what stands in its way."""

    async def enter_conflict(self, record: Record, block: str, fields: Sequence[JsonObject], owner: str, at: datetime, /) -> bool:
        """Let a block wait for a choice; False if it is not the run's any more."""

    async def resolve(self, record: Record, block: str, choices: Mapping[str, str], by: str, at: datetime, /) -> bool:
        """Note the choices; False as above."""

    async def finish(self, record: Record, block: str, given: Finish, owner: str, at: datetime, /) -> bool:
        """End a block with its result; False as above."""

    async def fail(self, record: Record, block: str, code: str, owner: str, at: datetime, /) -> bool:
        """Mark a block as failed; False as above."""


class RecordWords(Protocol):
    """Puts fields and records into words, as cards do. Never raises: what has no words is shown as it is."""

    async def describe_field(self, actor: Actor, kind: str, key: str, fields: Sequence[JsonObject], /) -> FieldText:
        """Return the title of a field, and its value in each of these states of the record."""

    async def describe_record(self, actor: Actor, record: Record, fields: JsonObject, /) -> RecordText:
        """Return the title and the address of a record with these fields."""


class NoBlocks:
    """The blocks of a program without a store: every run opens one, and nothing is kept."""

    async def read(self, _record: Record, /) -> Sequence[Block]:
        """Return nothing."""
        return ()

    async def find_permission(self, _record: Record, /) -> Permission:
        """Let it."""
        return "apply"

    async def open(self, _record: Record, _given: Opening, _at: datetime, /) -> Opened:
        """Let the run go on."""
        return Opened()

    async def enter_conflict(self, _record: Record, _block: str, _fields: Sequence[JsonObject], _owner: str, _at: datetime, /) -> bool:
        """Let the run ask."""
        return True

    async def resolve(self, _record: Record, _block: str, _choices: Mapping[str, str], _by: str, _at: datetime, /) -> bool:
        """Keep nothing."""
        return True

    async def finish(self, _record: Record, _block: str, _given: Finish, _owner: str, _at: datetime, /) -> bool:
        """Keep nothing."""
        return True

    async def fail(self, _record: Record, _block: str, _code: str, _owner: str, _at: datetime, /) -> bool:
        """Keep nothing."""
        return True


class PlainWords:
    """The words of a program that cannot ask the portal for any: fields by their keys, values as they are."""

    async def describe_field(self, _actor: Actor, _kind: str, key: str, fields: Sequence[JsonObject], /) -> FieldText:
        """Return the key and the values."""
        return FieldText(title=key, values=tuple(_write(field.get(key)) for field in fields))

    async def describe_record(self, _actor: Actor, record: Record, fields: JsonObject, /) -> RecordText:
        """Return the title that the fields hold."""
        return RecordText(title=find_title(fields) or record.key)


def _write(value: Any) -> str:
    return "—" if value in (None, "", [], {}) else str(value)


def find_title(fields: JsonObject) -> str:
    """Return the title of a record, of a person the name; "" if it has none."""
    title = str(fields.get("TITLE") or "").strip()
    names = (str(fields.get(one) or "").strip() for one in ("NAME", "LAST_NAME"))
    return title or " ".join(one for one in names if one)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordHost:
    """What a program has for workflows on records."""

    blocks: Blocks
    words: RecordWords


ALONE = RecordHost(blocks=NoBlocks(), words=PlainWords())
"""The host of a program without a store, such as a rehearsal."""

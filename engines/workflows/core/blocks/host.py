"""What workflows on records need of their host (S003-53, S003-54)."""

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
    """A field as people read it; `values` in the order of the question."""

    title: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordText:
    """A record as people read it; `url` is "" if it has no page in the portal."""

    title: str
    url: str = ""


class Blocks(Protocol):
    """Keeps the blocks of records. What a run writes it writes once, however often it asks."""

    async def read(self, record: Record, /) -> Sequence[Block]: ...

    async def find_permission(self, record: Record, /) -> Permission: ...

    async def open(self, record: Record, opening: Opening, at: datetime, /) -> Opened: ...

    async def enter_conflict(self, record: Record, block: str, fields: Sequence[JsonObject], owner: str, at: datetime, /) -> bool:
        """False if the block is not the run's any more."""

    async def resolve(self, record: Record, block: str, choices: Mapping[str, str], by: str, at: datetime, /) -> bool:
        """False as above."""

    async def finish(self, record: Record, block: str, finish: Finish, owner: str, at: datetime, /) -> bool:
        """False as above."""

    async def fail(self, record: Record, block: str, code: str, owner: str, at: datetime, /) -> bool:
        """False as above."""


class RecordWords(Protocol):
    """Puts fields and records into words, as cards do. Never raises: what has no words is shown as it is."""

    async def describe_field(self, actor: Actor, kind: str, key: str, fields: Sequence[JsonObject], /) -> FieldText: ...

    async def describe_record(self, actor: Actor, record: Record, fields: JsonObject, /) -> RecordText: ...


class NoBlocks:
    """For a program without a store: every run opens a block, and nothing is stored."""

    async def read(self, _record: Record, /) -> Sequence[Block]:
        return ()

    async def find_permission(self, _record: Record, /) -> Permission:
        return "apply"

    async def open(self, _record: Record, _given: Opening, _at: datetime, /) -> Opened:
        return Opened()

    async def enter_conflict(self, _record: Record, _block: str, _fields: Sequence[JsonObject], _owner: str, _at: datetime, /) -> bool:
        return True

    async def resolve(self, _record: Record, _block: str, _choices: Mapping[str, str], _by: str, _at: datetime, /) -> bool:
        return True

    async def finish(self, _record: Record, _block: str, _given: Finish, _owner: str, _at: datetime, /) -> bool:
        return True

    async def fail(self, _record: Record, _block: str, _code: str, _owner: str, _at: datetime, /) -> bool:
        return True


class PlainWords:
    """For a program that cannot ask the portal: keys and values as they are."""

    async def describe_field(self, _actor: Actor, _kind: str, key: str, fields: Sequence[JsonObject], /) -> FieldText:
        return FieldText(title=key, values=tuple(_write(field.get(key)) for field in fields))

    async def describe_record(self, _actor: Actor, record: Record, fields: JsonObject, /) -> RecordText:
        return RecordText(title=find_title(fields) or record.key)


def _write(value: Any) -> str:
    return "—" if value in (None, "", [], {}) else str(value)


def find_title(fields: JsonObject) -> str:
    """Return TITLE or the name of a person; "" if there is none."""
    title = str(fields.get("TITLE") or "").strip()
    names = (str(fields.get(one) or "").strip() for one in ("NAME", "LAST_NAME"))
    return title or " ".join(one for one in names if one)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordHost:
    blocks: Blocks
    words: RecordWords


ALONE = RecordHost(blocks=NoBlocks(), words=PlainWords())

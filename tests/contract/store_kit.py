"""What the contract tests of the store share: kinds of databases, and one row of each sort."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from state.clock import generate_id
from state.events.base import Event
from state.events.conversation import MessageReceived
from state.journal.store import Commit, EffectChange, InboxRow, Lane, Lease, OutboxRow
from state.sql import SqlStore, open_store

STORES = ["memory", "file", "postgresql"]
LASTING = ["file", "postgresql"]
NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
SESSION = "tg:1"
STREAM = f"session:{SESSION}"


@dataclass
class World:
    """A database of that kind and the stores that a test opened on it."""

    kind: str
    url: str
    opened: list[SqlStore] = field(default_factory=list)

    def open(self) -> SqlStore:
        store = open_store(self.url)
        self.opened.append(store)
        return store


every_store = pytest.mark.parametrize("world", STORES, indirect=True)
every_sqlite = pytest.mark.parametrize("world", ["memory", "file"], indirect=True)
lasting_store = pytest.mark.parametrize("world", LASTING, indirect=True)


def lease(store: SqlStore, session: str = SESSION, owner: str = "one", now: datetime = NOW) -> Lease:
    """The lease of `session`, taken by `owner`."""
    got = store.acquire(session, owner, now, now + timedelta(minutes=1))
    assert got is not None
    return got


def said(text: str = "Привет") -> MessageReceived:
    """An event."""
    return MessageReceived(turn_id="t1", text=text)


def step(held: Lease, *events: Event, **more: object) -> Commit:
    """A commit under the lease."""
    stream = held.session if held.session.startswith("run:") else f"session:{held.session}"
    return Commit(stream=stream, epoch=held.epoch, actor="person:7", now=NOW, events=events, **more)  # type: ignore[arg-type]


def incoming(source: str, session: str = SESSION, lane: Lane = "turn") -> InboxRow:
    """An inbox row."""
    return InboxRow(
        id=generate_id(),
        source=source,
        session=session,
        lane=lane,
        kind="message",
        actor={"id": 7},
        body={"text": "сделка"},
        received_at=NOW,
    )


def outgoing(id_: str, *, key: str = "", session: str = SESSION, due: datetime = NOW) -> OutboxRow:
    """An outbox row."""
    return OutboxRow(id=id_, session=session, channel="telegram", kind="text", body={"n": id_}, key=key, created_at=NOW, due_at=due)


def due(store: SqlStore, at: datetime = NOW) -> list[str]:
    """The ids of what should go out now."""
    return [row.id for row in store.list_due_outbox("telegram", at)]


def intent(effect_id: str = "e1") -> EffectChange:
    """The first change of an effect."""
    return EffectChange(effect_id=effect_id, expect=("absent",), status="requested", fingerprint="f", call={"method": "crm.deal.update"})

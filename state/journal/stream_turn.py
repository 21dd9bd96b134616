"""The turn to write a stream that several processes write: its session's lease."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from typing import Any, Final, Literal, NamedTuple
from uuid import uuid4

from state import canonical
from state.clock import format_iso, generate_id
from state.events.base import Event
from state.events.definitions import DefinitionPublished, DefinitionSaved, DefinitionSwitched
from state.journal.definition_rows import DefinitionChange, HistoryRow, KeyRow, VersionRow
from state.journal.store import Commit, InboxRow, Lease, StaleEpoch, Store, StoreError
from state.model.definitions import Author, DefinitionDamaged, DefinitionsBusy, HistoryKind, Origin, Writer

_HELD_FOR: Final = timedelta(seconds=5)
"""Who takes longer loses the turn."""


class StreamTurn(NamedTuple):
    store: Store
    stream: str
    lease: Lease
    head: int
    at: datetime
    busy: type[StoreError]

    def commit(self, events: Sequence[Event], actor: str, **rows: Any) -> None:
        """Raises `busy` if somebody else took the turn meanwhile."""
        step = Commit(stream=self.stream, epoch=self.lease.epoch, actor=actor, now=self.at, events=events, after=self.head, **rows)
        try:
            self.store.commit(step)
        except StaleEpoch as error:
            raise self.busy(f"somebody else has written {self.stream} meanwhile") from error


@contextmanager
def take_stream(store: Store, session: str, at: datetime, busy: type[StoreError]) -> Iterator[StreamTurn]:
    """Raises `busy` if somebody else writes the stream."""
    lease = store.acquire(session, f"{session.partition(':')[0]}:{uuid4().hex}", at, at + _HELD_FOR)
    if lease is None:
        raise busy(f"somebody else writes {session}")
    stream = f"session:{session}"
    try:
        yield StreamTurn(store, stream, lease, store.read_head(stream)[0], at, busy)
    finally:
        with suppress(StoreError):  # what was stored is stored: the lease ends by itself
            store.release(lease)


SESSION: Final = "definitions"
STREAM: Final = f"session:{SESSION}"
DefinitionEvent = DefinitionSaved | DefinitionPublished | DefinitionSwitched


class Turn(NamedTuple):
    author: Author
    stream: StreamTurn

    @property
    def who(self) -> dict[str, Any]:
        name = canonical.to_storable_text(self.author.name)
        return {"by": self.author.key, "by_name": name, "user": self.author.user, "via": self.author.via}

    def build_history(self, event: DefinitionEvent, what: HistoryKind) -> HistoryRow:
        return HistoryRow(
            id=generate_id(),
            seq=self.stream.head + 1,
            at=format_iso(self.author.at),
            kind=event.kind,
            key=event.definition,
            version=event.version,
            what=what,
            by=event.by,
            by_name=event.by_name,
            note=event.note,
            digest=event.digest,
        )

    def save(
        self, head: KeyRow, row: VersionRow, text: str, source: str, what: Origin | Literal["saved"], inbox_new: Sequence[InboxRow] = ()
    ) -> None:
        """Store a version with a new text, and the author's `source`."""
        event = DefinitionSaved(
            kind=row.kind,
            definition=row.key,
            version=row.version,
            revision=row.revision,
            digest=row.digest,
            what=what,
            note=row.note,
            source_digest=row.source,
            **self.who,
        )
        added, changed = ([row], []) if row.revision == 1 else ([], [row])
        entry = self.build_history(event, what)
        texts, sources = {row.digest: text}, {row.source: source} if source else {}
        change = DefinitionChange(head=head, added=added, changed=changed, texts=texts, sources=sources, history=[entry])
        self.commit(event, change, inbox_new)

    def commit(self, event: DefinitionEvent, change: DefinitionChange, inbox_new: Sequence[InboxRow] = ()) -> None:
        """Raises DefinitionsBusy if somebody else took the turn meanwhile."""
        self.stream.commit([event], self.author.key, definitions=change, inbox_new=inbox_new)


@contextmanager
def take_turn(store: Store, author: Author) -> Iterator[Turn]:
    """Raises DefinitionsBusy if somebody else changes definitions."""
    with take_stream(store, SESSION, author.at, DefinitionsBusy) as stream:
        yield Turn(author, stream)


def parse_writers(text: str) -> tuple[Writer, ...]:
    """Raises DefinitionDamaged."""
    try:
        return tuple(Writer(key=one["key"], user=one["user"]) for one in canonical.loads(text))
    except (ValueError, TypeError, LookupError) as error:
        raise DefinitionDamaged("who wrote a version of a definition cannot be read") from error


def format_writers(writers: Iterable[Writer]) -> str:
    """Each account with each user id stands once."""
    return canonical.dumps([{"key": writer.key, "user": writer.user} for writer in dict.fromkeys(writers)])

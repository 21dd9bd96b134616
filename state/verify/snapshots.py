"""Compares a stream's snapshot with its events, and blobs with their digests."""

from collections.abc import Collection, Iterator

from state.canonical import hash_text
from state.events import fold
from state.events.runs import RunForgotten, RunStarted
from state.findings import Finding
from state.journal.blobs import list_digests
from state.journal.journal import SNAPSHOT_VERSION
from state.journal.store import Snapshot, Store, StoredEvent


class SnapshotChecker:
    """The state at the snapshot's seq must equal it."""

    def __init__(self, stream: str, snapshot: Snapshot | None) -> None:
        self._stream = stream
        self._snapshot = snapshot
        self._state = fold.create_state()
        self._at = 0
        self.blobs: dict[str, int] = {}
        """Digest → seq of an event that refers to it."""
        self._definitions: set[str] = set()

    def add_event(self, event: StoredEvent) -> None:
        if event.type == RunForgotten.__name__:  # what the run itself gave is removed; the texts of its definitions stay
            self.blobs = {digest: seq for digest, seq in self.blobs.items() if digest in self._definitions}
        for digest in list_digests(event.type, event.data):
            self.blobs[digest] = event.seq
            if event.type == RunStarted.__name__:
                self._definitions.add(digest)
        if self._snapshot is not None and event.seq <= self._snapshot.seq:
            fold.fold_events(self._state, ((event.type, dict(event.data), event.ts),))
            self._at = event.seq

    def list_findings(self) -> Iterator[Finding]:
        snapshot = self._snapshot
        if snapshot is None:
            return
        shape = snapshot.state.get("shape")
        if isinstance(shape, int) and 0 < shape < SNAPSHOT_VERSION:
            yield self._build_finding("note", "the snapshot is of an older program; it will be made again")
        elif shape != SNAPSHOT_VERSION:
            yield self._build_finding("inconsistent", f"the snapshot is of shape {shape!r}, which nobody has written; it will not be used")
        elif snapshot.seq != self._at:
            yield self._build_finding(
                "inconsistent", f"the snapshot stands at {snapshot.seq}, the stream has {self._at} records up to there"
            )
        elif dict(snapshot.state) != {"shape": SNAPSHOT_VERSION, "state": self._state.to_stored()}:
            yield self._build_finding("inconsistent", f"the snapshot differs from the fold of the first {snapshot.seq} events")

    def _build_finding(self, kind: str, why: str) -> Finding:
        return Finding(
            kind="note" if kind == "note" else "inconsistent", place=f"snapshot of {self._stream}", seq=self._at or None, why=why
        )


def check_blobs(
    store: Store, spoken_of: dict[str, tuple[str, int]], stored: list[str], *, before: Collection[str] = ()
) -> Iterator[Finding]:
    """`spoken_of` is digest → (stream, seq). Those stored `before` that no event refers to are noted."""
    for digest in sorted({*spoken_of, *stored}):
        stream, seq = spoken_of.get(digest, ("", None))
        try:
            content = store.load_blob(digest)
        except Exception as error:  # noqa: BLE001 - whatever a damaged row makes the driver say is the finding
            yield Finding(kind="damaged", place=f"blob {digest}", seq=seq, why=f"it cannot be read: {error}")
            continue
        if content is None:
            if stream and not _is_forgotten(store, stream):
                why = f"the large value that record {seq} of {stream} speaks of is gone"
                yield Finding(kind="missing", place=f"blob {digest}", seq=seq, why=why)
            elif not stream and digest not in before:  # otherwise it was removed with its run while the check was under way
                yield Finding(kind="missing", place=f"blob {digest}", seq=seq, why="it is listed, and not there")
        elif not isinstance(content, str) or hash_text(content) != digest:
            yield Finding(kind="damaged", place=f"blob {digest}", seq=seq, why="its content is not what its digest says")
        elif not stream and digest in before:
            yield Finding(kind="note", place=f"blob {digest}", why="no record speaks of it")


def _is_forgotten(store: Store, stream: str) -> bool:
    seq, _ = store.read_head(stream)
    return any(event.type == RunForgotten.__name__ for event in store.read_events(stream, after=max(0, seq - 1), limit=1))

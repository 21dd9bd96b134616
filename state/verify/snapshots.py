"""Compares the snapshot of a stream with the state computed from its events, and large answers with their digests. Changes nothing."""

from collections.abc import Iterator

from state.canonical import hash_text
from state.events import fold
from state.findings import Finding
from state.journal.journal import SNAPSHOT_VERSION
from state.journal.store import Snapshot, Store, StoredEvent


class SnapshotChecker:
    """Applies the events of one stream in order; the state after the event with the snapshot's seq must equal the snapshot."""

    def __init__(self, stream: str, snapshot: Snapshot | None) -> None:
        """Begin with an empty state. `snapshot` is the stored snapshot of the stream, None if there is none."""
        self._stream = stream
        self._snapshot = snapshot
        self._state = fold.create_state()
        self._at = 0
        self.blobs: dict[str, int] = {}
        """The SHA-256 digests of the large answers that events refer to → the seq of one such event."""

    def add_event(self, event: StoredEvent) -> None:
        """Apply the next event; called once per event, in order."""
        digest = event.data.get("result_blob")
        if digest:
            self.blobs[digest] = event.seq
        if self._snapshot is not None and event.seq <= self._snapshot.seq:
            fold.fold_events(self._state, ((event.type, dict(event.data), event.ts),))
            self._at = event.seq

    def list_findings(self) -> Iterator[Finding]:
        """Yield a finding if the snapshot is wrong or of an older program; nothing if it is right, or if the stream has no snapshot."""
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


def check_blobs(store: Store, spoken_of: dict[str, tuple[str, int]], stored: list[str]) -> Iterator[Finding]:
    """Yield findings for large answers that are missing or whose SHA-256 is not the digest under which they are stored.

    `spoken_of` maps a digest to the stream and seq of an event that refers to it; `stored` lists the digests in the database.
    """
    for digest in sorted({*spoken_of, *stored}):
        stream, seq = spoken_of.get(digest, ("", None))
        try:
            content = store.load_blob(digest)
        except Exception as error:  # noqa: BLE001 - whatever a damaged row makes the driver say is the finding
            yield Finding(kind="damaged", place=f"blob {digest}", seq=seq, why=f"it cannot be read: {error}")
            continue
        if content is None:
            why = f"the large answer that record {seq} of {stream} speaks of is gone" if stream else "it is listed, and not there"
            yield Finding(kind="missing", place=f"blob {digest}", seq=seq, why=why)
        elif not isinstance(content, str) or hash_text(content) != digest:
            yield Finding(kind="damaged", place=f"blob {digest}", seq=seq, why="its content is not what its digest says")

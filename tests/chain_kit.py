"""Whether a stored stream is whole, in a few lines of its own: the product's check (`state/verify`) is tested with it."""

from dataclasses import dataclass

from state.journal.journal import PAGE, hash_record
from state.journal.store import Store


@dataclass(frozen=True, kw_only=True)
class Verified:
    """An intact chain: `seq` (number) and `hash` of its last record; 0 and "" for an empty stream."""

    seq: int
    hash: str


@dataclass(frozen=True, kw_only=True)
class Damage:
    """A damaged chain: the `seq` (number) of the first record that is not as it was written, and why."""

    seq: int
    why: str


def verify_stream(store: Store, stream: str) -> Verified | Damage:
    """Whether it is numbered without gaps, chained, unchanged and complete up to the end that is stored apart. Decrypts nothing."""
    seq, head = 0, ""
    while page := store.read_records(stream, after=seq, limit=PAGE):
        for number, raw, hash_ in page:
            if number != seq + 1:
                return Damage(seq=seq + 1, why=f"record {seq + 1} is missing, {number} stands in its place")
            if hash_ != hash_record(head, raw):
                return Damage(seq=number, why="its hash does not fit its text")
            seq, head = number, hash_
    end, kept = store.read_head(stream)
    if (seq, head) != (end, kept):
        return Damage(seq=seq + 1, why=f"the stream ends at {seq}, its head says {end}")
    return Verified(seq=seq, hash=head)

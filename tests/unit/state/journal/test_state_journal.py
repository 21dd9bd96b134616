"""The chain: what a hash covers, and each way in which a record can differ from what was written."""

from collections.abc import Callable
from hashlib import sha256

import pytest

from state.journal import journal
from state.journal.journal import Damage, RecordHead, Verified
from state.journal.store import StoredEvent

Change = Callable[[list[StoredEvent]], list[StoredEvent]]


def records(count: int = 4) -> list[StoredEvent]:
    """A sound chain."""
    made: list[StoredEvent] = []
    prev = ""
    for seq in range(1, count + 1):
        head = RecordHead("session:tg:1", seq, f"id{seq}", "2026-11-21T12:00:00.000000Z", "MessageReceived", 1, "a")
        raw = journal.record_text(head, '{"text":"Ромашка"}')
        made.append(StoredEvent(**head._asdict(), data={"text": "Ромашка"}, raw=raw, prev=prev, hash=journal.hash_record(prev, raw)))
        prev = made[-1].hash
    return made


def test_a_hash_covers_the_record_and_the_hash_before() -> None:
    """The exact text, byte by byte: old journals must verify for ever."""
    head = RecordHead("session:tg:1", 7, "id", "2026-11-21T12:00:00.000000Z", "MessageReceived", 1, 'an "actor"')
    raw = (
        '{"actor":"an \\"actor\\"","data":{"text":"Ромашка"},"id":"id","seq":7,"stream":"session:tg:1",'
        '"ts":"2026-11-21T12:00:00.000000Z","type":"MessageReceived","v":1}'
    )

    assert journal.record_text(head, '{"text":"Ромашка"}') == raw
    assert journal.hash_record("abc", raw) == sha256(b"abc" + raw.encode()).hexdigest()


def test_a_sound_chain_is_verified() -> None:
    """Also an empty one."""
    whole = records()

    assert journal.verify(whole) == Verified(seq=4, hash=whole[-1].hash)
    assert journal.verify([]) == Verified(seq=0, hash="")


def forged(whole: list[StoredEvent]) -> list[StoredEvent]:
    """The second record is another one, and its own hash is right."""
    raw = whole[1].raw.replace("Ромашка", "Лютик")
    whole[1] = whole[1]._replace(raw=raw, hash=journal.hash_record(whole[1].prev, raw))
    return whole


def joined(whole: list[StoredEvent]) -> list[StoredEvent]:
    """As `forged`, and the next record claims to follow it."""
    forged(whole)
    whole[2] = whole[2]._replace(prev=whole[1].hash)
    return whole


def no_json(whole: list[StoredEvent]) -> list[StoredEvent]:
    """A text that is none, with the right hash."""
    whole[1] = whole[1]._replace(raw="{", hash=journal.hash_record(whole[1].prev, "{"))
    return whole


@pytest.mark.parametrize(
    ("change", "seq", "why"),
    [
        (lambda whole: whole[:1] + whole[2:], 2, "record 2 is missing"),
        (lambda whole: whole[1:], 1, "record 1 is missing"),
        (lambda whole: [whole[0], whole[2], whole[1], whole[3]], 2, "record 2 is missing"),
        (lambda whole: [*whole, whole[3]], 5, "record 5 is missing"),
        (forged, 3, "does not follow"),
        (joined, 3, "hash does not fit"),
        (no_json, 2, "no JSON"),
        (lambda whole: [whole[0], whole[1]._replace(actor="b"), *whole[2:]], 2, "fields differ"),
        (lambda whole: [whole[0], whole[1]._replace(stream="session:tg:2"), *whole[2:]], 2, "belongs to session:tg:2"),
        (lambda whole: [whole[0]._replace(raw=whole[0].raw + " "), *whole[1:]], 1, "hash does not fit"),
    ],
)
def test_damage_is_found_where_it_begins(change: Change, seq: int, why: str) -> None:
    """Removal, reordering, doubling, forging with and without new links, and fields that belie the text."""
    found = journal.verify(change(records()))

    assert isinstance(found, Damage)
    assert found.seq == seq
    assert why in found.why

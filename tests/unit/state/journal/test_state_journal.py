"""The chain: what a hash covers."""

from hashlib import sha256

from state.journal import journal
from state.journal.journal import RecordHead


def test_a_hash_covers_the_record_and_the_hash_before() -> None:
    """The exact text, byte by byte: old journals must verify for ever."""
    head = RecordHead("session:tg:1", 7, "id", "2026-11-21T12:00:00.000000Z", "MessageReceived", 1, 'an "actor"')
    raw = (
        '{"actor":"an \\"actor\\"","data":{"text":"Ромашка"},"id":"id","seq":7,"stream":"session:tg:1",'
        '"ts":"2026-11-21T12:00:00.000000Z","type":"MessageReceived","v":1}'
    )

    assert journal.record_text(head, '{"text":"Ромашка"}') == raw
    assert journal.hash_record("abc", raw) == sha256(b"abc" + raw.encode()).hexdigest()

"""Personal data at rest: opened where it was sealed and nowhere else, unreadable and unforgeable without its key."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from state import canonical
from state.events import fold
from state.events.base import Event
from state.events.codec import decode
from state.events.confirmations import ConfirmationApproved
from state.events.conversation import MessageReceived, ModelAnswered
from state.events.portal import PortalEventReceived
from state.journal import encryption, journal
from state.journal.encryption import DamagedCiphertext, compress_text, decrypt, encrypt, find_key_owner, generate_key
from state.journal.store import Commit, Lease, StaleEpoch, StoredEvent
from state.sql import SqlStore, build_sqlite_url, open_store
from tests import chain_kit
from tests.unit.state.events.state_events_kit import CORE, event_of

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
STREAM = "session:tg:7"
FLIPPED = "UPDATE events SET data = substr(data, 1, 80) || iif(substr(data, 81, 1) = 'x', 'y', 'x') || substr(data, 82) WHERE seq = 2"
SECRET = "Иван Петров просит скидку, звонить на +7 916 000-11-22"


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a database: a file, or on a server where the test says so."""
    if getattr(request, "param", "file") == "file":
        yield build_sqlite_url(tmp_path / "sdelka.db")
        return
    server = request.getfixturevalue("postgres")
    made = server.fresh()
    yield made
    server.drop(made)


@pytest.fixture
def store(url: str) -> Iterator[SqlStore]:
    made = open_store(url)
    yield made
    made.close()


everywhere = pytest.mark.parametrize("url", ["file", pytest.param("postgresql", marks=pytest.mark.slow)], indirect=True)


@pytest.fixture(scope="module")
def shared() -> Iterator[SqlStore]:
    """One for many examples, which use a session each."""
    made = open_store("sqlite://")
    yield made
    made.close()


FRESH = count(1)
MISSING = object()


def lease(store: SqlStore, session: str = "tg:7", owner: str = "one") -> Lease:
    got = store.acquire(session, owner, NOW, NOW + timedelta(minutes=1))
    assert got is not None
    return got


def put(store: SqlStore, *events: Event, actor: str = "tg:7", session: str = "tg:7") -> list[StoredEvent]:
    """Commit under a lease taken for it."""
    held = lease(store, session)
    return store.commit(Commit(stream=f"session:{session}", epoch=held.epoch, actor=actor, now=NOW, events=events))


def told(event: Event) -> dict[str, object]:
    """The fields of `event` as JSON holds them."""
    data: dict[str, object] = canonical.loads(canonical.dumps(event.model_dump(mode="json")))
    return data


def said(text: str = SECRET) -> MessageReceived:
    return MessageReceived(turn_id="t1", text=text)


def forget(store: SqlStore, person: str) -> dict[str, int]:
    return store.open_erasure().erase(person, NOW, digests=(), change=lambda value: value)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=300), st.text(max_size=20), st.integers(0, 2))
def test_what_is_sealed_opens_with_its_key_in_its_place_only(text: str, place: str, wrong: int) -> None:
    """Any text comes back; another key, another place and another text do not open."""
    key = generate_key()
    text = text.encode("utf-8", "replace").decode()
    made = encrypt(key, compress_text(text), place)
    attempts = [(generate_key().secret, made, place), (key.secret, made, f"{place}!"), (key.secret, flipped(made), place)]

    assert decrypt(key.secret, made, place) == text
    assert made != encrypt(key, compress_text(text), place)
    with pytest.raises(DamagedCiphertext, match="was changed, or belongs elsewhere"):
        decrypt(*attempts[wrong])


def flipped(text: str, at: int = -6) -> str:
    return text[:at] + ("A" if text[at] != "A" else "B") + text[at + 1 :]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(CORE)).flatmap(lambda name: event_of(CORE[name])))
def test_an_event_is_read_as_it_was_committed(shared: SqlStore, event: Event) -> None:
    """Sealed, stored and opened again, data and fold are those of the commit; its clear part holds nothing personal."""
    session = f"tg:{next(FRESH)}"
    made = put(shared, event, session=session, actor=session)
    read = shared.read_events(f"session:{session}")

    assert read == made
    assert decode(read[0].type, read[0].v, read[0].data) == event
    assert read[0].data == {name: value for name, value in told(event).items() if event.unstored.get(name, MISSING) != value}
    assert read[0].raw == canonical.dumps(canonical.loads(read[0].raw))
    stored = canonical.loads(read[0].raw)["data"]
    assert not set(stored) & set(event.blanks)
    assert encryption.FIELD not in type(event).model_fields


def test_the_text_is_nowhere_in_the_database(store: SqlStore, tmp_path: Path) -> None:
    """What was said can be read through the store and not in the file; the chain covers the sealed text."""
    put(store, said())
    put(
        store,
        ConfirmationApproved(confirmation_id="c", effect_id="e", approved_by="tg:7", approved_by_name="Аннушка", approved_at="", via="x"),
    )
    files = b"".join(path.read_bytes() for path in tmp_path.iterdir())

    assert [item.data.get("text") or item.data["approved_by_name"] for item in store.read_events(STREAM)] == [SECRET, "Аннушка"]
    assert SECRET.encode() not in files
    assert "Аннушка".encode() not in files
    assert isinstance(chain_kit.verify_stream(store, STREAM), chain_kit.Verified)


@pytest.mark.parametrize(
    ("change", "seq"),
    [
        (FLIPPED, 2),
        ("UPDATE events SET data = (SELECT data FROM events WHERE seq = 3) WHERE seq = 1", 1),
        ('UPDATE events SET data = replace(data, \'"sealed":"\', \'"sealed":"x\') WHERE seq = 3', 3),
        ("UPDATE events SET stream = 'session:tg:8'", 1),
        ("DELETE FROM person_keys", 1),
    ],
)
def test_a_changed_or_moved_seal_is_an_error_that_names_its_place(store: SqlStore, change: str, seq: int) -> None:
    """A flipped letter, a text of another record, another key's id, another stream, a lost key: never garbage, never taken for erased."""
    put(store, *(said(f"{SECRET} {number}") for number in range(3)))
    with store._database.write() as transaction:
        transaction._cursor.execute(change)
    stream = "session:tg:8" if "tg:8" in change else STREAM

    with pytest.raises(DamagedCiphertext, match=rf"{stream} seq {seq} "):
        store.read_events(stream)


@pytest.mark.parametrize(
    ("actor", "session", "person"),
    [
        ("tg:7", "tg:7", "tg:7"),
        ("tg:6", "tg:7", "tg:6"),
        ("system", "tg:7", "tg:7"),
        ("model", "tg:7:55", "tg:7"),
        ("system", "tg:-100500:3", "tg:-100500"),
        ("cli:anna", "cli:anna", "cli:anna"),
        ("system", "http:site:user%3a1", "http:site"),
        ("portal", "portal:company.bitrix24.ru", "portal:company.bitrix24.ru"),
        ("system", "run:abc", "run:abc"),
    ],
)
def test_whose_key_it_is(actor: str, session: str, person: str) -> None:
    """Who acted; where the program itself did, the one whose session it is, in every thread of it."""
    assert find_key_owner(actor, session) == person


@everywhere
def test_each_person_has_one_key_made_when_it_is_needed(store: SqlStore) -> None:
    """Nothing personal, no key; then one a person, whatever the session, and one for all who commit at once."""
    put(store, PortalEventReceived(event="ONCRMDEALUPDATE", target="deal:1", ts=1), actor="portal", session="portal:x")
    put(store, said(), said())
    put(store, said(), session="tg:-5")
    put(store, said(), actor="tg:6")
    put(store, ModelAnswered(turn_id="t", iteration=1, text=SECRET), actor="system")

    assert sorted(row.person for row in store.open_erasure().list_keys()) == ["tg:6", "tg:7"]


def test_without_the_key_a_record_is_blank_and_says_so(store: SqlStore) -> None:
    """Statuses, ids and times stay, what was personal reads as nothing of its type; others' records are untouched; the chain holds."""
    put(store, said())
    put(store, said("Другой человек"), actor="tg:8", session="tg:8")
    before = chain_kit.verify_stream(store, STREAM)
    removed = forget(store, "tg:7")

    [gone], [other] = store.read_events(STREAM), store.read_events("session:tg:8")
    assert gone.erased
    assert dict(gone.data) == {"turn_id": "t1", "origin": "typed", "answers": "", "text": "", "quoted": "", "ref": 0}
    assert (other.erased, other.data["text"]) == (False, "Другой человек")
    assert chain_kit.verify_stream(store, STREAM) == before
    assert removed == {"events": 1, "person_keys": 1}


@everywhere
def test_a_second_process_writes_nothing_under_an_erased_key(store: SqlStore, url: str) -> None:
    """It worked with the key a moment ago: its next commit is refused, and what it writes after loading anew has a key of its own."""
    other = open_store(url)
    held = lease(other, owner="two")
    step = Commit(stream=STREAM, epoch=held.epoch, actor="tg:7", now=NOW, events=[said()])
    other.commit(step)
    assert other.read_events(STREAM)[0].data["text"] == SECRET
    forget(store, "tg:7")

    with pytest.raises(StaleEpoch):
        other.commit(step)
    assert [item.erased for item in other.read_events(STREAM)] == [True]
    put(other, said("Снова здравствуйте"))
    other.close()
    first, second = store.open_erasure().list_keys()
    assert sorted([bool(first.erased_at), bool(second.erased_at)]) == [False, True]
    assert [item.erased for item in store.read_events(STREAM)] == [True, False]
    assert forget(store, "tg:7") == {"events": 1, "person_keys": 1}
    assert [item.erased for item in store.read_events(STREAM)] == [True, True]


def test_records_of_the_first_schema_are_read_as_they_are(store: SqlStore) -> None:
    """They were written in clear, and stay so: bytes of the journal are never changed."""
    head = journal.RecordHead(STREAM, 1, "01-old", "2026-11-21T12:00:00.000000Z", "MessageReceived", 1, "tg:7")
    data = canonical.dumps(said("в открытую").model_dump(mode="json"))
    hash_ = journal.hash_record("", journal.record_text(head, data))
    lease(store)
    with store._database.write() as transaction:
        cursor = transaction._cursor
        cursor.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (*head, data, hash_))
        cursor.execute("UPDATE leases SET seq = 1, hash = ?", (hash_,))
    put(store, said("под ключом"))

    assert [(item.data["text"], item.erased) for item in store.read_events(STREAM)] == [("в открытую", False), ("под ключом", False)]
    assert [item.data["text"] for item in store.scan(["MessageReceived"])] == ["в открытую", "под ключом"]
    assert isinstance(chain_kit.verify_stream(store, STREAM), chain_kit.Verified)


@pytest.mark.long
@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(sorted(CORE)).flatmap(lambda name: event_of(CORE[name])), max_size=8))
def test_the_fold_of_an_erased_conversation_never_fails(shared: SqlStore, found: list[Event]) -> None:
    """Whatever the events were, their blanks fold to a state of the same statuses."""
    session = f"tg:{next(FRESH)}"
    put(shared, *found, session=session, actor=session)
    whole, _ = journal.load_state(shared, f"session:{session}")
    forget(shared, session)
    bare, _ = journal.load_state(shared, f"session:{session}")

    confirmations = whole.agent.confirmations
    assert [entry.status for entry in bare.agent.confirmations.values()] == [item.status for item in confirmations.values()]
    assert list(bare.denied) == list(whole.denied)
    assert [item.effect_id for item in bare.agent.in_progress] == [item.effect_id for item in whole.agent.in_progress]
    assert json.dumps(bare.to_stored())
    assert fold.list_open_confirmations(bare) is not None

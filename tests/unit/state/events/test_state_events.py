"""Events on disk: each class survives the way there and back, a newer one is refused, an older one lifted, each has a place in the fold."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Literal, get_args, get_origin

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from state import canonical
from state.events import base, codec, fold
from state.events.base import Event
from state.events.codec import UnknownEvent
from state.events.conversation import MessageReceived
from state.events.personal import CLEAR, Personal
from state.journal import journal
from state.journal.store import Commit, Snapshot
from state.model.session_state import SessionState
from state.sql import SqlStore, open_store
from tests import chain_kit
from tests.unit.state.events.state_events_kit import CORE, event_of


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(sorted(CORE)).flatmap(lambda name: event_of(CORE[name])))
def test_an_event_comes_back_as_it_was(event: Event) -> None:
    """Written as canonical text and decoded again it is equal."""
    text = canonical.dumps(event.model_dump(mode="json"))

    assert codec.decode(type(event).__name__, event.V, canonical.loads(text)) == event


@pytest.mark.parametrize(("name", "version"), [("MessageReceived", MessageReceived.V + 1), ("InventedTomorrow", 1)])
def test_what_a_newer_program_wrote_is_refused(name: str, version: int) -> None:
    """Neither a newer version nor an unknown type is guessed at."""
    with pytest.raises(UnknownEvent, match=f"{name} v{version}.*newer version of this program"):
        codec.upcast(name, version, {})


def test_an_older_version_is_lifted_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each upcaster lifts by one version, in order."""

    class Renamed(Event):
        V: ClassVar[int] = 3
        name: Personal[str]
        loud: bool

    def to_two(data: dict[str, Any]) -> dict[str, Any]:
        return {"name": data["titel"]}

    def to_three(data: dict[str, Any]) -> dict[str, Any]:
        return {**data, "loud": False}

    monkeypatch.setitem(codec.UPCASTERS, ("Renamed", 1), to_two)
    monkeypatch.setitem(codec.UPCASTERS, ("Renamed", 2), to_three)
    lifted = codec.decode("Renamed", 1, {"titel": "Ромашка"})
    untouched = codec.upcast("Renamed", 3, {"name": "x", "loud": True})
    del base.type_names["Renamed"]

    assert lifted == Renamed(name="Ромашка", loud=False)
    assert untouched == {"name": "x", "loud": True}


def test_nobody_adds_a_field_without_deciding_whether_it_is_personal() -> None:
    """A text that is neither marked nor known as the program's own cannot become part of an event."""
    with pytest.raises(TypeError, match=r"Told\.about: mark it Personal"):

        class Told(Event):
            about: str

    assert "Told" not in base.type_names


def test_what_is_clear_by_name_is_never_marked_and_always_used() -> None:
    """One name means one thing in all events, and the list of clear names holds no leftovers."""
    marked = {name for cls in CORE.values() for name in cls.blanks}
    fields = {name for cls in CORE.values() for name in cls.model_fields}

    assert not marked & CLEAR
    assert fields >= CLEAR


_SAMPLES: dict[Any, Any] = {str: "x", int: 1, bool: True}


@pytest.mark.parametrize("name", sorted(CORE))
def test_blanks_are_of_the_type_of_their_field(name: str) -> None:
    """An event of an erased person is still an event of its class."""
    cls = CORE[name]
    blank = cls.blanks
    given = {
        field: _SAMPLES.get(info.annotation, [] if "list" in str(info.annotation) else None)
        for field, info in cls.model_fields.items()
        if info.is_required() and field not in blank
    }
    given |= {field: get_args(info.annotation)[0] for field, info in cls.model_fields.items() if get_origin(info.annotation) is Literal}

    assert codec.decode(name, cls.V, {**given, **blank})


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(CORE)).flatmap(lambda name: event_of(CORE[name])))
def test_what_is_folded_at_once_is_what_will_be_read(event: Event) -> None:
    """Value by value, and key by key in the order in which the journal gives them back."""
    written = codec.encode(event)
    whole = canonical.loads(canonical.dumps(event.model_dump(mode="json")))
    assert written.data == {name: value for name, value in whole.items() if name not in event.unstored or value != event.unstored[name]}
    clear, told = canonical.loads(written.clear), canonical.loads(written.personal_text or "{}")
    assert ("" if told else None) == clear.pop(codec.SEALED, None)
    read = codec.join_parts(written.type, written.v, clear, told)
    assert (written.data, list(written.data)) == (read, list(read))
    assert not clear.keys() & event.blanks.keys()
    assert not told or codec.insert_sealed(written.clear, "k.x") == canonical.dumps({**clear, codec.SEALED: "k.x"})


NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
STREAM = "session:tg:1"
WITHOUT_MEANING = {
    "BackupRestored",
    "DecisionRefused",
    "MessageEdited",
    "RequestDropped",
    "ModelAsked",
    "ModelAnswered",
    "ModelFailed",
    "PersonErased",
    "StepRefused",
}
WITHOUT_MEANING |= {"DefinitionSaved", "DefinitionPublished", "DefinitionSwitched", "DocumentChanged"}
WITHOUT_MEANING |= {"MemoryWritten", "MemoryCleared", "QuestionShown", "AnswerDoubted"}
WITHOUT_MEANING |= {"BlockOpened", "BlockResumed", "BlockConflicted", "BlockResolved", "BlockFinished", "BlockFailed", "BlockDismissed"}
WITHOUT_MEANING |= {"WritesFrozen", "WritesReleased", "BudgetWarned", "AnswerGiven", "ConsoleEntered", "PolicySaved", "BulkFrozen"}

histories = st.lists(st.sampled_from(sorted(CORE)).flatmap(lambda name: event_of(CORE[name])), max_size=12)


def folded(happened: list[Event]) -> list[tuple[str, dict[str, Any], str]]:
    """What the fold is given for these events."""
    return [(type(item).__name__, item.model_dump(mode="json"), f"2026-11-21T12:00:{n:02d}Z") for n, item in enumerate(happened)]


def test_every_event_has_a_place_in_the_fold_or_none_on_purpose() -> None:
    """A new event that nobody thought of turns this red."""
    assert set(fold._FOLDS) | WITHOUT_MEANING == set(CORE)
    assert not set(fold._FOLDS) & WITHOUT_MEANING


@pytest.mark.slow
@pytest.mark.req("S004-13")
@settings(max_examples=30, deadline=None)
@given(histories, st.integers(0, 12))
def test_a_fold_in_two_parts_is_the_fold_of_the_whole(happened: list[Event], cut: int) -> None:
    """Prefix and rest lead to the same state as all at once, also when the state between was written down and read."""
    steps = folded(happened)
    whole = fold.fold_events(fold.create_state(), steps)
    halfway = SessionState.from_stored(json.loads(json.dumps(fold.fold_events(fold.create_state(), steps[:cut]).to_stored())))

    assert json.dumps(fold.fold_events(halfway, steps[cut:]).to_stored()) == json.dumps(whole.to_stored())


@pytest.fixture(scope="module")
def store() -> Any:
    """One store for all; each example takes a stream of its own."""
    opened = open_store("sqlite://")
    yield opened
    opened.close()


def commit(store: SqlStore, happened: list[Event], *, stream: str = STREAM, snapshot: Snapshot | None = None) -> None:
    """The events of one step."""
    held = store.acquire(stream.removeprefix("session:"), "one", NOW, NOW + timedelta(minutes=1))
    assert held is not None
    store.commit(Commit(stream=stream, epoch=held.epoch, actor="a", now=NOW, events=happened, snapshot=snapshot))


numbers = iter(range(10**6))


@pytest.mark.slow
@pytest.mark.req("S004-14")
@settings(max_examples=20, deadline=None)
@given(histories, histories)
def test_a_snapshot_changes_nothing(store: SqlStore, before: list[Event], after: list[Event]) -> None:
    """The state loaded over a snapshot is the state folded from the first event, down to the order of its keys."""
    stream = f"session:s{next(numbers)}"
    commit(store, before, stream=stream)
    plain, seq = journal.load_state(store, stream)
    commit(store, [], stream=stream, snapshot=journal.build_snapshot(stream, seq, plain))
    commit(store, after, stream=stream)
    loaded, last = journal.load_state(store, stream)
    steps = [(item.type, dict(item.data), item.ts) for item in store.read_events(stream)]

    assert last == len(before) + len(after)
    assert json.dumps(loaded.to_stored()) == json.dumps(fold.fold_events(fold.create_state(), steps).to_stored())


@pytest.mark.parametrize(
    "bad",
    [
        Snapshot(stream=STREAM, seq=2, state={"shape": journal.SNAPSHOT_VERSION + 1, "state": {"a": 1}}),
        Snapshot(stream=STREAM, seq=2, state={"shape": journal.SNAPSHOT_VERSION}),
        Snapshot(stream=STREAM, seq=2, state={}),
        Snapshot(stream=STREAM, seq=3, state={"shape": journal.SNAPSHOT_VERSION, "state": {"a": 1}}),
    ],
    ids=["another shape", "no state", "nothing", "ahead of the log"],
)
def test_an_unfit_snapshot_is_not_used(bad: Snapshot) -> None:
    """The state is rebuilt from the events."""
    store = open_store("sqlite://")
    said = [MessageReceived(turn_id="t", text="раз"), MessageReceived(turn_id="t", text="два")]
    commit(store, [*said], snapshot=bad)
    state, seq = journal.load_state(store, STREAM)
    store.close()

    assert (state.agent.goals, seq) == (["два", "раз"], 2)


def test_a_torn_snapshot_is_not_used() -> None:
    """Text that is no JSON counts as no snapshot."""
    store = open_store("sqlite://")
    said = [MessageReceived(turn_id="t", text="раз")]
    commit(store, [*said], snapshot=journal.build_snapshot(STREAM, 1, fold.create_state()))
    with store._database.write() as transaction:
        transaction._cursor.execute("UPDATE snapshots SET state = '{\"shape'")
    state, seq = journal.load_state(store, STREAM)
    store.close()

    assert (state.agent.goals, seq) == (["раз"], 1)


def test_a_long_stream_is_read_in_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is lost or doubled where one page ends and the next begins."""
    monkeypatch.setattr(journal, "PAGE", 3)
    store = open_store("sqlite://")
    commit(store, [MessageReceived(turn_id="t", text=str(number)) for number in range(9)])
    state, seq = journal.load_state(store, STREAM)
    found = chain_kit.verify_stream(store, STREAM)
    store.close()

    assert (seq, state.agent.goals[:2], len(state.history)) == (9, ["8", "7"], 9)
    assert isinstance(found, chain_kit.Verified)

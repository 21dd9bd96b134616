"""Events on disk: every class survives the way there and back, a newer one is refused, an older one lifted."""

from typing import Any, ClassVar, Literal, get_args, get_origin

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from state import canonical
from state.events import base, codec
from state.events.base import Event
from state.events.codec import UnknownEvent
from state.events.conversation import MessageReceived
from state.events.personal import CLEAR, Personal
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

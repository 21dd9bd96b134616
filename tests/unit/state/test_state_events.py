"""Events on disk: every class survives the way there and back, a newer one is refused, an older one lifted."""

from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from state_events_kit import CORE, event_of

from state import canonical, events
from state.events import Event, MessageReceived, UnknownEvent


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(sorted(CORE)).flatmap(lambda name: event_of(CORE[name])))
def test_an_event_comes_back_as_it_was(event: Event) -> None:
    """Written as canonical text and decoded again it is equal."""
    text = canonical.dumps(event.model_dump(mode="json"))

    assert events.decode(type(event).__name__, event.V, canonical.loads(text)) == event


@pytest.mark.parametrize(("name", "version"), [("MessageReceived", MessageReceived.V + 1), ("InventedTomorrow", 1)])
def test_what_a_newer_program_wrote_is_refused(name: str, version: int) -> None:
    """Neither a newer version nor an unknown type is guessed at."""
    with pytest.raises(UnknownEvent, match=f"{name} v{version}.*newer version of this program"):
        events.upcast(name, version, {})


def test_an_older_version_is_lifted_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each upcaster lifts by one version, in order."""

    class Renamed(Event):
        V: ClassVar[int] = 3
        name: str
        loud: bool

    def to_two(data: dict[str, Any]) -> dict[str, Any]:
        return {"name": data["titel"]}

    def to_three(data: dict[str, Any]) -> dict[str, Any]:
        return {**data, "loud": False}

    monkeypatch.setitem(events.UPCASTERS, ("Renamed", 1), to_two)
    monkeypatch.setitem(events.UPCASTERS, ("Renamed", 2), to_three)
    lifted = events.decode("Renamed", 1, {"titel": "Ромашка"})
    untouched = events.upcast("Renamed", 3, {"name": "x", "loud": True})
    del events.type_names["Renamed"]

    assert lifted == Renamed(name="Ромашка", loud=False)
    assert untouched == {"name": "x", "loud": True}

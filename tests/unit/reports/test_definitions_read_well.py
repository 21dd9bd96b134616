"""What the reports of the journal say of stored definitions."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from orchestrator.reports.reading.narrator import Narrator
from orchestrator.reports.reading.sentences import describe_event
from state.journal import definitions
from state.journal.definition_turn import STREAM
from state.model.definitions import Author
from state.sql import SqlStore, open_store
from tests.unit.spine_kit import NOW

VOICE = Narrator(lambda code, _: code)
ANNA = Author(key="tg:1007", name="Анна", user=7, via="http", at=NOW)
BORIS = Author(key="tg:1008", name="Борис", user=8, via="cli", at=NOW)


@pytest.fixture
def store() -> Iterator[SqlStore]:
    made = open_store("sqlite://")
    yield made
    made.close()


def told(store: SqlStore) -> list[str]:
    return [describe_event(event, VOICE) for event in store.read_events(STREAM)]


def test_each_change_is_told_with_its_person_door_text_and_note(store: SqlStore) -> None:
    """A text is named by the beginning of its digest; a note stands on one line whatever it holds."""
    made = definitions.create_version(store, ANNA, "flow", "intake", {}, title="", note="первая\nверсия")
    definitions.create_version(store, ANNA, "flow", "intake", {}, title="", note="", what="rolled_back")
    definitions.create_version(store, ANNA, "flow", "intake", {}, title="", note="", what="imported")
    definitions.save_version(store, BORIS, "flow", "intake", 1, {}, title="", note="", expected=1)
    definitions.publish_version(store, BORIS, "flow", "intake", 1, expected=2, check=lambda _: None, note="готово")
    definitions.publish_version(store, ANNA, "flow", "intake", 2, expected=1, check=lambda _: None)
    definitions.switch_key(store, BORIS, "flow", "intake", enabled=False, expected=3, note="беда")
    definitions.switch_key(store, BORIS, "flow", "intake", enabled=True, expected=4)
    text = f"text {made.digest[:10]}"
    assert told(store) == [
        f"Анна (tg:1007) saved version 1 of flow intake as a new draft through the API, {text}: первая ⏎ версия",
        f"Анна (tg:1007) made draft 2 of flow intake from an earlier version through the API, {text}",
        f"Анна (tg:1007) imported version 3 of flow intake as a draft through the API, {text}",
        f"Борис (tg:1008) saved draft 1 of flow intake anew in the terminal, {text}",
        f"Борис (tg:1008) published version 1 of flow intake in the terminal, {text}: готово",
        f"Анна (tg:1007) published version 2 of flow intake instead of version 1 through the API, {text}",
        f"Борис (tg:1008) switched flow intake off, so that nothing begins with it, in the terminal, {text}: беда",
        f"Борис (tg:1008) switched flow intake on again in the terminal, {text}",
    ]


def test_a_key_without_a_version_that_runs_is_told_without_a_text(store: SqlStore) -> None:
    definitions.create_version(store, ANNA, "flow", "intake", {}, title="", note="")
    definitions.switch_key(store, replace(BORIS, via="telegram"), "flow", "intake", enabled=False, expected=1)
    assert told(store)[-1] == "Борис (tg:1008) switched flow intake off, so that nothing begins with it, telegram"


def test_an_erased_author_is_known_by_key(store: SqlStore) -> None:
    definitions.create_version(store, ANNA, "flow", "intake", {}, title="", note="заметка")
    store.open_erasure().erase(ANNA.key, NOW, digests=[], change=lambda body: body)
    (line,) = told(store)
    assert line.startswith("(erased) (tg:1007) saved version 1 of flow intake as a new draft through the API, text ")
    assert "заметка" not in line

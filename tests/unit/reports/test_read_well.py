"""What the reports of the journal say of stored definitions, of undone calls, and of people whom only the journal knows."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from orchestrator.features.people.registry import STREAM as REGISTRY
from orchestrator.reports.reading.journal_reader import Narrator
from orchestrator.reports.reading.sentences import describe_event
from state.events.base import Event
from state.events.calls import CallStarted
from state.events.conversation import MessageReceived
from state.events.people import PersonJoined
from state.journal import definitions
from state.journal.store import Commit
from state.journal.stream_turn import STREAM
from state.model.definitions import Author
from state.sql import SqlStore, build_sqlite_url, open_store
from tests.unit.reports.conftest import Run
from tests.unit.reports.story_kit import CHAT, rows_of
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


NOW = datetime(2026, 11, 22, 9, 0, tzinfo=UTC)
JOINED = "tg:2000"


def goes_on(folder: Path, stream: str, actor: str, events: Sequence[Event]) -> None:
    """More happens in that session."""
    store = open_store(build_sqlite_url(folder / "sdelka.db"))
    lease = store.acquire(stream.removeprefix("session:"), "test", NOW, NOW + timedelta(hours=1))
    assert lease is not None
    store.commit(Commit(stream=stream, epoch=lease.epoch, actor=actor, now=NOW, events=events))
    store.release(lease)
    store.close()


def test_who_joined_by_a_link_has_a_name_in_every_report(copy: Path, run: Run) -> None:
    """The access file does not list them, the registry in the journal does."""
    joined = PersonJoined(person=JOINED, name="Вера Лебедева", role="manager", bitrix_user_id=8, by="tg:1001")
    goes_on(copy, REGISTRY, JOINED, [joined])
    goes_on(copy, f"session:{JOINED}", JOINED, [MessageReceived(turn_id="t", text="слова")])

    assert "Вера Лебедева (tg:2000)" in next(line for line in rows_of(run("show").output) if line.startswith(JOINED))
    assert "Вера Лебедева (tg:2000) asked: слова" in run("show", JOINED).output
    assert "Вера Лебедева (tg:2000) asked: слова" in run("tail", "-n", "1", JOINED).output


def test_a_call_that_takes_back_another_says_which(copy: Path, run: Run) -> None:
    """Nobody's words led to it: the page names the call that it undoes, so that one can go on to it."""
    call = {"method": "crm.deal.update", "params": {"id": 481, "fields": {"OPPORTUNITY": "120000.00"}}, "kind": "bitrix", "call_class": "W"}
    place = {"turn_id": "t", "effect_id": "ab" * 16, "fingerprint": "f", "essence": "e"}
    who = {"requested_by": CHAT, "approved_by": CHAT, "confirmation_id": "", "proposed_by": "undo"}
    goes_on(copy, f"session:{CHAT}", CHAT, [CallStarted(slot=f"undo:{'cd' * 16}", before={}, **place, **call, **who)])

    assert f"   undo of    call {'cd' * 16}\n" in run("why", "abababab").output

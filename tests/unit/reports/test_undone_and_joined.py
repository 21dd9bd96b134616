"""What reports say of a call that takes back another, and of people whom only the journal knows by name."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from orchestrator.features.people.registry import STREAM
from state.events.base import Event
from state.events.calls import CallStarted
from state.events.conversation import MessageReceived
from state.events.people import PersonJoined
from state.journal.store import Commit
from state.sql import build_sqlite_url, open_store
from tests.unit.reports.conftest import Run
from tests.unit.reports.story_kit import CHAT, rows_of

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
    goes_on(copy, STREAM, JOINED, [joined])
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

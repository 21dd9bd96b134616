"""Reminders that wait: the list, its buttons, who may, and that each comes once."""

from datetime import timedelta
from typing import Any

import pytest

from orchestrator.domain.actor import Actor
from orchestrator.features.daily.reminders import MAX_LISTED
from orchestrator.performers.schedule import MOST_REMINDERS
from orchestrator.sessions.session import Session
from tests.unit.features.daily.daily_kit import MONDAY, Home, input_row
from tests.unit.features.daily.reminder_kit import HOUR, kept, wish
from tests.unit.spine_kit import ANNA, BORIS, command


async def pressed(home: Home, session: Session, body: dict[str, Any], action: str, *, actor: Actor = ANNA) -> list[tuple[str, str, str]]:
    """(kind, what, key) of what a press leads to."""
    row = input_row(
        "reminder",
        {"reminder": body["reminder"], "action": action, "place": body.get("place", "list"), "callback_id": "9"},
        actor=actor,
        key=session.key,
    )
    await home.world.put(row)
    await home.work(session)
    return [(row.kind, row.body["what"] if row.kind == "reminder" else row.body["notice"]["code"], row.key) for row in home.rows()]


async def test_putting_off_and_deleting(home: Home) -> None:
    """In an hour, tomorrow at nine; the message that was pressed changes; a deleted one is gone, and says so."""
    session = await kept(home)
    home.rows()
    home.set_clock(MONDAY + timedelta(days=4, hours=2))
    await home.work(session)
    due = next(row for row in home.rows() if row.kind == "reminder")
    assert await pressed(home, session, dict(due.body), "hour") == [("reminder", "moved", due.key), ("toast", "toast-reminder-moved", "")]
    assert home.timers()[0].endswith("27.11 09:00")
    home.world.clock.advance(HOUR)
    await home.work(session)
    again = next(row for row in home.rows() if row.kind == "reminder")
    assert again.body["what"] == "due"
    assert again.key != due.key, "it comes as a new message"
    await pressed(home, session, dict(again.body), "morning")
    assert home.timers()[0].endswith("28.11 06:00")
    assert await pressed(home, session, dict(again.body), "drop") == [
        ("reminder", "dropped", again.key),
        ("toast", "toast-reminder-dropped", ""),
    ]
    assert home.timers() == []
    assert await pressed(home, session, dict(again.body), "hour") == [("toast", "toast-reminder-gone", "")]
    assert home.timers() == []


async def test_a_press_that_meets_the_timer_does_not_lose_the_reminder(home: Home) -> None:
    """Put off while its input waits already: it comes at the new moment, not now."""
    session = await kept(home)
    (set_,) = home.told("reminder")
    home.set_clock(MONDAY + timedelta(days=4, hours=2))
    row = input_row("reminder", {"reminder": set_["reminder"], "action": "hour", "place": set_["place"]})
    await home.world.put(row)
    await home.work(session)
    assert [body["what"] for body in home.told("reminder")] == ["moved"]
    assert home.timers()[0].endswith("27.11 09:00")


async def test_the_list_is_ones_own_the_next_first(home: Home) -> None:
    """At most so many are shown, each with its button; a press in the list answers with a message of its own."""
    home.set_clock(MONDAY)
    session = await home.session()
    for number in range(MAX_LISTED + 2):
        await home.world.submit(session, wish(slot=f"t/{number}", at=f"2026-12-{28 - number:02d}T09:00:00+03:00", text=f"дело {number}"))
    await home.work(session)
    home.rows()
    await home.world.put(command("reminders"))
    await home.work(session)
    (body,) = home.told("reminder")
    assert body["more"] == 2
    assert [item["text"] for item in body["items"]][:2] == [f"дело {MAX_LISTED + 1}", f"дело {MAX_LISTED}"]
    assert await pressed(home, session, dict(body["items"][0]), "drop") == [
        ("reminder", "dropped", ""),
        ("toast", "toast-reminder-dropped", ""),
    ]
    other = await home.session(BORIS)
    await home.world.put(command("reminders", actor=BORIS, key=BORIS.key))
    await home.work(other)
    assert home.told("reminder")[0]["items"] == []


async def test_a_press_of_somebody_else_does_nothing(home: Home) -> None:
    """Callback data is user input: another person's press in that chat finds no reminder."""
    session = await kept(home)
    (body,) = home.told("reminder")
    assert await pressed(home, session, dict(body), "drop", actor=BORIS) == [("toast", "toast-reminder-gone", "")]
    assert len(home.timers()) == 1


@pytest.mark.long
async def test_there_is_a_limit(home: Home) -> None:
    """A loop of a model ends before it fills a chat."""
    home.set_clock(MONDAY)
    session = await home.session()
    for number in range(MOST_REMINDERS):
        await home.world.submit(session, wish(slot=f"t/{number}"))
    await home.work(session)
    outcome = await home.world.submit(session, wish(slot="t/last"))
    assert outcome.reason.code == "reminder-too-many"


async def test_of_who_lost_access_nothing_comes(home: Home) -> None:
    """The timer goes, the text is shown to nobody."""
    session = await kept(home)
    home.rows()
    home.household.here.clear()
    home.set_clock(MONDAY + timedelta(days=5))
    await home.work(session)
    assert home.rows() == []
    assert home.timers() == []


async def test_its_words_are_sealed(home: Home) -> None:
    """Neither journal nor timer shows them in the clear."""
    await kept(home, text="позвонить Пингвинову")
    home.rows()
    assert "Пингвинову" not in "".join(record[1] for record in home.world.sql.read_records("session:tg:1007"))


async def test_one_that_has_come_does_not_come_again(home: Home) -> None:
    """An input of its timer that turns up late, from another process or an old backup, tells nobody anything."""
    session = await kept(home)
    (body,) = home.told("reminder")
    home.set_clock(MONDAY + timedelta(days=4, hours=2))
    await home.work(session)
    assert len(home.told("reminder")) == 1
    stray = {"timer": f"reminder:{body['reminder']}", "kind": "reminder", "reminder": body["reminder"]}
    await home.world.put(input_row("timer", stray), input_row("timer", {**stray, "reminder": "f" * 32}))
    await home.work(session)
    assert home.rows() == []
    assert len(home.world.events("ReminderFired")) == 1

"""A reminder is asked for in words, let through by the gate without a card, kept durably, and comes once."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from orchestrator.directory.answers import Resolved, Unresolved
from orchestrator.directory.value_references import resolve_date
from orchestrator.domain.effect import Outcome
from orchestrator.gate.approve.confirmations import Decision
from state.events.calls import CallStarted
from state.journal.store import StoreError
from tests.unit.features.daily.daily_kit import MONDAY, Home, input_row
from tests.unit.features.daily.reminder_kit import ELEVEN, TEXT, Died, kept, wish
from tests.unit.spine_kit import ANNA, Provenance, command, effect, message, reply, step


async def test_it_is_set_from_words_shown_by_code_and_comes_at_its_time(home: Home) -> None:
    """«напомни в пятницу в 11 позвонить Ромашке»: the model names no moment, code does; no card; the message leads to the deal."""
    home.set_clock(MONDAY)
    world = home.world
    world.model.will(
        reply(step("reminder.add", {"at": "@date:в пятницу в 11", "text": TEXT, "deal": "@deal:Ромашка"}), text="Ставлю."),
        reply(text="Поставил."),
    )
    session = await world.session()
    await world.turn(session, message("напомни в пятницу в 11 позвонить Ромашке"))
    await home.work(session)
    told = home.rows()
    assert [row.kind for row in told] == ["reply", "reminder"]
    body = told[1].body
    assert (body["what"], body["text"], body["when"]) == ("set", TEXT, "пт, 27 ноября, 11:00")
    assert body["url"].endswith("/crm/deal/details/481/")
    assert "ConfirmationRequested" not in world.types()
    home.set_clock(MONDAY + timedelta(days=4, hours=1, minutes=59))
    await home.work(session)
    assert home.told("reminder") == []
    home.world.clock.advance(timedelta(minutes=1))
    await home.work(session)
    assert [body["what"] for body in home.told("reminder")] == ["due"]
    home.world.clock.advance(timedelta(days=7))
    await home.work(session)
    assert home.told("reminder") == []
    assert home.timers() == []


@pytest.mark.parametrize(
    ("words", "now", "when"),
    [
        ("завтра", "2026-11-23T06:00", "2026-11-24T06:00"),
        ("tomorrow", "2026-11-23T06:00", "2026-11-24T06:00"),
        ("в пятницу", "2026-11-23T16:30", "2026-11-27T06:00"),
        ("завтра в 15", "2026-11-23T06:00", "2026-11-24T12:00"),
        ("завтра вечером", "2026-11-23T06:00", "2026-11-24T16:00"),
        ("сегодня", "2026-11-23T04:00", "2026-11-23T06:00"),
        ("сегодня", "2026-11-23T07:00", "2026-11-23T15:00"),
        ("через 2 часа", "2026-11-23T07:00", "2026-11-23T09:00"),
        ("1 декабря", "2026-11-23T07:00", "2026-12-01T06:00"),
    ],
)
def test_a_day_without_an_hour_is_its_morning(words: str, now: str, when: str) -> None:
    """«Напомни завтра» came at six in the evening, when the day it was meant for was over."""
    found = resolve_date(words, field="at", actor=ANNA, now=datetime.fromisoformat(f"{now}+00:00"))
    assert isinstance(found, Resolved), found
    assert datetime.fromisoformat(found.value) == datetime.fromisoformat(f"{when}+00:00")


@pytest.mark.parametrize(
    ("words", "now"),
    [("вчера", "2026-11-23T07:00"), ("сегодня", "2026-11-23T16:00"), ("сегодня в 9", "2026-11-23T07:00"), ("31 февраля", "2026-11-23T07:00"),
     ("31.02.2027", "2026-11-23T07:00"), ("каждый понедельник", "2026-11-23T07:00"), ("в полночь", "2026-11-23T07:00"), ("через 40 лет", "2026-11-23T07:00"),
     ("29 февраля 2027", "2026-11-23T07:00"), ("в 25:00", "2026-11-23T07:00"), ("", "2026-11-23T07:00"), ("never", "2026-11-23T07:00")],
)  # fmt: skip
def test_what_is_over_or_no_moment_at_all_is_asked_about(words: str, now: str) -> None:
    """The past, days that no calendar has, what comes again and again: a question, never a guess."""
    found = resolve_date(words, field="at", actor=ANNA, now=datetime.fromisoformat(f"{now}+00:00"))
    assert isinstance(found, Unresolved), found


@pytest.mark.parametrize(
    ("words", "now", "when"),
    [
        ("завтра в 2:30", "2027-03-27T12:00+00:00", "2027-03-28T01:30+00:00"),  # skipped by summer time: the hour after
        ("завтра в 2:30", "2026-10-24T12:00+00:00", "2026-10-25T00:30+00:00"),  # there twice: the first of them
        ("завтра", "2027-03-27T12:00+00:00", "2027-03-28T07:00+00:00"),
        ("через 24 часа", "2027-03-27T12:00+00:00", "2027-03-28T12:00+00:00"),
    ],
)
def test_a_change_of_the_clock_moves_no_reminder_by_an_hour(words: str, now: str, when: str) -> None:
    berlin = ANNA.model_copy(update={"time_zone": "Europe/Berlin"})
    found = resolve_date(words, field="at", actor=berlin, now=datetime.fromisoformat(now))
    assert isinstance(found, Resolved), found
    assert datetime.fromisoformat(found.value) == datetime.fromisoformat(when)


async def test_this_deal_is_meant_by_the_record_spoken_of_last(home: Home) -> None:
    """«Напомни об этой сделке»: "@current" of a reminder is of the kind that its parameter says."""
    home.set_clock(MONDAY)
    world = home.world
    world.model.will(
        reply(step("crm.deal.get", {"id": 481})), reply(text="Вот."), reply(step("reminder.add", {"at": "@date:завтра", "text": TEXT, "deal": "@current"})),
        reply(text="Поставил."),
    )  # fmt: skip
    session = await world.session()
    await world.turn(session, message("покажи сделку 481"))
    await world.turn(session, message("напомни завтра об этой сделке"))
    await home.work(session)
    (body,) = home.told("reminder")
    assert body["url"].endswith("/crm/deal/details/481/")
    assert body["when"] == "вт, 24 ноября, 09:00"


@pytest.mark.parametrize(("late", "what", "hour"), [(30, "due", "11:00"), (3600, "late", "11:00"), (86_400, "late", "")])
async def test_a_late_one_says_that_the_bot_was_not_running(home: Home, late: int, what: str, hour: str) -> None:
    """It outlives the process; on another day the day is said too."""
    before = await kept(home)
    await before.close()
    home.told("")
    home.set_clock(MONDAY + timedelta(days=4, hours=2, seconds=late))
    await home.work(await home.session(owner="two"))
    (body,) = home.told("reminder")
    assert (body["what"], body["hour"], body["when"]) == (what, hour, "пт, 27 ноября, 11:00")
    assert [event.data["late"] for event in home.world.events("ReminderFired")] == [late]


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"at": "завтра"}, "gate-param-invalid"),
        ({"at": "2026-11-27T11:00:00"}, "gate-param-invalid"),
        ({"at": 5}, "gate-param-invalid"),
        ({"at": "9999-12-31T23:59:59-12:00"}, "gate-param-invalid"),
        ({"text": ""}, "gate-param-invalid"),
        ({"text": "x" * 501}, "gate-param-invalid"),
        ({"text": ["a"]}, "gate-param-invalid"),
        ({"text": "a\u202eb"}, "gate-param-invalid"),
        ({"deal": "Ромашка"}, "gate-param-invalid"),
        ({"deal": -1}, "gate-param-invalid"),
        ({"deal": True}, "gate-param-invalid"),
        ({"deal": 1, "task": 2}, "gate-param-invalid"),
        ({"record": "user:1"}, "gate-param-invalid"),
        ({"to": "tg:1008"}, "gate-param-unknown"),
        ({"at": "2026-11-20T11:00:00+03:00"}, "reminder-past"),
    ],
)  # fmt: skip
async def test_what_cannot_be_kept_is_refused_and_nothing_is_set(home: Home, params: dict[str, Any], code: str) -> None:
    """A moment without a zone, no words, two records, a moment that is over."""
    home.set_clock(MONDAY)
    session = await home.session()
    outcome = await home.world.submit(session, wish(**params))
    assert (outcome.status, outcome.reason and outcome.reason.code) == ("refused", code)
    await home.work(session)
    assert home.timers() == []


async def test_it_is_nobody_elses_whatever_is_written(home: Home) -> None:
    """A model that names another person, or the mark of another reminder, sets one for who speaks."""
    session = await kept(home, person="tg:1008", ORIGIN_ID="f" * 32)
    (timer,) = home.world.sql.list_due_timers(MONDAY + timedelta(days=30))
    assert timer.session == "tg:1007"
    assert timer.body["reminder"] != "f" * 32
    assert TEXT not in str(timer.body)
    assert session.key == "tg:1007"
    assert home.world.events("ReminderSet", key="tg:1008") == []


async def test_in_a_group_it_goes_to_the_persons_own_chat(home: Home) -> None:
    """The group reads neither the reminder nor the list of anybody's reminders."""
    home.set_clock(MONDAY)
    group = await home.world.session("tg:-100")
    await home.world.submit(group, wish())
    await home.work(await home.session())
    assert [(row.session, row.body["what"]) for row in home.rows() if row.kind == "reminder"] == [("tg:1007", "set")]
    await home.world.put(command("reminders", key="tg:-100"))
    await home.work(group)
    (body,) = home.told("reminder")
    assert (body["what"], body["items"]) == ("elsewhere", [])


async def test_a_client_that_fetches_its_answers_reads_its_list_in_any_conversation(home: Home) -> None:
    """It has no private chat to be sent to."""
    session = await kept(home)
    home.rows()
    api = await home.world.session("http:1007:crm")
    await home.world.put(command("reminders", key=api.key))
    await home.work(api)
    (answer,) = [item.data["body"] for item in home.world.events("AnswerGiven", key=api.key) if item.data["kind"] == "reminder"]
    assert (answer["what"], [item["text"] for item in answer["items"]]) == ("list", [TEXT])
    assert session.key == "tg:1007"


@pytest.mark.parametrize("mode", ["full", "canary", "shadow"])
async def test_modes(home: Home, mode: Any) -> None:
    """A safe create runs in canary too; shadow only plans it, and the plan can be shown."""
    home.set_clock(MONDAY)
    session = await home.session()
    outcome = await home.world.submit(session, wish(), mode=mode)
    assert isinstance(outcome, Outcome)
    await home.work(session)
    if mode == "shadow":
        assert (outcome.status, outcome.preview["verb"], outcome.preview["entity"]) == ("planned", "add", "reminder")
        assert [(line["name"], line["after"]) for line in outcome.preview["lines"]] == [("Когда", "пт, 27 ноября, 11:00"), ("Текст", TEXT)]
    assert len(home.timers()) == (0 if mode == "shadow" else 1)


async def test_words_of_others_need_a_card(home: Home) -> None:
    """A reminder wished for by a comment in the CRM asks first; approved, it is set exactly so."""
    home.set_clock(MONDAY)
    session = await home.session()
    tainted = effect("reminder.add", {"at": ELEVEN, "text": TEXT}, provenance=Provenance(message=None, prose=True))
    asked = await home.world.submit(session, tainted)
    assert [notice.code for notice in asked.reasons] == ["gate-taint-prose"]
    await home.work(session)
    assert home.world.events("ReminderSet") == []
    entry = session.state.agent.confirmations[asked.confirmation_id]
    decision = Decision(confirmation_id=asked.confirmation_id, nonce=entry.nonce, approve=True, actor=ANNA, via="button")
    decided = await home.world.gate.decide_card(decision, mode="full", ledger=session)
    assert decided.outcome.status == "succeeded"
    await session.flush()
    await home.work(session)
    assert len(home.world.events("ReminderSet")) == 1


async def test_the_policy_may_forbid_it_and_opens_nothing_else_by_it(home: Home) -> None:
    """Other methods of the kind stay closed."""
    home.set_clock(MONDAY)
    session = await home.session()
    for method in ("message", "scenario_run", "cancel"):
        outcome = await home.world.submit(session, effect(method, {}, kind="schedule", slot=f"t/{method}"))
        assert outcome.reason.code == "gate-kind-method"


async def test_the_same_step_is_one_reminder(home: Home) -> None:
    """Submitted again after a crash of the turn, and its input worked twice."""
    session = await kept(home)
    await home.world.submit(session, wish())
    await home.world.put(
        input_row(
            "reminder_set", {"effect_id": home.world.events("ReminderSet")[0].data["effect_id"], "due_ts": 1, "text": "x", "target": ""}
        )
    )
    await home.work(session)
    assert len(home.world.events("ReminderSet")) == 1
    assert len(home.timers()) == 1


@pytest.mark.parametrize("stored", [True, False])
async def test_a_crash_in_the_middle_is_settled_by_looking(home: Home, stored: bool) -> None:  # noqa: FBT001 - the two halves of one story
    """The process died between intent and outcome: kept or not kept, but never doubtful and never twice."""
    home.set_clock(MONDAY)
    session = await home.session()
    put = home.world.store.put_inbox

    async def dying(rows: Any, *rest: Any) -> Any:
        if stored:
            await put(rows, *rest)
        raise Died

    home.world.store.put_inbox = dying  # type: ignore[method-assign]
    with pytest.raises(Died):
        await home.world.submit(session, wish())
    home.world.store.put_inbox = put  # type: ignore[method-assign]
    assert home.world.types()[-1] == CallStarted.__name__
    again = await home.session(owner="one")
    home.world.clock.advance(timedelta(minutes=2))
    (found,) = await home.world.gate.recover(again, announce=lambda _: [])
    assert found.reconciled.verdict == ("done" if stored else "not_done")
    await home.work(again)
    assert len(home.world.events("ReminderSet")) == len(home.timers()) == int(stored)


async def test_a_store_that_cannot_be_written_leaves_it_unknown(home: Home) -> None:
    """The person is told that it may not be kept."""
    home.set_clock(MONDAY)
    session = await home.session()

    async def full(*_: Any) -> Any:
        raise StoreError("disk full")

    home.world.store.put_inbox = full  # type: ignore[method-assign]
    outcome = await home.world.submit(session, wish())
    assert outcome.status == "unknown"  # type: ignore[union-attr]


async def test_two_reminders_are_corrected_at_once(home: Home) -> None:
    """Each by its own place in the list, though the first has moved by the time of the second; both are told, and both come once."""
    session = await kept(home)
    await home.world.submit(session, wish(slot="t1/1/2", at="2026-11-27T12:00:00+03:00", text="отправить КП"))
    await home.work(session)
    home.rows()
    moves = [
        step("reminder.move", {"reminder": f"@reminder:{number}", "at": f"2026-11-28T{hour}:00:00+03:00"})
        for number, hour in ((1, 15), (2, 10))
    ]
    home.world.model.will(reply(*moves), reply(text="Перенёс."))
    await home.world.turn(session, message("перенеси первое напоминание на субботу в 15, перенеси второе на субботу в 10"))
    await home.work(session)
    moved = [row.body for row in home.rows() if row.kind == "reminder"]
    assert [(body["what"], body["text"], body["when"][-5:]) for body in moved] == [
        ("moved", TEXT, "15:00"),
        ("moved", "отправить КП", "10:00"),
    ]
    assert {timer.due_at.isoformat() for timer in home.world.sql.list_due_timers(MONDAY + timedelta(days=30))} == {
        "2026-11-28T12:00:00+00:00",
        "2026-11-28T07:00:00+00:00",
    }

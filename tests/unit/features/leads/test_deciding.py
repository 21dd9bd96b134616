"""What waits for a lead: found by /pending, with its details; and who is asked when leads go, sleep or stand in for each other."""

from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.i18n.translate import Translator
from bot.rendering.cards import render_card
from bot.rendering.spans import to_plain_text
from bot.telegram.intake.callbacks import ActionClick, CardClick, unpack
from bot.telegram.view.keyboards import build_card_keyboard
from orchestrator.domain.actor import Actor
from orchestrator.domain.card_view import CardView
from orchestrator.gate.gate import Gate
from orchestrator.runtime import worker
from state.clock import generate_id
from state.journal.store import InboxRow
from tests.unit.features.leads.leads_kit import DINA, GLEB, LIMIT, PAIR, Department, a_department, ask_for, by_chat, gone
from tests.unit.spine_kit import ANNA, BORIS, CHAT, NOW, VERA, World, _row, command, message, press, raise_sum, reply

TODAY = date(2026, 11, 21)


def pressing(*words: str, actor: Actor, key: str) -> InboxRow:
    return _row("press", "express", {"words": list(words), "callback_id": generate_id(), "message_id": 5}, actor, key)


async def pending(world: World, actor: Actor, key: str = "") -> list[Any]:
    await world.work(command("pending", actor=actor, key=key or actor.key))
    return world.outbox()


async def test_pending_of_a_lead_brings_what_waits_for_their_decision(department: World, entry: dict[str, Any]) -> None:
    """The card of the other conversation, at the end of the lead's chat, with who asks; its buttons still lead home and count once."""
    rows = await pending(department, VERA)
    assert by_chat(rows) == {VERA.key: ["lead-pending", "card:requested"]}
    assert rows[0].body["notices"][0]["args"] == {"count": 1}
    body = rows[1].body
    assert (body["home"], body["anew"], body["requested_by_name"], rows[1].key) == (CHAT, True, "Анна", f"card:{entry['confirmation_id']}")
    assert department.events("LeadsAsked") == []
    await department.work(press(entry, actor=VERA))
    department.outbox()
    assert by_chat(await pending(department, VERA)) == {VERA.key: ["pending"]}
    assert len(department.portal.ledger) == 1


@pytest.mark.parametrize(("actor", "key"), [(BORIS, ""), (ANNA, "tg:-100"), (VERA, "tg:-100"), (GLEB, ""), (DINA, "")])
async def test_nobody_else_sees_what_waits_for_a_lead(tmp_path: Path, actor: Actor, key: str) -> None:
    """No colleague, no group, no lead who was not asked while the one who was is there."""
    async with a_department(tmp_path, department=Department(everybody=[ANNA, BORIS, VERA, GLEB, DINA])) as world:
        await ask_for(world)
        rows = await pending(world, actor, key)
        assert [row.kind for row in rows] == ["reply"]
        assert rows[0].body["notices"][0]["code"] == "pending"


async def test_their_own_cards_and_those_of_others_come_apart(department: World) -> None:
    """First what waits here, then what waits for their decision."""
    await ask_for(department)
    department.model.will(reply(raise_sum(1_100_000)))
    await department.work(message("подними", actor=VERA, key=VERA.key))
    department.outbox()
    told = by_chat(await pending(department, VERA))
    assert told == {VERA.key: ["pending", "card:requested", "lead-pending", "card:requested"]}


async def test_a_lead_who_was_not_asked_finds_what_nobody_else_can_decide(tmp_path: Path) -> None:
    """The one who was asked is dismissed while the card waits: another one takes it over, and from then on it is shown to them."""
    department = Department(everybody=[ANNA, BORIS, VERA, GLEB])
    async with a_department(tmp_path, department=department) as world:
        entry = await ask_for(world)
        assert by_chat(await pending(world, GLEB)) == {GLEB.key: ["pending"]}
        department.everybody.remove(VERA)
        told = by_chat(await pending(world, GLEB))
        assert told == {GLEB.key: ["lead-pending", "card:requested"], CHAT: ["card:requested"]}
        await world.work(press(entry, actor=VERA))
        gone_rows = world.outbox()
        assert world.portal.ledger == []
        assert "card:executed" not in str(by_chat(gone_rows))
        await world.work(press(entry, actor=GLEB))
        assert by_chat(world.outbox()) == {CHAT: ["card:executed", "lead-approved"], GLEB.key: ["toast:toast-running", "card:executed"]}
        assert len(world.portal.ledger) == 1


async def test_details_of_the_leads_copy_come_from_the_conversation_of_the_card(department: World) -> None:
    """In words, in the lead's chat only, and the exact call for an admin; for somebody else there is nothing."""
    department.model.will(reply(raise_sum(2_500_000)))
    await department.work(message("подними"))
    body = next(row.body for row in department.outbox() if row.kind == "card" and row.session == VERA.key)
    words = next(press.words for press in _buttons(body) if isinstance(press, ActionClick) and press.words[0] == "details")
    await department.work(pressing(*words, actor=VERA, key=VERA.key))
    rows = department.outbox()
    assert [(row.session.removesuffix(":toast"), row.kind) for row in rows] == [(VERA.key, "toast"), (VERA.key, "details")]
    assert "2\u00a0500\u00a0000" in rows[1].body["preview"]["lines"][0]["after"]
    assert not {"params", "before", "nonce"} & set(rows[1].body)
    for actor, key in ((BORIS, BORIS.key), (DINA, DINA.key)):
        await department.work(pressing(*words, actor=actor, key=key))
        rows = department.outbox()
        assert [row.kind for row in rows] == ["toast", "reply"]
        assert rows[1].body["notices"][0]["code"] == "details-none"
    for odd in (("details",), ("details", body["confirmation_id"], "x"), ("details", body["confirmation_id"], "1007", "y")):
        await department.work(pressing(*odd, actor=VERA, key=VERA.key))
        assert by_chat(department.outbox()) == {VERA.key: ["toast:card-outdated"]}


def _buttons(body: dict[str, Any]) -> list[Any]:
    markup = build_card_keyboard(CardView.from_body(body), Translator("ru"))
    return [unpack(button.callback_data or "") for line in markup.inline_keyboard for button in line]


async def test_each_lead_is_reminded_in_their_own_day(tmp_path: Path) -> None:
    """In Moscow it is 17:00, in Kamchatka night: each once."""
    far = GLEB.model_copy(update={"time_zone": "Asia/Kamchatka"})
    async with a_department(tmp_path, department=Department(everybody=[ANNA, VERA, far], leads={})) as world:
        await ask_for(world)
        seen = []
        for _ in range(40):
            world.clock.advance(timedelta(minutes=30))
            await world.work()
            seen += [(chat, at) for chat, codes in by_chat(world.outbox()).items() if "lead-remind" in codes for at in [_hours(world)]]
        assert sorted(seen) == [(far.key, 9.0), (VERA.key, 2.0)]


def _hours(world: World) -> float:
    return (world.clock.now() - NOW) / timedelta(hours=1)


async def test_where_the_lead_was_dismissed_the_reminder_goes_to_who_decides_now(tmp_path: Path) -> None:
    """The dismissed one reads nothing any more; the one who asked hears for whom they wait, and the new one is reminded too."""
    department = Department(everybody=[ANNA, BORIS, VERA, GLEB])
    async with a_department(tmp_path, department=department) as world:
        entry = await ask_for(world)
        department.everybody.remove(VERA)
        world.clock.advance(timedelta(hours=2))
        await world.work()
        rows = world.outbox()
        assert by_chat(rows) == {CHAT: ["card:requested", "lead-moved"], GLEB.key: ["card:requested"]}
        mine = next(row.body for row in rows if row.kind == "card" and row.session == CHAT)
        assert "Ждёт руководителя (Глеб) до" in to_plain_text(render_card(CardView.from_body(mine), Translator("ru")))
        world.clock.advance(timedelta(hours=2))
        await world.work()
        assert by_chat(world.outbox()) == {CHAT: ["card:requested"], GLEB.key: ["card:requested", "lead-remind"]}
        await world.work(press(entry, actor=GLEB))
        assert VERA.key not in by_chat(world.outbox())
        assert len(world.portal.ledger) == 1


async def test_where_nobody_decides_any_more_it_is_said(tmp_path: Path) -> None:
    """No lead and no administrator is left: the one who asked knows what to do."""
    department = Department(everybody=[ANNA, BORIS, VERA])
    async with a_department(tmp_path, department=department) as world:
        entry = await ask_for(world)
        department.everybody.remove(VERA)
        world.clock.advance(timedelta(hours=2))
        await world.work()
        assert by_chat(world.outbox()) == {CHAT: ["card:requested", "lead-gone"]}
        await world.work(press(entry))
        assert "toast:lead-nobody" in by_chat(world.outbox())[CHAT]
        assert world.portal.ledger == []


@pytest.mark.parametrize(
    ("absent", "asked"),
    [
        ({VERA.key: gone(TODAY, GLEB), GLEB.key: gone(TODAY, BORIS)}, [BORIS.key]),
        ({VERA.key: gone(TODAY, GLEB), GLEB.key: gone(TODAY)}, [DINA.key]),
        ({VERA.key: gone(TODAY, GLEB), GLEB.key: gone(TODAY, VERA)}, [DINA.key]),
        ({VERA.key: gone(TODAY, GLEB), GLEB.key: gone(TODAY, ANNA)}, [DINA.key]),
        ({VERA.key: gone(TODAY), GLEB.key: gone(TODAY), DINA.key: gone(TODAY)}, []),
    ],
)
async def test_a_deputy_who_is_away_too_is_not_asked(tmp_path: Path, absent: dict[str, Any], asked: list[str]) -> None:
    """Their deputy is, else the administrators; where everybody is away it is said, and nobody approves for themselves."""
    department = Department(everybody=[ANNA, BORIS, VERA, GLEB, DINA], absent=absent)
    async with a_department(tmp_path, department=department) as world:
        world.model.will(reply(raise_sum(2_500_000)))
        await world.work(message("подними"))
        rows = world.outbox()
        entry = next(row.body for row in rows if row.kind == "card" and row.session == CHAT)
        assert (entry.get("told") or []) == asked
        assert ("lead-nobody" in by_chat(rows)[CHAT]) is (not asked)
        await world.work(press(entry))
        assert {"toast:lead-only", "toast:lead-nobody"} & set(by_chat(world.outbox())[CHAT])
        assert world.portal.ledger == []
        for key in asked:
            deciding = next(person for person in department.everybody if person.key == key)
            await world.work(press(entry, actor=deciding))
            assert len(world.portal.ledger) == 1


@pytest.mark.parametrize("policy", [LIMIT, PAIR], ids=["lead", "two people"])
async def test_a_deputy_with_a_second_account_does_not_stand_in_for_the_lead_in_what_is_their_own(
    tmp_path: Path, policy: dict[str, Any]
) -> None:
    """The same employee is the same person, whichever account presses."""
    second = ANNA.model_copy(update={"key": "tg:77", "name": "Анна (дом)"})
    department = Department(everybody=[ANNA, second, VERA, DINA], absent={VERA.key: gone(TODAY, second)})
    async with a_department(tmp_path, policy=policy, department=department) as world:
        entry = await ask_for(world)
        assert entry["told"] == [DINA.key]
        await world.work(press(entry, actor=second))
        assert world.portal.ledger == []


async def test_the_requester_reads_for_whom_and_until_when_they_wait(entry: dict[str, Any]) -> None:
    """«Ждёт руководителя (Вера) до …», in the clock of the one who reads."""
    text = to_plain_text(render_card(CardView.from_body({**entry, "expires_at": "2026-11-21T15:00:00.000000Z"}), Translator("ru")))
    assert "Ждёт руководителя (Вера) до " in text
    assert "18:00" in text.partition("Ждёт руководителя")[2]
    assert not [press for press in _buttons(entry) if isinstance(press, CardClick) and press.approve]


@pytest.mark.parametrize("via", ["typed", "button"])
@pytest.mark.parametrize("key", [CHAT, "tg:-100"])
async def test_no_other_door_lets_the_requester_approve_what_two_people_must(tmp_path: Path, via: str, key: str) -> None:
    """A typed «да», a group, a reply: the gate asks who it is."""
    lead = VERA.model_copy(update={"key": "tg:1007"})
    async with a_department(tmp_path, policy=PAIR, department=Department(everybody=[lead, GLEB])) as world:
        world.model.will(reply(raise_sum(2_500_000)))
        await world.work(message("подними", actor=lead, key=key))
        entry = next(row.body for row in world.outbox() if row.kind == "card" and row.session == key)
        row = press(entry, actor=lead, key=key, via=via)
        typed = {name: value for name, value in row.body.items() if name != "callback_id"}
        await world.work(replace(row, body=typed) if via == "typed" else row)
        assert "four-eyes" in str(by_chat(world.outbox())[key])
        assert world.portal.ledger == []


async def test_a_new_record_is_shown_to_leads_who_may_see_those_of_the_one_who_asks(tmp_path: Path) -> None:
    """There is no record yet whose owner could be looked at; a lead of another department neither reads it nor decides."""
    other = GLEB.model_copy(update={"sees": (8,)})
    step = {"method": "crm.deal.add", "params": {"fields": {"TITLE": "Секрет", "OPPORTUNITY": 5_000_000}}, "comment": "новая"}
    async with a_department(tmp_path, department=Department(everybody=[ANNA, BORIS, other, DINA], leads={})) as world:
        world.model.will(reply(step))
        await world.work(message("заведи сделку"))
        rows = world.outbox()
        entry = next(row.body for row in rows if row.kind == "card" and row.session == CHAT)
        assert (entry["told"], other.key in by_chat(rows)) == ([DINA.key], False)
        await world.work(press(entry, actor=other))
        assert world.portal.ledger == []
        await world.work(press(entry, actor=DINA))
        assert len(world.portal.ledger) == 1


async def test_taking_back_what_a_lead_approved_asks_the_lead_again(department: World, entry: dict[str, Any]) -> None:
    """An undo is a change like any other: a sum above the limit stands on the record."""
    await department.work(press(entry, actor=VERA))
    done = next(row.body for row in reversed(department.outbox()) if row.kind == "card" and row.session == CHAT)
    assert done["undo_until"]
    await department.work(pressing("undo", entry["effect_id"], actor=ANNA, key=CHAT))
    cards = {row.session: row.body for row in department.outbox() if row.kind == "card" and row.body["status"] == "requested"}
    assert set(cards) == {CHAT, VERA.key}
    await department.work(press(cards[CHAT]))
    assert len(department.portal.ledger) == 1
    await department.work(press(cards[CHAT], actor=VERA))
    assert len(department.portal.ledger) == 2
    assert department.portal.records["deal", 481]["OPPORTUNITY"] in {"1000000.00", "1000000", 1_000_000}


async def test_a_leads_copy_of_a_settled_card_has_no_button_that_leads_nowhere(entry: dict[str, Any]) -> None:
    """Checking, undoing and repeating belong to the conversation where the card lives."""
    for status in ("executed", "unknown", "refused", "expired", "denied", "superseded"):
        body = {**entry, "status": status, "home": CHAT, "undo_until": "2026-11-21T15:00:00.000000Z"}
        assert build_card_keyboard(CardView.from_body(body), Translator("ru")) is None, status


@pytest.mark.parametrize("kind", ["decision", "reason"])
async def test_a_leads_word_that_was_given_up_is_told_to_the_lead_and_to_the_one_who_asked(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After three crashes only the requester's chat heard of it, and the lead thought it done."""

    async def stumbling(*_: Any, **__: Any) -> Any:
        raise KeyError("an answer nobody foresaw")

    monkeypatch.setattr(worker, "POLL", 0.02)
    async with a_department(tmp_path) as world:
        entry = await ask_for(world)
        monkeypatch.setattr(Gate, "decide_card", stumbling)
        row = press(entry, actor=VERA)
        if kind == "reason":
            row = replace(row, kind="reason", body={**row.body, "home": CHAT, "text": "рано"})
        await world.work(row)
        rows = world.outbox()
        assert by_chat(rows) == {CHAT: ["failed"], VERA.key: ["lead-press-failed"]}
        told = next(one for one in rows if one.session == VERA.key)
        assert told.body["notices"][0]["args"] == {"what": "Ромашка", "who": "Анна", "id": row.id[-8:]}
        assert world.portal.ledger == []

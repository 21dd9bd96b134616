"""The evening summary tells from the journal alone what the bot changed today, by person, what waits, and what is unknown."""

from datetime import timedelta
from typing import Any

import pytest

from bot.i18n.translate import Translator
from bot.rendering.daily import render_daily
from bot.rendering.spans import to_plain_text
from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import Pending
from orchestrator.gate.approve.confirmations import Decision
from orchestrator.sessions.session import Session
from state.journal.store import StoreError
from tests.unit.features.daily.daily_kit import MONDAY, ON, Home
from tests.unit.spine_kit import ANNA, BORIS, VERA, card, command, effect
from tests.unit.spine_portal import lost

HOUR = timedelta(hours=1)
SIX = MONDAY + 9 * HOUR


async def change(home: Home, session: Session, amount: int, *, deal: int = 481, actor: Actor = ANNA, approve: bool = True) -> None:
    """A sum that was asked for, and approved or left waiting."""
    wish = effect("crm.deal.update", {"id": deal, "fields": {"OPPORTUNITY": amount}}, slot=f"{session.key}/{amount}")
    asked = await home.world.submit(session, wish, actor=actor)
    assert isinstance(asked, Pending), asked
    if approve:
        entry = card(session, asked.confirmation_id)
        decision = Decision(confirmation_id=asked.confirmation_id, nonce=entry.nonce, approve=True, actor=actor, via="button")
        await home.world.gate.decide_card(decision, mode="full", ledger=session)
        await session.flush()


async def free(home: Home, session: Session, title: str, *, actor: Actor = ANNA) -> None:
    """A task for oneself, which needs no card."""
    wish = effect("tasks.task.add", {"fields": {"TITLE": title}}, slot=f"{session.key}/{title}")
    outcome = await home.world.submit(session, wish, actor=actor)
    assert outcome.status == "succeeded", outcome


async def summary(home: Home, lead: Actor = VERA) -> dict[str, Any]:
    """What the lead is sent at six."""
    home.household.wishes[lead.key] = ON
    session = await home.session(lead)
    home.set_clock(SIX - HOUR)
    await home.plan()
    await home.work(session)
    home.rows()
    home.set_clock(SIX)
    await home.work(session)
    (body,) = home.told("daily")
    await session.close()
    return body


async def a_day(home: Home) -> None:
    """Yesterday a change; today Anna changes two, one waits and one is lost; Boris makes a task in a group and reads."""
    home.set_clock(MONDAY - timedelta(days=1))
    anna, group = await home.session(), await home.world.session("tg:-100")
    await change(home, anna, 900_000)
    home.set_clock(MONDAY + HOUR)
    await change(home, anna, 1_000_001)
    await free(home, anna, "Договор")
    await home.world.submit(anna, effect("crm.deal.get", {"id": 481}, slot="read"))
    await home.world.submit(anna, effect("reminder.add", {"at": "2026-12-01T10:00:00+03:00", "text": "тайное"}, slot="remind"))
    await change(home, anna, 5_000_000, approve=False)
    await free(home, group, "Звонок", actor=BORIS)
    home.world.portal.will("crm.deal.update", lost)
    await change(home, anna, 60_000, deal=482)
    await home.world.submit(anna, effect("crm.deal.delete", {"id": 481}, slot="refused"))


async def test_it_is_what_the_bot_did_today(home: Home) -> None:
    """By person; yesterday, reads, refusals and private reminders are no part of it."""
    await a_day(home)
    body = await summary(home)
    assert {person["name"]: person["count"] for person in body["people"]} == {"Анна": 2, "Борис": 1}
    assert (body["waiting"]["count"], body["unknown"]["count"]) == (1, 1)
    text = to_plain_text(render_daily(body, Translator("ru"))).replace("\xa0", " ")
    lines = [line for line in text.splitlines() if line]
    assert lines[0] == "🌙 Итог дня: пн, 23 ноября"
    assert lines[1:4] == [
        "Анна — 2 изменения",
        "• изменение сделки «Ромашка» (Сумма: 900 000 ₽ → 1 000 001 ₽)",
        "• создание задачи «Договор»",
    ]
    assert lines[4:6] == ["Борис — 1 изменение", "• создание задачи «Звонок»"]
    assert lines[6] == "Ждёт решения: 1"
    assert lines[7].startswith("• Анна: Изменить сделку «Ромашка» (https://portal.example/crm/deal/details/481/) · ответ до ")
    assert lines[8:10] == ["Исход неизвестен, проверьте: 1", "• Анна: изменение сделки «Вектор» (Сумма: 50 000 ₽ → 60 000 ₽)"]
    assert lines[10:] == ["Отключить: /settings"]
    assert "тайное" not in str(body)
    assert not home.world.model.prompts, "no model is asked"


async def test_a_lead_is_told_of_their_own_team_only(home: Home) -> None:
    """`sees: [8]` means Boris and oneself: nothing of Anna's, not even that she exists."""
    await a_day(home)
    lead = VERA.model_copy(update={"sees": (8,)})
    home.household.here[2] = lead
    body = await summary(home, lead)
    assert [person["name"] for person in body["people"]] == ["Борис"]
    assert "Анна" not in str(body)
    assert "Ромашка" not in str(body)


async def test_a_day_without_changes_is_one_sentence(home: Home) -> None:
    body = await summary(home)
    assert to_plain_text(render_daily(body, Translator("en"))) == (
        "🌙 The day: Mon, 23 November\n\nNothing was changed in Bitrix24 through me today.\n\nSwitch off: /settings"
    )


async def test_long_days_are_cut_and_counted(home: Home) -> None:
    """Five changes are named, the others counted; the numbers stay those of all."""
    home.set_clock(MONDAY)
    session = await home.session()
    for number in range(8):
        await free(home, session, f"Дело {number}")
    body = await summary(home)
    (person,) = body["people"]
    assert (person["count"], len(person["lines"]), person["more"]) == (8, 5, 3)
    assert "Анна — 8 изменений" in to_plain_text(render_daily(body, Translator("ru")))
    assert "и ещё 3" in to_plain_text(render_daily(body, Translator("ru")))


async def test_the_day_is_the_leads_own(home: Home) -> None:
    """In Vladivostok the day began seven hours earlier."""
    home.set_clock(MONDAY - timedelta(hours=6 + 4))  # 20:00 UTC on Sunday: Monday there, Sunday in Moscow
    session = await home.session()
    await free(home, session, "Ранняя")
    lead = VERA.model_copy(update={"time_zone": "Asia/Vladivostok"})
    home.household.here[2] = lead
    home.household.wishes[lead.key] = ON
    chat = await home.session(lead)
    home.set_clock(MONDAY + 2 * HOUR)  # 18:00 there
    await home.plan()
    await home.work(chat)
    home.rows()
    await home.work(chat)
    bodies = [body for body in home.told("daily") if body["what"] == "evening"]
    assert [[person["count"] for person in body["people"]] for body in bodies] == [[1]]


async def test_a_recovered_call_counts_once(home: Home) -> None:
    """Unknown at first and found done by a look: one change, nothing unknown any more."""
    home.set_clock(MONDAY)
    session = await home.session()
    home.world.portal.will("crm.deal.update", lost)
    await change(home, session, 60_000, deal=482)
    home.world.clock.advance(timedelta(minutes=2))
    await home.work(session)
    body = await summary(home)
    assert [(person["name"], person["count"]) for person in body["people"]] == [("Анна", 1)]
    assert body["unknown"]["count"] == 0


async def test_a_journal_that_cannot_be_read_puts_it_off(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """A damaged record of somebody else's must not put the lead's chat out of work."""

    def broken(*_: Any, **__: Any) -> Any:
        raise StoreError("damaged")

    home.household.wishes[VERA.key] = ON
    session = await home.session(VERA)
    home.set_clock(SIX - HOUR)
    await home.plan()
    await home.work(session)
    home.rows()
    home.set_clock(SIX)
    monkeypatch.setattr(home.world.sql, "scan", broken)
    await home.work(session)
    assert home.told("daily") == []
    assert "daily:evening:tg:1006 23.11 15:10" in home.timers()
    await home.world.put(command("reminders", actor=VERA, key=VERA.key))
    await home.work(session)
    assert len(home.told("reminder")) == 1

"""Due timers become inputs once, and are worked on in the session they belong to."""

from datetime import timedelta

import pytest

from orchestrator.runtime import dispatch
from orchestrator.sessions.session import Session
from state.journal.store import Timer
from tests.unit.spine_kit import CHAT, NOW, World, message, press, raise_sum, reply
from tests.unit.spine_portal import cut


async def test_a_due_timer_is_one_input_however_often_it_is_seen(world: World, session: Session) -> None:
    """The same timer gives the same source; one that is not due gives none."""
    set_ = [
        Timer(id=f"t{n}", due_at=NOW + timedelta(minutes=n), session=CHAT, kind="confirmation_expires", body={"confirmation_id": "c"})
        for n in (0, 5)
    ]
    await session.commit(actor="a", timers=set_)
    assert [
        len(await dispatch.collect_due_rows(world.store, NOW - timedelta(seconds=1))),
        len(await dispatch.collect_due_rows(world.store, NOW)),
    ] == [0, 1]
    fresh = [(await world.store.put_inbox(await dispatch.collect_due_rows(world.store, NOW))).fresh for _ in range(3)]
    assert fresh == [[True], [False], [False]]
    row = await world.store.take_inbox(CHAT, "express")
    assert (row.kind, row.body["timer"], row.body["kind"], row.actor["key"]) == ("timer", "t0", "confirmation_expires", "system")


async def test_a_timer_of_a_card_that_is_gone_is_dropped(world: World, session: Session) -> None:
    """Nothing to close: the timer goes, nobody is told."""
    await session.commit(
        actor="a", timers=[Timer(id="confirmation:c", due_at=NOW, session=CHAT, kind="confirmation_expires", body={"confirmation_id": "c"})]
    )
    await session.close()
    await world.work()
    assert world.sql.list_due_timers(NOW) == []
    assert world.outbox() == []


async def test_a_timer_nobody_knows_is_quarantined(world: World, session: Session) -> None:
    """It holds nobody up."""
    await session.commit(actor="a", timers=[Timer(id="x", due_at=NOW, session=CHAT, kind="of the future")])
    await session.close()
    world.model.will(reply(text="ок"))
    await world.work(message("привет"))
    assert world.codes() == ["reply"]
    assert "unknown timer of the future" in world.stored_text()


@pytest.mark.req("S004-A2")
async def test_the_look_at_an_unknown_call_ends_with_its_timer(world: World) -> None:
    """Settled or not, the timer goes; without an answer of the portal the card stays unknown and says so."""
    world.model.will(reply(raise_sum()))
    await world.work(message("подними сумму сделки 481 до 1 200 000"))
    entry = next(row.body for row in world.outbox() if row.kind == "card")
    world.portal.will("crm.deal.update", cut)
    await world.work(press(entry))
    world.outbox()
    world.clock.advance(timedelta(seconds=80))
    world.portal.will("crm.deal.get", *[cut] * 3)
    await world.work()
    assert world.codes() == ["recovered-unclear", "card:unknown"]
    assert world.sql.list_due_timers(NOW + timedelta(days=9)) == []

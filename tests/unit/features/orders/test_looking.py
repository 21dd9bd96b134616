"""One look serves all orders: what it costs, what it repeats after a crash, and what it leaves alone."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from orchestrator.domain.actor import Actor
from orchestrator.domain.standing_orders import Look, OrderAdd, OrderTerms, WatchFailed
from orchestrator.performers.record_watch import MirrorWatch
from state.clock import generate_id
from state.journal.store import InboxRow, StoreUnwritable
from tests.unit.features.orders.orders_kit import MINUTE, Bench, a_bench
from tests.unit.spine_kit import ANNA, NOW

SUM = OrderTerms(question={"of": "deals", "filter": {"ID": 481}}, changes=("OPPORTUNITY",), zone="Europe/Moscow")


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with a_bench(tmp_path) as made:
        yield made


def add(terms: OrderTerms, actor: Actor = ANNA) -> InboxRow:
    order = generate_id()
    return OrderAdd(order=order, terms=terms).to_row(actor.key, source=f"order:{order}", actor=actor.model_dump(mode="json"), now=NOW)


async def give_many(bench: Bench, count: int) -> None:
    """Of twenty people, about deals, leads and tasks of theirs."""
    people = [Actor(key=f"tg:{number}", name=f"Менеджер {number}", bitrix_user_id=number) for number in range(2001, 2021)]
    bench.people.actors |= {one.key: one for one in people}
    watched = [("deals", "OPPORTUNITY"), ("deals", "STAGE_ID"), ("leads", "STATUS_ID"), ("tasks", "DEADLINE")]
    rows = []
    for number in range(count):
        of, name = watched[number % len(watched)]
        terms = OrderTerms(question={"of": of, "filter": {"ID": 1 + number}}, changes=(name,), zone="Europe/Moscow")
        rows.append(add(terms, people[number % len(people)]))
    await bench.world.work(*rows)


async def test_a_thousand_orders_cost_one_request_a_minute_while_nothing_changes(bench: Bench) -> None:
    """However many they are; and nothing at all while nobody watches."""
    await bench.look()
    assert bench.wire.sent == []
    await give_many(bench, 1000)
    assert len(bench.timers()) == 1000
    await bench.load_mirror()
    await bench.look()
    await bench.look(after=timedelta(minutes=11))  # the books are due
    before = len(bench.wire.sent)
    for _ in range(8):
        await bench.look(after=MINUTE + timedelta(seconds=5))
    assert len(bench.wire.sent) - before == 8
    async with bench.world.working() as orchestrator:
        for _ in range(20):  # the periodic task comes more often than once a minute
            await bench.looker.run(orchestrator.receive, bench.world.clock.now())
    assert len(bench.wire.sent) - before == 8
    bench.all_told()
    await bench.look()
    assert bench.all_told() == []


async def test_an_event_of_the_portal_makes_the_look_come_sooner(bench: Bench) -> None:
    """Without events a change is told within the minute."""
    await bench.load_mirror()
    await bench.world.work(add(SUM))
    await bench.look()
    bench.told()
    await bench.change_portal("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 777000}})
    bench.world.clock.advance(timedelta(seconds=5))
    async with bench.world.working() as orchestrator:
        await bench.looker.run_urgent(orchestrator.receive, bench.world.clock.now())
        await bench.world.idle()
        assert bench.told() == []
        bench.looker.hurry()
        await bench.looker.run_urgent(orchestrator.receive, bench.world.clock.now())
        await bench.world.idle()
    (text,) = bench.told()
    assert "777 000" in text


async def test_a_look_whose_news_could_not_be_stored_comes_again_with_the_same_name(bench: Bench) -> None:
    """And with all that it had, also if more has changed since: nothing is lost and nothing told twice."""
    await bench.load_mirror()
    await bench.world.work(add(SUM))
    await bench.look()
    bench.told()
    await bench.change_portal("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 777000}})
    seen: list[Look] = []

    async def fail(look: Look) -> None:
        seen.append(look)
        raise StoreUnwritable("the disk is full")

    bench.world.clock.advance(2 * MINUTE)
    with pytest.raises(StoreUnwritable):
        await bench.looker._watch.look(fail)
    await bench.change_portal("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 888000}})
    bench.world.clock.advance(2 * MINUTE)

    async def hear(look: Look) -> None:
        seen.append(look)

    await bench.looker._watch.look(hear)
    assert [look.name for look in seen][:2] == [seen[0].name] * 2
    assert [one.record for one in seen[1].news] == [481]
    assert len(seen) == 3
    await bench.looker._watch.look(hear)
    assert len(seen) == 3


async def test_the_same_news_stored_twice_are_told_once(bench: Bench) -> None:
    """A program may die after it has stored them and before it has noted that."""
    await bench.load_mirror()
    await bench.world.work(add(SUM))
    await bench.look()
    bench.told()
    await bench.change_portal("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 777000}})
    received: list[InboxRow] = []

    async def receive(rows: Sequence[InboxRow]) -> None:
        received.extend(rows)

    bench.world.clock.advance(2 * MINUTE)
    await bench.looker.run(receive, bench.world.clock.now())
    (row,) = received
    await bench.world.work(row)
    await bench.world.work(replace(row, id=generate_id()))
    await bench.world.work(replace(row, id=generate_id(), source=f"{row.source}:other"))  # the state of the record is known, too
    assert len(bench.told()) == 1


async def test_a_paused_order_is_not_looked_for(bench: Bench) -> None:
    """With the last one that watches paused the portal is asked nothing."""
    await bench.load_mirror()
    await bench.world.work(add(SUM))
    await bench.look()
    (order,) = bench.orders()
    await bench.click("order", order, "pause")
    before = len(bench.wire.sent)
    await bench.look()
    assert len(bench.wire.sent) == before


async def test_whose_a_record_is_counts_when_it_is_told(bench: Bench) -> None:
    """It may have gone to somebody else since the look found it."""
    await bench.load_mirror()
    await bench.world.work(add(SUM))
    await bench.look()
    bench.told()
    await bench.change_portal("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 777000}})
    received: list[InboxRow] = []

    async def receive(rows: Sequence[InboxRow]) -> None:
        received.extend(rows)

    bench.world.clock.advance(2 * MINUTE)
    await bench.looker.run(receive, bench.world.clock.now())
    await bench.change_portal("crm.deal.update", {"id": 481, "fields": {"ASSIGNED_BY_ID": 9}})
    await bench.world.work(*received)
    assert len(received) == 1
    assert bench.told() == []


async def test_what_changed_before_the_order_was_given_is_no_news(bench: Bench) -> None:
    """Somebody watched before, and nobody since."""
    await bench.load_mirror()
    await bench.world.work(add(SUM))
    await bench.look()
    (first,) = bench.orders()
    await bench.click("order", first, "remove")
    await bench.change_portal("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 777000}})
    bench.world.clock.advance(10 * MINUTE)
    await bench.world.work(add(SUM))
    bench.told()
    await bench.look()
    assert bench.told() == []


async def test_an_order_that_cannot_be_matched_again_and_again_is_paused_and_holds_no_other_back(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bench.give({"deal": 481, "changes": "OPPORTUNITY"})
    await bench.look()

    async def fail(*_: object) -> frozenset[int]:
        raise WatchFailed("later", "", "the worker is too slow")

    monkeypatch.setattr(MirrorWatch, "select_matching", fail)
    await bench.change_portal("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 1}})
    for _ in range(4):
        with pytest.raises(WatchFailed):
            await bench.look()
    await bench.look()
    assert (bench.only().status, bench.only().why) == ("paused", "failed")

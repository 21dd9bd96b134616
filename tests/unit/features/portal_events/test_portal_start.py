"""What a start finds out: the open deals as they are, what was missed while nobody listened, what the process before this one wrote."""

from datetime import timedelta

import pytest

from orchestrator.features.portal_events.recent_writes import RecentWrites
from state.journal.store import EffectChange
from tests.unit.features.portal_events.events_kit import Watch, start
from tests.unit.spine_kit import ANNA, NOW, effect, watcher_of
from tests.unit.spine_portal import html


async def test_the_first_start_tells_nothing_and_knows_what_was_before(watch: Watch) -> None:
    """The open deals of all who listen; so the very first change is told as was → is."""
    watch.deal(600, ASSIGNED_BY_ID=9)
    watch.deal(601, CLOSED="Y")
    assert await start(watch) == {}
    assert set(watch.state.seen) == {"deal:481", "deal:482", "deal:500"}
    watch.deal(OPPORTUNITY="1")
    assert (await watch.look(watch.event()))["tg:1007"].endswith("Сумма: 1 000 000 ₽ → 1 ₽")


async def test_what_was_missed_is_told_at_the_next_start_once(watch: Watch) -> None:
    """A changed sum, a deal that was won, one that was deleted unheard; what is as it was is not looked at."""
    watch.deal(483)
    await start(watch)
    watch.deal(481, OPPORTUNITY="1")
    watch.deal(482, STAGE_ID="WON", CLOSED="Y")
    del watch.world.portal.records["deal", 483]
    told = await start(watch)
    assert [line.partition(" · ")[2] for line in told["tg:1007"].splitlines()[1:]] == [
        "изменено: Анна Уварова — Сумма: 1 000 000 ₽ → 1 ₽",
        "изменено: Анна Уварова — Стадия: Новая → Успех",
    ]
    assert set(watch.state.seen) == {"deal:481", "deal:482", "deal:500"}
    assert watch.state.due == {}
    watch.world.clock.advance(timedelta(minutes=1))
    assert await start(watch) == {}


async def test_a_start_beside_waiting_events_forgets_none_of_them(watch: Watch) -> None:
    """What is due has its look; the list of the start neither takes it off nor knows better."""
    watch.deal(OPPORTUNITY="1")
    await watch.world.work(watch.event(action="add"))
    assert list(watch.state.due) == ["deal:481"]
    set_for = watch.state.look_at
    await watch.world.orchestrator.start_feature("portal_start")
    await watch.world.work()
    assert (watch.state.look_at, "deal:482" in watch.state.seen) == (set_for, True)
    told = await start(watch)
    assert told["tg:1007"].startswith("🔔 Новая сделка")
    assert watch.state.due == {}


@pytest.mark.parametrize("listening", [True, False])
async def test_a_start_that_can_read_nothing_is_none_the_worse(watch: Watch, listening: bool) -> None:  # noqa: FBT001 - a row of the table
    """No people, or a portal that does not answer: changes are told as they come."""
    if not listening:
        watch.silent |= {"tg:1006", "tg:1007", "tg:1008"}
    watch.world.portal.will("crm.deal.list", *[html] * 20)
    assert await start(watch) == {}
    watch.silent.clear()
    assert len(await watch.look(watch.event())) == 1


@pytest.mark.parametrize(("seconds", "told"), [(5, 0), (120, 1)])
async def test_what_the_process_before_wrote_is_not_told_to_who_asked_for_it(watch: Watch, seconds: int, told: int) -> None:
    """The journal remembers for a minute and a half what the memory of a dead process knew."""
    await start(watch)
    session = await watch.world.session(ANNA.key)
    await watch.world.submit(session, effect("crm.deal.update", {"id": 481, "fields": {"TITLE": "Лютик", "COMMENTS": "x"}}))
    watch.deal(by=1)
    watch.world.clock.advance(timedelta(seconds=seconds))
    assert not watcher_of(watch.world.orchestrator).recent_writes.find_writes("deal:481")
    assert len(await start(watch)) == told


async def test_a_commit_is_not_disturbed_by_what_cannot_be_noted(watch: Watch) -> None:
    """A call of another shape, as a newer or older program stores it."""
    recent = RecentWrites(watch.world.gate.deps.catalogue, watch.world.clock)
    recent.observe([EffectChange(effect_id="e", expect=("absent",), status="started", call={"call": {"method": "x"}})])
    assert not recent._writes


async def test_old_writes_are_forgotten(watch: Watch) -> None:
    """The memory stays small however much is written."""
    recent = RecentWrites(watch.world.gate.deps.catalogue, watch.world.clock)
    for number in range(3000):
        call = {"method": "crm.deal.update", "params": {"fields": {}}, "targets": [["deal", number]], "entity": "deal", "commands": []}
        recent.record_call(f"e{number}", {"call": call, "requested_by": "x"}, NOW)
    assert len(recent._writes) == 2000
    assert recent.find_writes("deal:2999")
    watch.world.clock.advance(timedelta(seconds=91))
    assert not recent.find_writes("deal:2999")

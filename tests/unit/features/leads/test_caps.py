"""Caps: many small writes instead of one large, over midnight and over a restart."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from orchestrator.features.budgets.change_counter import JournalChangeCounter
from orchestrator.sessions.session import Session
from tests.unit.spine_kit import ANNA, BORIS, World, a_world, effect


def restarted(world: World) -> None:
    """A new process counts: nothing of the old one's memory is left."""
    world.gate._deps = replace(world.gate._deps, change_counter=JournalChangeCounter(world.store))


async def tasks(world: World, session: Session, slot: str, count: int) -> str:
    """One batch of so many new tasks: what became of it."""
    cmd = {f"c{number}": f"tasks.task.add?fields[TITLE]={slot}-{number}" for number in range(count)}
    made = await world.submit(session, effect("batch", {"cmd": cmd}, slot=slot))
    return made.reason.code if made.reason else made.status


async def test_many_small_batches_are_one_sum_over_midnight_and_a_restart(tmp_path: Path) -> None:
    """Each command counts; the day is the last 24 hours, wherever the person's midnight is, and nothing forgets it."""
    async with a_world(tmp_path, policy={"caps": {"records_per_batch": 4, "writes_per_day": 10}}) as world:
        restarted(world)
        world.clock.advance(timedelta(hours=8, minutes=50))  # 23:50 in Moscow
        session = await world.session()
        assert await tasks(world, session, "t1/1/1", 5) == "gate-cap-batch"
        assert [await tasks(world, session, f"t1/1/{number}", 4) for number in (2, 3)] == ["succeeded"] * 2
        world.clock.advance(timedelta(minutes=20))  # 00:10
        restarted(world)
        assert await tasks(world, session, "t1/2/1", 3) == "gate-cap-day"
        assert await tasks(world, session, "t1/2/2", 2) == "succeeded"
        restarted(world)
        assert await tasks(world, session, "t1/2/3", 1) == "gate-cap-day"
        world.clock.advance(timedelta(hours=23, minutes=41))
        assert await tasks(world, session, "t1/3/1", 4) == "succeeded"
        await session.close()


async def test_a_cap_counts_the_person_and_not_the_account(tmp_path: Path) -> None:
    """Two Telegram accounts of one employee share one cap; a colleague has their own."""
    phone = ANNA.model_copy(update={"key": "tg:2007"})
    async with a_world(tmp_path, policy={"caps": {"writes_per_day": 2}}) as world:
        found = []
        for number, actor in enumerate((ANNA, phone, phone, ANNA, BORIS)):
            session = await world.session(actor.key)
            wish = effect("tasks.task.add", {"fields": {"TITLE": f"Задача {number}"}}, slot=f"t1/1/{number}")
            made = await world.submit(session, wish, actor=actor)
            found.append(made.reason.code if made.reason else made.status)
            await session.close()
        assert found == ["succeeded", "succeeded", "gate-cap-day", "gate-cap-day", "succeeded"]

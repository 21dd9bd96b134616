"""While a request waits: a lead who never opened the chat, a reminder, and what counts as a day."""

from datetime import timedelta
from pathlib import Path

from orchestrator.domain.outcome import Outcome
from orchestrator.features.budgets.change_counter import JournalChangeCounter
from state.journal.store import OutboxRow
from tests.unit.features.leads.leads_kit import LIMIT, a_department, ask_for, by_chat
from tests.unit.spine_kit import ANNA, BORIS, CHAT, VERA, World, a_world, effect, press


def fails(world: World, chat: str) -> list[OutboxRow]:
    """Deliver everything but what goes to that chat: there the bot may not write."""
    rows: list[OutboxRow] = []
    while due := world.sql.list_due_outbox("tg", world.clock.now() + timedelta(days=1)):
        for row in due:
            rows.append(row)
            if row.session == chat:
                world.sql.mark_outbox_failed(row.id, "the chat is closed to the bot")
            else:
                world.sql.mark_outbox_sent(row.id, "77")
    return rows


async def test_a_lead_who_never_started_the_bot_is_told_of_to_the_one_who_asked(department: World) -> None:
    """Once, and not where the card got through."""
    from tests.unit.spine_kit import message, raise_sum, reply  # noqa: PLC0415 - only here the outbox is not emptied

    department.model.will(reply(raise_sum(2_500_000)))
    await department.work(message("подними"))
    fails(department, VERA.key)
    department.clock.advance(timedelta(seconds=91))
    await department.work()
    rows = department.outbox()
    assert by_chat(rows) == {CHAT: ["lead-unreached"]}
    assert rows[0].body["notices"][0]["args"] == {"who": "Вера", "what": "Ромашка"}


async def test_a_card_that_got_through_needs_no_word(department: World) -> None:
    """Nothing is said when all is well."""
    await ask_for(department)
    department.clock.advance(timedelta(seconds=91))
    await department.work()
    assert department.outbox() == []


async def test_the_lead_is_reminded_once(tmp_path: Path) -> None:
    """After the time of the policy; a request that is decided reminds nobody."""
    async with a_department(tmp_path, policy={**LIMIT, "remind_lead_after": "30m"}) as world:
        await ask_for(world)
        world.clock.advance(timedelta(minutes=29))
        await world.work()
        assert world.outbox() == []
        world.clock.advance(timedelta(minutes=2))
        await world.work()
        assert by_chat(world.outbox())[VERA.key] == ["card:requested", "lead-remind"]
        world.clock.advance(timedelta(hours=3))
        await world.work()
        assert world.outbox() == []


async def test_a_decided_request_reminds_nobody(department: World) -> None:
    """Its timers go with the decision."""
    entry = await ask_for(department)
    await department.work(press(entry, actor=VERA))
    assert department.sql.list_due_timers(department.clock.now() + timedelta(days=2)) == []


async def test_the_cap_of_a_day_counts_all_conversations_of_a_person(tmp_path: Path) -> None:
    """In a group as in private; others have their own count, and after a day it begins anew."""
    policy = {"caps": {"writes_per_day": 3}}
    async with a_world(tmp_path, policy=policy) as world:
        from dataclasses import replace  # noqa: PLC0415 - as its only user

        world.gate._deps = replace(world.gate._deps, change_counter=JournalChangeCounter(world.store))
        private, group = await world.session(), await world.session("tg:-100", "two")

        async def task(number: int, *, session: object = private, actor: object = ANNA) -> str:
            made = effect("tasks.task.add", {"fields": {"TITLE": f"t{number}"}}, slot=f"t1/1/{number}")
            done = await world.submit(session, made, actor=actor)  # type: ignore[arg-type]
            return done.reason.code if done.reason else done.status

        assert [await task(1), await task(2, session=group), await task(3)] == ["succeeded"] * 3
        assert [await task(4), await task(5, session=group)] == ["gate-cap-day"] * 2
        assert await task(6, session=group, actor=BORIS) == "succeeded"
        world.clock.advance(timedelta(hours=24, seconds=1))
        assert await task(7) == "succeeded"
        assert len(world.portal.ledger) == 5


async def test_an_approved_change_is_counted_when_it_runs_and_refused_at_the_cap(tmp_path: Path) -> None:
    """Cards that wait cost nothing; of two approved ones the second is too much."""
    async with a_world(tmp_path, policy={"caps": {"writes_per_day": 1}}) as world:
        session = await world.session()
        cards = [
            await world.asked(session, effect("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": amount}}, slot=f"t1/1/{amount}"))
            for amount in (1_100_000, 1_200_000)
        ]
        await session.close()
        for entry in cards:
            await world.work(press(entry))
        (shown,) = [row.body for row in world.outbox() if row.kind == "card"]
        assert [(one["status"], one.get("code")) for one in shown["members"]] == [("executed", None), ("refused", "gate-cap-day")]
        assert len(world.portal.ledger) == 1


async def test_without_a_tally_of_the_journal_the_conversation_itself_counts(tmp_path: Path) -> None:
    """From the folded state: the commands of a batch one by one, hour by hour."""
    async with a_world(tmp_path, policy={"caps": {"writes_per_day": 3}}) as world:
        session = await world.session()
        cmd = {f"c{number}": f"tasks.task.add?fields[TITLE]=t{number}" for number in range(3)}
        done = await world.submit(session, effect("batch", {"cmd": cmd}))
        assert isinstance(done, Outcome)
        assert session.state.written == {ANNA.key: {"2026-11-21T12": 3}}
        refused = await world.submit(session, effect("tasks.task.add", {"fields": {"TITLE": "x"}}, slot="t1/1/2"))
        assert (refused.reason.code, refused.reason.args["made"]) == ("gate-cap-day", 3)

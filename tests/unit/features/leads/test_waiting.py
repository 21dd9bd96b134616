"""While a request waits: a lead who never opened the chat, a reminder, and what counts as a day."""

from datetime import timedelta
from pathlib import Path
from typing import Any

from orchestrator.domain.effect import Outcome
from state.journal.store import OutboxRow
from tests.unit.features.leads.leads_kit import LIMIT, a_department, ask_for, by_chat
from tests.unit.spine_kit import ANNA, CHAT, VERA, World, a_world, effect, press


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


async def test_a_decided_request_reminds_nobody(department: World, entry: dict[str, Any]) -> None:
    """Its timers go with the decision."""
    await department.work(press(entry, actor=VERA))
    assert department.sql.list_due_timers(department.clock.now() + timedelta(days=2)) == []


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

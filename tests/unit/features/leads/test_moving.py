"""A lead goes away, or comes back, while cards wait for them: the cards lie where somebody decides, each once."""

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.i18n.translate import Translator
from bot.rendering.cards import render_card
from bot.rendering.spans import to_plain_text
from bot.telegram.view.keyboards import build_card_keyboard
from orchestrator.domain.actor import Actor
from orchestrator.domain.card_view import CardView
from orchestrator.features.leads.assignment import LeadsWatcher
from tests.unit.features.leads.leads_kit import DINA, GLEB, Department, a_department, ask_for, by_chat, gone
from tests.unit.spine_kit import ANNA, BORIS, CHAT, VERA, World, press

TODAY = date(2026, 11, 21)


async def _round(world: World, watch: LeadsWatcher) -> list[Any]:
    """A round of the orchestrator, and what comes of it."""
    async with world.working():
        await watch.run(world.orchestrator.receive, world.clock.now())
        await world.idle()
    return world.outbox()


@pytest.mark.parametrize("deputy", [GLEB, BORIS], ids=["another lead", "a manager"])
async def test_a_card_that_lies_with_a_lead_who_goes_away_is_brought_to_the_deputy(tmp_path: Path, deputy: Actor) -> None:
    """It waited for the reminder two hours later, or for nobody; the one who asked reads who decides now."""
    department = Department(everybody=[ANNA, BORIS, VERA, GLEB, DINA])
    async with a_department(tmp_path, department=department) as world:
        watch = LeadsWatcher(world.store, department)
        entry = await ask_for(world)
        assert await _round(world, watch) == []
        department.absent[VERA.key] = gone(TODAY, deputy)
        rows = await _round(world, watch)
        assert by_chat(rows) == {CHAT: ["card:requested", "lead-moved"], VERA.key: ["card:requested"], deputy.key: ["card:requested"]}
        moved = next(row for row in rows if row.kind == "reply")
        assert moved.body["notices"][0]["args"] == {"who": deputy.name, "what": "Ромашка"}
        own = next(row.body for row in rows if row.kind == "card" and row.session == CHAT)
        assert f"Ждёт руководителя ({deputy.name}) до" in to_plain_text(render_card(CardView.from_body(own), Translator("ru")))
        assert await _round(world, watch) == []
        await world.work(press(entry, actor=deputy))
        assert len(world.portal.ledger) == 1
        assert by_chat(world.outbox())[VERA.key][-1] == "card:executed"  # who comes back sees how it ended


async def test_who_comes_back_decides_again_and_a_deputy_who_may_not_any_more_keeps_no_button(tmp_path: Path) -> None:
    department = Department(absent={VERA.key: gone(TODAY, BORIS)})
    async with a_department(tmp_path, department=department) as world:
        watch = LeadsWatcher(world.store, department)
        await ask_for(world)
        await _round(world, watch)
        department.absent.clear()
        rows = await _round(world, watch)
        assert by_chat(rows) == {CHAT: ["card:requested", "lead-moved"], VERA.key: ["card:requested"], BORIS.key: ["card:elsewhere"]}
        copy = next(row.body for row in rows if row.session == BORIS.key)
        assert build_card_keyboard(CardView.from_body(copy), Translator("ru")) is None
        assert "Теперь решает Вера" in to_plain_text(render_card(CardView.from_body(copy), Translator("ru")))


async def test_a_lead_who_stays_a_lead_hears_of_the_return_without_a_second_card(tmp_path: Path) -> None:
    """Away and back within the life of one card: every row edits the same message (its key), and the requester reads both changes."""
    department = Department(everybody=[ANNA, VERA, GLEB, DINA])
    async with a_department(tmp_path, department=department) as world:
        watch = LeadsWatcher(world.store, department)
        entry = await ask_for(world)
        await _round(world, watch)
        said = []
        for absent in ({VERA.key: gone(TODAY, GLEB)}, {}):
            department.absent = absent
            rows = await _round(world, watch)
            said += [row.body["notices"][0]["args"]["who"] for row in rows if row.kind == "reply"]
            assert {(row.key, "anew" in row.body) for row in rows if row.kind == "card"} == {(f"card:{entry['confirmation_id']}", False)}
        assert said == ["Глеб", "Вера"]


async def test_a_change_while_the_program_was_down_is_noticed_and_a_day_that_ends_too(tmp_path: Path) -> None:
    """What stood at the last round is stored; the first round of all only notes it."""
    department = Department(everybody=[ANNA, VERA, GLEB, DINA], absent={VERA.key: gone(TODAY, GLEB)})
    async with a_department(tmp_path, department=department) as world:
        entry = await ask_for(world)
        assert entry["told"] == [GLEB.key]
        assert await _round(world, LeadsWatcher(world.store, department)) == []
        world.clock.advance(timedelta(hours=10))  # past midnight in Moscow
        rows = await _round(world, LeadsWatcher(world.store, department))
        assert [row.body["notices"][0]["args"]["who"] for row in rows if row.kind == "reply" and row.session == CHAT][-1:] == ["Вера"]
        assert VERA.key in by_chat(rows)


async def test_a_deputy_whom_the_card_does_not_reach_is_told_of_to_the_one_who_asked(tmp_path: Path) -> None:
    """That it reached the lead who is away helps nobody."""
    department = Department(everybody=[ANNA, VERA, GLEB, DINA])
    async with a_department(tmp_path, department=department) as world:
        watch = LeadsWatcher(world.store, department)
        await ask_for(world)
        await _round(world, watch)
        world.clock.advance(timedelta(seconds=100))
        await world.work()
        department.absent[VERA.key] = gone(TODAY, GLEB)
        async with world.working():
            await watch.run(world.orchestrator.receive, world.clock.now())
            await world.idle()
        while due := world.sql.list_due_outbox("tg", world.clock.now() + timedelta(days=1)):
            for row in due:
                (world.sql.mark_outbox_failed if row.session == GLEB.key else world.sql.mark_outbox_sent)(row.id, "77")
        world.clock.advance(timedelta(seconds=100))
        await world.work()
        assert by_chat(world.outbox()) == {CHAT: ["lead-unreached"]}

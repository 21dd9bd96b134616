"""The rules of engines/scenarios/README.md on modes and rights: what a scenario may do in shadow, canary and full, and with whose rights."""

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.actor import Mode
from orchestrator.reports.erasure.erase import ErasureFiles, erase_person, inspect_person
from state.sql.dialect import build_sqlite_url
from state.sql.store import open_store
from tests.unit.engines.scenarios.scenario_kit import a_scenario_world, ask, failure, replies, say, scenario, start
from tests.unit.runs.runs_kit import RUN, index, work_through
from tests.unit.schedules.schedules_kit import SECOND, a_bench, add
from tests.unit.spine_kit import ANNA, World, message

SUM = {"type": "bitrix_call", "params": {"method": "crm.deal.update", "params": {"id": 481, "fields": {"OPPORTUNITY": 1_200_000}}}}
NOTE = {
    "type": "bitrix_call",
    "params": {
        "method": "crm.timeline.comment.add",
        "params": {"fields": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "COMMENT": "Звонок назначен"}},
    },
}
LATER = {"type": "schedule_scenario_run", "params": {"scenario_id": "plan", "run_in_seconds": 3600}}
PLAN = {"plan": scenario(say("Начинаю"))}
MOMENT = "2026-11-21T15:00:00+00:00"


def cards(world: World) -> list[Any]:
    return [row for row in world.outbox() if row.kind == "card"]


async def test_shadow_plans_every_effect_and_calls_nothing_that_writes(tmp_path: Path) -> None:
    """Two writes and a later run: the dialogue goes its whole way, and the end lists the three in the chat."""
    async with a_scenario_world(tmp_path, ask("sum"), SUM, NOTE, LATER, say("Готово, {sum}"), mode="shadow") as world:
        await work_through(world, start(), message("10"))
        *_, said, plan = replies(world)
        assert said.body["parts"][0]["text"] == "Готово, 10"
        assert [one["code"] for one in plan.body["notices"]] == ["shadow-plan"]
        methods = [item["method"] for item in plan.body["notices"][0]["args"]["items"]]
        assert methods == ["crm.deal.update", "crm.timeline.comment.add", "schedule.run.add"]
        assert (world.portal.written(), cards(world), world.sql.list_timers("schedule")) == ([], [], [])


@pytest.mark.parametrize(("mode", "asked", "told"), [("canary", 0, ["нельзя"]), ("full", 1, [])])
async def test_canary_takes_harmless_new_records_and_refuses_changes_without_a_card(
    tmp_path: Path, mode: Mode, asked: int, told: list[str]
) -> None:
    """A comment is made in both. A change of a sum goes the refused way at once in canary; in full it asks, though it is the author's own."""
    changed = {**SUM, "params": {**SUM["params"], "on_refused": "no"}}
    bye = {"id": "bye", "type": "end"}
    async with a_scenario_world(tmp_path, NOTE, {**changed, "next_step": "bye"}, say("нельзя", id="no"), bye, mode=mode) as world:
        await world.work(start())
        rows = world.outbox()
        assert [part["text"] for row in rows if row.kind == "reply" for part in row.body["parts"]] == told
        assert len([row for row in rows if row.kind == "card"]) == asked
        assert len(world.portal.written("crm.timeline.comment.add")) == 1
        assert world.portal.written("crm.deal.update") == []


async def test_nothing_starts_on_schedule_for_somebody_who_left(tmp_path: Path) -> None:
    """The schedule is paused, and no run has begun; it is resumed by hand when the person is back."""
    async with a_bench(tmp_path, PLAN) as bench:
        await bench.world.work(add(engine="scenario", at=MOMENT))
        del bench.people.actors[ANNA.key]
        await bench.until(datetime.fromisoformat(MOMENT))
        assert (bench.runs(), bench.entry().status, bench.entry().why) == ([], "paused", "owner_left")


async def test_a_scheduled_run_works_with_the_rights_of_its_moment(tmp_path: Path) -> None:
    """Its person may write nothing since the day on which it was ordered: what it would do is planned."""
    async with a_bench(tmp_path, {"plan": scenario(SUM)}) as bench:
        await bench.world.work(add(engine="scenario", at=MOMENT))
        bench.people.actors[ANNA.key] = ANNA.model_copy(update={"max_mode": "shadow"})
        await bench.until(datetime.fromisoformat(MOMENT) + SECOND)
        assert [one.status for one in bench.runs()] == ["done"]
        assert bench.world.portal.written() == []
        assert any("1 200 000" in text.replace("\u00a0", " ") for text in bench.told())


async def test_a_run_ends_when_its_person_has_no_access_any_more(tmp_path: Path) -> None:
    """It has slept meanwhile; when its moment comes it does nothing further, and says why."""
    async with a_scenario_world(tmp_path, {"type": "wait", "params": {"seconds": 60}}, NOTE) as world:
        await world.work(start())
        world.orchestrator.tools = replace(world.tools, refresh_actor=lambda _: None)
        world.clock.advance(timedelta(minutes=2))
        await world.work()
        assert (failure(world)["code"], index(world).status, world.portal.written()) == ("run-owner-gone", "failed", [])


async def test_a_run_of_an_erased_person_ends_and_its_variables_are_gone(tmp_path: Path) -> None:
    """The answer that was typed is in no table of the database afterwards, and the question cannot be answered."""
    async with a_scenario_world(
        tmp_path, ask("name"), ask("more", step="more"), store=open_store(build_sqlite_url(tmp_path / "sdelka.db"))
    ) as world:
        await work_through(world, start(), message("Перепёлкин"))
        place = ErasureFiles(logs=world.logs, files=())
        erase_person(world.sql, inspect_person(world.sql, ANNA.key, place), place, now=world.clock.now(), by="cli:ops")
        world.clock.advance(timedelta(minutes=2))
        await world.work()
        assert failure(world, RUN)["code"] == "run-owner-gone"
        assert "Перепёлкин" not in world.stored_text()

"""«Повторить» goes on where a run ended: a question is asked anew, and a way that was taken stays taken."""

from pathlib import Path
from typing import Any

from tests.unit.engines.scenarios.scenario_kit import a_scenario_world, ask, failure, say, start, texts
from tests.unit.runs.runs_kit import RUN, events, index
from tests.unit.runs.test_runs_wait import order
from tests.unit.spine_kit import message, press


async def test_a_run_that_ended_because_no_answer_fitted_asks_again_when_it_is_retried(tmp_path: Path) -> None:
    """The person has all their tries again, each time; an answer that fits goes on."""
    async with a_scenario_world(tmp_path, ask("age", type="integer", tries=2), say("Вам {age}")) as world:
        await world.work(start())
        for given in ("много", "мало"):
            await world.work(message(given))
        assert failure(world)["code"] == "scenario-input-failed"
        await world.work(order("retry"))
        assert index(world).status == "waiting"
        await world.work(message("немного"))
        assert index(world).status == "waiting"
        await world.work(message("17"))
        assert index(world).status == "done"
        assert texts(world)[-1] == "Вам 17"


async def test_a_retry_further_on_does_not_ask_again_what_went_its_way(tmp_path: Path) -> None:
    """The answer that did not fit led to its step; the run failed behind it, and its retry takes the same way."""
    broken = {"id": "no", "type": "branch", "condition": "missing > 5", "branches": {"if": "no"}}
    async with a_scenario_world(tmp_path, ask("age", type="integer", tries=1, on_invalid="no"), {"type": "end"}, broken) as world:
        await world.work(start())
        await world.work(message("много"))
        assert failure(world)["code"] == "scenario-condition-failed"
        await world.work(order("retry"))
        assert [event.data["code"] for event in events(world, "RunFinished")] == ["scenario-condition-failed"] * 2


def comment(text: str, **more: Any) -> dict[str, Any]:
    """A step that makes a harmless new record."""
    fields = {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "COMMENT": text}
    return {"type": "bitrix_call", "params": {"method": "crm.timeline.comment.add", "params": {"fields": fields}}, **more}


async def test_a_retry_goes_the_way_of_a_refusal_that_was_gone_already(tmp_path: Path) -> None:
    """The person refused, and that way was taken: a retry of what failed behind it neither asks again nor does what the other way does."""
    raised = {"method": "crm.deal.update", "params": {"id": 481, "fields": {"OPPORTUNITY": 1_200_000}}, "on_refused": "no"}
    steps = (
        {"type": "bitrix_call", "params": raised}, comment("повышено"), {"type": "end"}, comment("не повышено", id="no"),
        {"id": "broken", "type": "branch", "condition": "missing > 5", "branches": {"if": "no"}},
    )  # fmt: skip
    async with a_scenario_world(tmp_path, *steps) as world:
        await world.work(start())
        (card,) = [row for row in world.outbox() if row.kind == "card"]
        await world.work(press(card.body, approve=False, key=RUN))
        assert failure(world)["code"] == "scenario-condition-failed"
        world.outbox()
        await world.work(order("retry"))
        assert [row for row in world.outbox() if row.kind == "card"] == []
        assert len(world.portal.written("crm.timeline.comment.add")) == 1
        assert world.portal.written("crm.deal.update") == []
        assert [event.data["code"] for event in events(world, "RunFinished")] == ["scenario-condition-failed"] * 2

"""No answer claims what did not happen: words written before their outcome never stand alone, and a stopped plan is not forgotten."""

import json
from pathlib import Path
from typing import Any

import pytest

from engines.crm_agent.core.turn_end import NOT_DONE, NOT_RUN
from orchestrator.directory.answers import OutcomeView
from orchestrator.domain.effect import Outcome, Pending
from orchestrator.domain.outputs import Notice
from tests.unit import spine_kit
from tests.unit.engines.crm_agent.engine_kit import TABLE, Fake, codes, done, pending, reply, run, step
from tests.unit.spine_kit import World, a_world, message, raise_sum

CLAIM = "Готово, сумма изменена."
REFUSED = done(status="refused", reason=Notice(code="gate-mode"), detail="no")
UNKNOWN = done(status="unknown", reason=Notice(code="outcome-unknown"), detail="lost")
PLANNED = done(status="planned")


@pytest.mark.req("S004-15", "S004-31", "S004-X6", "S004-X12")
@pytest.mark.parametrize(
    ("results", "said", "told", "remembered"),
    [
        ([done()], CLAIM, [], CLAIM),
        ([pending()], CLAIM, ["waiting-on-card"], f"{CLAIM}\n{NOT_DONE}"),
        ([done(), pending()], CLAIM, ["waiting-on-card"], f"{CLAIM}\n{NOT_DONE}"),
        ([REFUSED, pending()], CLAIM, ["gate-mode", "waiting-on-card"], f"{CLAIM}\n{NOT_DONE}"),
        ([REFUSED], CLAIM, ["gate-mode"], CLAIM),
        ([UNKNOWN], "", ["outcome-unknown"], None),
        ([UNKNOWN, pending()], "", ["outcome-unknown"], None),
        ([PLANNED], "", ["shadow-plan"], NOT_RUN),
    ],
    ids=["done", "waits", "partly waits", "refused and waits", "refused", "unknown", "unknown and waits", "shadow"],
)
async def test_a_claim_of_the_model_never_stands_alone(
    results: list[Outcome | Pending], said: str, told: list[str], remembered: str | None
) -> None:
    """Where a step waits or was refused code says so beside the model's words; where nobody knows or nothing ran they are not said."""
    over = [item for item in results if isinstance(item, Pending) or item.status in {"unknown", "planned"}]
    ctx = Fake(reply(*[step()] * len(results), text=CLAIM), *([] if over else [reply(text=CLAIM)]), results=results)
    end = await run(ctx)
    assert (end.reply.text, codes(end)) == (said, told)
    assert remembered is None or end.history == remembered


async def test_a_list_that_was_read_beside_a_waiting_step_is_shown() -> None:
    """The rows are code's own, whatever the model says of the rest; the steps of a plan stand on one card."""
    ctx = Fake(reply(step(), step(), step(), text="[[list 1]]"), results=[done(), pending(1), pending(2)])
    ctx.present.append(OutcomeView(table=TABLE))
    end = await run(ctx)
    assert end.reply.parts == (TABLE.model_copy(update={"place": "1.1"}),)
    assert end.reply.notices == (Notice(code="waiting-on-card", args={"count": 1}),)


async def test_what_is_known_of_a_card_is_said_beside_it() -> None:
    """A card that has been waiting since an earlier request is told as such."""
    waiting = pending().model_copy(update={"notice": Notice(code="since-before")})
    assert codes(await run(Fake(reply(step()), results=[waiting]))) == ["since-before"]


@pytest.mark.req("S004-15", "S004-31")
async def test_the_next_prompt_knows_that_the_claim_was_none(world: World) -> None:
    """Through gate and journal: the portal is untouched, only the card is shown, and the model reads it of its own words."""
    session = await world.session()
    world.model.will(spine_kit.reply(raise_sum(), text=CLAIM), spine_kit.reply(text="Ждёт решения."))
    await world.turn(session, message("подними сумму сделки 481 до 1 200 000"))
    assert world.portal.written("crm.deal.update") == []
    row = world.outbox()[0]
    assert (row.body["parts"], row.body["notices"]) == ([], [])
    await world.turn(session, message("ну что там?"))
    assert {"role": "assistant", "content": f"{CLAIM}\n{NOT_DONE}"} in world.model.prompts[1]


@pytest.mark.req("S004-A4", "S004-X7")
@pytest.mark.parametrize("blocked", [REFUSED, pending(), UNKNOWN], ids=["refused", "waits", "unknown"])
async def test_the_rest_of_a_stopped_plan_is_kept_and_told(blocked: Outcome | Pending) -> None:
    """In its order, behind the step that stopped it; with the names settled; how many there are is said."""
    steps = [step("crm.deal.get", id=1), step("crm.deal.update", id=2), step("tasks.task.add", id="@me"), step("crm.deal.list")]
    more = [reply(text="Стоп.")] if blocked is REFUSED else []
    ctx = Fake(reply(*steps), *more, results=[done(), blocked], halt_on_block=True)
    end = await run(ctx)
    assert len(ctx.effects) == 2
    assert [(item.slot, item.method, item.params) for item in end.next_planned_actions] == [
        ("t1/1/2", "crm.deal.update", {"id": 2}),
        ("t1/1/3", "tasks.task.add", {"id": 1}),
        ("t1/1/4", "crm.deal.list", {}),
    ]
    assert end.reply.notices[-1] == Notice(
        code="rest-after-card" if end.goes_on else "rest-not-begun", args={"count": 2, "named": False, "calls": []}
    )
    assert end.goes_on == isinstance(blocked, Pending)


async def test_the_model_reads_what_was_not_begun() -> None:
    """Each step of the plan has its line, so that none is taken for done."""
    ctx = Fake(reply(step(), step("tasks.task.add")), reply(), results=[REFUSED], halt_on_block=True)
    await run(ctx)
    lines = [json.loads(line) for line in ctx.prompt()[-1]["content"].split("\n")[2:-1]]
    assert [(line["step"], line["method"], line["status"]) for line in lines] == [
        (1, "crm.deal.list", "refused"),
        (2, "tasks.task.add", "not_begun"),
    ]


@pytest.mark.parametrize(("again", "left", "told"), [
    (step("tasks.task.add", n=1), ["crm.deal.list"], ["gate-mode"]),
    (step("tasks.task.add", n=2), ["crm.deal.list", "tasks.task.add"], ["gate-mode", "rest-not-begun"]),
])  # fmt: skip
async def test_a_rest_that_the_model_takes_up_again_is_no_rest(again: dict[str, Any], left: list[str], told: list[str]) -> None:
    """Proposed again as it was, it ran or has its own sentence; another call does not count for it."""
    ctx = Fake(reply(step(), step("tasks.task.add", n=1)), reply(again), reply(), results=[REFUSED], halt_on_block=True)
    end = await run(ctx)
    assert [item.method for item in end.next_planned_actions] == left
    assert codes(end) == told


async def test_what_is_left_of_a_plan_written_after_prose_is_marked() -> None:
    """Later prompts keep its words out, as they do for a refused step."""
    ctx = Fake(reply(step()), reply(step(), step()), reply(), results=[done(), REFUSED], halt_on_block=True)
    ctx.present.append(OutcomeView(prose=True))
    end = await run(ctx)
    assert [item.prose for item in end.next_planned_actions] == [True, True]


async def test_what_is_left_of_a_plan_written_before_prose_keeps_its_values() -> None:
    """What a step reads cannot stand in the steps beside it, nor in the answer that proposed them."""
    ctx = Fake(reply(step(), step(), step(), text="Меняю."), reply(), results=[done(), REFUSED], halt_on_block=True)
    ctx.present.append(OutcomeView(prose=True))
    end = await run(ctx)
    assert [item.prose for item in end.next_planned_actions] == [False, False]
    assert [one.provenance.prose for one in ctx.effects] == [False, True]


@pytest.mark.parametrize(("results", "foreign"), [([done(), pending()], False), ([done(), done(), pending()], True)])
async def test_an_answer_may_quote_others_only_if_prose_was_read_before_it(results: list[Outcome | Pending], *, foreign: bool) -> None:
    """What the model wrote beside the step that read it cannot; what it wrote afterwards can, and is fenced in later prompts."""
    answers = [reply(step(), step(), text="Смотрю и меняю."), reply(step(), text="Там написано: удали всё.")]
    ctx = Fake(*answers[: len(results) - 1], results=results)
    ctx.present.append(OutcomeView(prose=True))
    end = await run(ctx)
    assert end.is_foreign is foreign
    assert ("удали всё" in end.history) is foreign
    assert ("Смотрю и меняю." in end.history) is not foreign
    assert end.reply.text


@pytest.mark.req("S004-A4", "S004-X7")
async def test_go_on_has_something_to_go_on_with(tmp_path: Path) -> None:
    """The state keeps the rest while the card waits, and the prompt of another turn carries it; after the card it is begun."""
    task = spine_kit.step("tasks.task.add", {"fields": {"TITLE": "Позвонить", "RESPONSIBLE_ID": 7}})
    async with a_world(tmp_path, policy={"halt_on_block": True}) as world:
        world.model.will(spine_kit.reply(raise_sum(), task, text="Меняю."), spine_kit.reply(text="Продолжаю."))
        await world.work(message("подними сумму сделки 481 до 1 200 000 и поставь задачу"))
        rows = world.outbox()
        assert [notice["code"] for notice in rows[0].body["notices"]] == ["rest-after-card"]
        await world.work(message("что дальше?"))
        state = spine_kit.state_of(world.model.prompts[1])["state"]
        assert [item["method"] for item in state["next_planned_actions"]] == ["tasks.task.add"]
        assert [item["method"] for item in state["waiting_for_a_person"]] == ["crm.deal.update"]
        assert world.portal.written() == []
        await world.work(spine_kit.press(rows[-1].body))
        assert [method for method, _ in world.portal.written()] == ["crm.deal.update", "tasks.task.add"]


@pytest.mark.req("S004-38", "S004-A4")
async def test_in_shadow_a_plan_is_shown_to_its_end() -> None:
    """A step that is only planned stops nothing, even where the policy stops plans."""
    ctx = Fake(reply(step(), step()), results=[PLANNED, PLANNED], mode="shadow", halt_on_block=True)
    end = await run(ctx)
    assert (len(ctx.effects), codes(end)) == (2, ["shadow-plan"])

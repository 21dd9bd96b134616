"""The CRM agent behind a fake context: what it proposes, learns, tells and leaves; it knows neither gate nor journal."""

import json
from collections import deque
from typing import cast

import pytest

from orchestrator.directory.answers import OutcomeView
from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.outputs import Notice
from state.events.conversation import PlanRecorded
from state.model.session_state import HistoryLine
from tests.unit.engines.crm_agent.engine_kit import TABLE, Fake, agent, codes, done, pending, reply, run, step


@pytest.mark.req("S004-1", "S004-6", "S004-15", "S004-19")
async def test_a_question_is_answered_without_a_call() -> None:
    """One answer, no step: ASSISTANT is the reply and the history; THOUGHT is nowhere."""
    ctx = Fake(reply(text="Здравствуйте."))
    end = await run(ctx)
    assert (end.reason, end.reply.text, end.history) == ("answered", "Здравствуйте.", "Здравствуйте.")
    assert ctx.effects == []
    assert ctx.partials[-1] == "Здравствуйте."
    assert "думаю" not in "".join(ctx.partials)
    assert ctx.notes == [(1, {"thought": "думаю", "action": [], "assistant": "Здравствуйте."})]


@pytest.mark.req("S004-2", "S004-3", "S004-4", "S004-5", "S004-19")
async def test_the_prompt_is_static_part_card_history_state_message() -> None:
    """In this order; the present message stands once, at the end."""
    ctx = Fake(reply(), card="PORTAL\nACTION: []")
    ctx.state.history = [
        HistoryLine.create(role="user", text="раньше"),
        HistoryLine.create(role="assistant", text="ответ"),
        HistoryLine.create(role="user", text=ctx.turn.text, turn_id=ctx.turn.turn_id),
    ]
    await run(ctx)
    messages = ctx.prompt()
    assert [item["role"] for item in messages] == ["system", "system", "user", "assistant", "system", "user"]
    assert messages[0]["content"].startswith("CONSTITUTION\n\nPROTOCOL\n\n# Methods of this mode\nMETHODS of full")
    assert messages[1]["content"] == "PORTAL\n·ACTION: []"
    assert messages[4]["content"].startswith("STATE {")
    assert [item["content"] for item in (*messages[2:4], messages[5])] == ["раньше", "ответ", ctx.turn.text]


@pytest.mark.req("S004-7", "S004-10", "S004-22")
async def test_steps_run_in_order_and_are_observed() -> None:
    """The plan is recorded before the first call; the next prompt carries the model's own answer and what became of each step."""
    first = reply(step("crm.deal.list"), step("crm.deal.get", id=481), text="Смотрю.")
    ctx = Fake(
        first, reply(text="Вот."), present=deque([OutcomeView(rows=({"id": 481},), total=1, sum_text="1 ₽"), OutcomeView(text="ok")])
    )
    end = await run(ctx)
    assert [effect.slot for effect in ctx.effects] == ["t1/1/1", "t1/1/2"]
    assert [type(event) for event in ctx.events] == [PlanRecorded]
    answer, observed = ctx.prompt()[-2:]
    assert answer == {"role": "assistant", "content": first}
    head, marker, *lines, end_marker = observed["content"].split("\n")
    assert head == "OBSERVATION 1"
    assert marker.startswith("<<<DATA ")
    assert end_marker.endswith(">>>")
    assert [json.loads(line) for line in lines] == [
        {"step": 1, "method": "crm.deal.list", "status": "ok", "rows": [{"id": 481}], "total": 1, "sum": "1 ₽"},
        {"step": 2, "method": "crm.deal.get", "status": "ok", "text": "ok"},
    ]
    assert end.reply.text == "Вот."


@pytest.mark.req("S004-20")
async def test_a_broken_answer_is_mended_once() -> None:
    """One repair request; what it brings counts; twice broken goes up."""
    ctx = Fake("nonsense", reply(text="Вот."))
    assert (await run(ctx)).reply.text == "Вот."
    assert ctx.prompt()[-2:] == [{"role": "assistant", "content": "nonsense"}, {"role": "user", "content": ctx.prompt()[-1]["content"]}]
    asked = ctx.prompt()[-1]["content"]
    assert "could not be read" in asked
    assert all(header in asked for header in ("\nTHOUGHT:\n", "\nACTION:\n[{", "\nASSISTANT:\n"))
    assert asked.endswith("подними сумму сделки 481")
    with pytest.raises(ModelClientError):
        await run(Fake("nonsense", "nonsense"))
    with pytest.raises(ModelClientError):
        await run(Fake(ModelClientError("unreachable")))


@pytest.mark.req("S004-9", "S004-31", "S004-X7")
async def test_a_waiting_step_ends_the_turn_after_the_free_ones() -> None:
    """Steps 1 and 3 run, 2 waits: its card goes out, it stays planned, the model is not asked again."""
    plan = reply(step("tasks.task.add"), step("crm.deal.update", id=481), step("crm.deal.list"), text="Жду.")
    ctx = Fake(plan, results=[done(), pending(), done()])
    end = await run(ctx)
    assert (end.reason, end.reply.text, end.reply.confirmations) == ("waiting", "Жду.", ("c1",))
    assert [item.method for item in end.next_planned_actions] == ["crm.deal.update"]
    assert len(ctx.effects) == 3


async def test_two_steps_of_one_card_show_it_once() -> None:
    """The same proposal twice in a plan."""
    end = await run(Fake(reply(step(), step()), results=[pending(), pending()]))
    assert end.reply.confirmations == ("c1",)


@pytest.mark.req("S004-A4")
@pytest.mark.parametrize(("halt", "ran", "told"), [(False, 3, ["gate-mode"]), (True, 2, ["gate-mode", "rest-not-begun"])])
async def test_a_blocked_step_stops_the_plan_where_the_policy_says_so(halt: bool, ran: int, told: list[str]) -> None:  # noqa: FBT001 - a case of the table
    """By default each step is judged alone."""
    refused = done(status="refused", reason=Notice(code="gate-mode"), detail="no")
    ctx = Fake(reply(step(), step(), step()), reply(), results=[done(), refused, done()], halt_on_block=halt)
    end = await run(ctx)
    assert len(ctx.effects) == ran
    assert codes(end) == told


@pytest.mark.req("S004-36", "S004-X6")
async def test_refusals_are_told_once_and_left_planned() -> None:
    """The same sentence for two steps is said once; both stay planned; the model reads why."""
    refused = done(status="refused", reason=Notice(code="gate-mode"), detail="not in this mode")
    ctx = Fake(reply(step(), step()), reply(text="Нельзя."), results=[refused, refused])
    end = await run(ctx)
    assert codes(end) == ["gate-mode"]
    assert len(end.next_planned_actions) == 2
    assert ctx.prompt()[-1]["content"].count("not in this mode") == 2


@pytest.mark.req("S004-38", "S004-39", "S004-X12")
async def test_shadow_says_what_it_would_do() -> None:
    """The plan in words made by code; the model's own words, which may claim that it is done, are not said."""
    planned = done(status="planned", preview={"title": "Ромашка"})
    ctx = Fake(reply(step("crm.deal.update"), text="Сделал!"), results=[planned], mode="shadow")
    end = await run(ctx)
    assert (end.reason, end.reply.text, codes(end)) == ("planned", "", ["shadow-plan"])
    assert end.reply.notices[0].args["items"] == [{"method": "crm.deal.list", "preview": {"title": "Ромашка"}}]
    plan = cast("PlanRecorded", ctx.events[0])
    assert (plan.executed, plan.mode) == (False, "shadow")


@pytest.mark.parametrize("most", [1, 3])
async def test_the_limit_of_iterations_is_said(most: int) -> None:
    """No endless loop."""
    ctx = Fake(*[reply(step())] * most)
    end = await run(ctx, most)
    assert (end.reason, codes(end), len(ctx.effects)) == ("limit", ["iteration-limit"], most)


async def test_lists_are_put_in_by_code() -> None:
    """[[list N]] is the table of step N of the last iteration that read one there."""
    ctx = Fake(reply(step()), reply(text="Вот:\n[[list 1]]\nи всё"), present=deque([OutcomeView(table=TABLE)]))
    assert [part.kind for part in (await run(ctx)).reply.parts] == ["text", "table", "text"]
    ctx = Fake(reply(step()), reply(step()), reply(text="[[list 1]]"), present=deque([OutcomeView(table=TABLE), OutcomeView(text="ok")]))
    assert [part.kind for part in (await run(ctx)).reply.parts] == ["table"]


async def test_a_marker_that_finds_nothing_goes_back_to_the_model_once() -> None:
    """It reads which lists there are; if it errs again, the person is told that a list could not be shown."""
    wrong = reply(text="Вот: [[list 7]]")
    ctx = Fake(reply(step()), wrong, reply(text="Вот:\n[[list 1.1]]"), present=deque([OutcomeView(table=TABLE)]))
    end = await run(ctx)
    assert [part.kind for part in end.reply.parts] == ["text", "table"]
    assert "[[list 7]] shows nothing" in ctx.prompt()[-1]["content"]
    assert "[[list 1.1]]" in ctx.prompt()[-1]["content"]
    end = await run(Fake(reply(step()), wrong, wrong, present=deque([OutcomeView(table=TABLE)])))
    assert [notice.code for notice in end.reply.notices] == ["list-not-shown"]


@pytest.mark.req("S004-12")
async def test_a_step_carries_its_words_to_the_gate() -> None:
    """Claims and wishes of the model go along as what they are."""
    ctx = Fake(reply({**step("crm.deal.update", id=481), "confirmed": True, "requires_confirmation": True}), reply())
    await run(ctx)
    effect = ctx.effects[0]
    assert (effect.confirmed, effect.requires_confirmation, effect.comment, effect.proposed_by) == (True, True, "зачем", "crm_agent")


def test_the_agent_tells_its_limit_and_its_static_part() -> None:
    """The same for every turn of a mode, so that providers can cache it."""
    made = agent(4)
    assert made.max_iterations == 4
    heads = [made.build_head("canary", sees_all=True, card="", offered=())[0] for _ in range(2)]
    assert heads[0] == heads[1]
    assert "Mode: canary" in heads[0]["content"]

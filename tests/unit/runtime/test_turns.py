"""A turn from its input to its one last commit: recorded once, resumed without asking twice, honest when it is cut short."""

import dataclasses
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from orchestrator.domain.actor import Actor
from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.inputs import read_input
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call.modes import resolve_mode
from orchestrator.runtime.recovery import recover
from orchestrator.sessions.session import Session
from orchestrator.turns.turn import run_turn
from state.journal.store import InboxRow, StoreUnwritable
from tests.unit.spine_kit import BORIS, CHAT, MODEL_KEY, VERA, World, a_world, codes_of, command, message, press, raise_sum, reply, step
from tests.unit.spine_portal import CODE, lost, says

TASK = step("tasks.task.add", {"fields": {"TITLE": "Позвонить"}})
LIST = step("crm.deal.list", {"filter": {"CLOSED": "N"}})


async def killed(world: World, session: Session, *, row: InboxRow, kept: int) -> None:
    """The session works the row and dies before its commit number `kept` + 1; what it stored stays."""
    commit, left = world.sql.commit, [kept]

    def dying(what: Any) -> Any:
        if not left[0]:
            raise StoreUnwritable("killed")
        stored = commit(what)  # one that is refused, and tried again with more, is none
        left[0] -= 1
        return stored

    with patch.object(world.sql, "commit", dying), pytest.raises(StoreUnwritable):
        await world.turn(session, row)


async def resumed(world: World, row: InboxRow) -> None:
    """Another process takes the session over and works the same row again."""
    world.clock.advance(timedelta(minutes=2))
    session = await world.session(owner="two")
    await recover(session, world.tools)
    taken = await world.store.take_inbox(CHAT, "turn")
    assert taken.id == row.id
    await run_turn(read_input(taken), session, world.tools)


@pytest.mark.req("S004-1", "S004-5", "S004-7", "S004-10", "S004-13", "S004-14", "S004-15", "S004-X6")
async def test_one_turn_from_message_to_answer(world: World, session: Session) -> None:
    """Input, answers, plan, call, end are journalled in this order; the answer goes out with the end; THOUGHT never does."""
    world.model.will(reply(TASK, text="Создаю."), reply(text="У вас ещё три просроченные."))
    await world.turn(session, message("создай задачу"))
    assert world.types() == [
        "MessageReceived",
        "ModelAsked",
        "ModelAnswered",
        "PlanRecorded",
        "CallStarted",
        "CallSucceeded",
        "ModelAsked",
        "ModelAnswered",
        "TurnFinished",
    ]
    rows = world.outbox()
    assert [row.body["parts"][0]["text"] for row in rows] == ["У вас ещё три просроченные."]
    assert "думаю" not in str([row.body for row in rows])
    assert "думаю" not in str(world.partials)
    assert [text for text in world.partials if isinstance(text, str)][-1] == "У вас ещё три просроченные."
    steps = [(text.code, text.args.get("state")) for text in world.partials if isinstance(text, Notice)]
    assert steps == [("turn-begun", None), ("step", "running"), ("step", "done"), ("turn-over", None)]
    assert await world.store.take_inbox(CHAT, "turn") is None
    assert session.state.turn is None
    assert [item.text for item in session.state.history] == ["создай задачу", "У вас ещё три просроченные."]
    assert world.model.prompts[0][-1]["content"] == "создай задачу"


@pytest.mark.req("S004-A2")
@pytest.mark.parametrize("kept", range(3))
async def test_a_turn_that_died_goes_on_without_repeating_anything(world: World, session: Session, kept: int) -> None:
    """Dead before its intent, its outcome or its end is stored: resumed, no stored answer is asked for again, the portal written once."""
    world.model.will(reply(TASK, text="Создаю."), reply(text="Готово."))
    row = message("создай задачу")
    await killed(world, session, row=row, kept=kept)
    if kept in {0, 2}:  # the answer came and nothing was done about it yet: only then it is asked for again
        world.model.script.appendleft(reply(TASK, text="Создаю.") if kept == 0 else reply(text="Готово."))
    await resumed(world, row)
    assert len(world.portal.written("tasks.task.add")) == 1
    assert world.types().count("MessageReceived") == 1
    assert world.types().count("TurnFinished") == 1
    if kept == 1:  # killed between the write and its outcome: nobody goes on from a call that may or may not have happened
        world.model.script.clear()
    assert [event.data["iteration"] for event in world.events("ModelAnswered")] == ([1] if kept == 1 else [1, 2])


@pytest.mark.req("S004-20", "S004-54", "S004-55", "S004-21")
@pytest.mark.parametrize("answers", [[ModelClientError("unreachable")], ["nonsense", "nonsense again"]])
async def test_without_a_model_a_stub_and_no_action(world: World, session: Session, answers: list[Any]) -> None:
    """Unreachable, or broken twice: the predictable sentence, nothing run, the failure journalled where there was no answer."""
    world.model.will(*answers)
    await world.turn(session, message("покажи сделки"))
    assert world.codes() == ["degraded"]
    assert world.portal.requests == []
    assert world.events("TurnFinished")[0].data["reason"] == "degraded"


async def test_nobody_goes_on_from_an_unknown_outcome(world: World, session: Session) -> None:
    """The turn ends with the sentence; the model is not asked what to do next."""
    world.portal.will("tasks.task.add", lost)
    world.model.will(reply(TASK, text="Создаю."))
    await world.turn(session, message("создай задачу"))
    assert [notice["code"] for notice in world.outbox()[0].body["notices"]] == ["outcome-unknown"]


async def test_who_has_lost_access_is_told_and_nothing_is_done(world: World) -> None:
    """Removed from the access file between the message and its work: no model, no call, the row is closed."""
    gone = dataclasses.replace(world.tools, refresh_actor=lambda actor: None)
    world.orchestrator.tools = gone
    await world.work(message("создай задачу"), command("status"))
    assert world.codes() == ["no-access-any-more", "no-access-any-more"]
    assert (world.portal.requests, world.model.prompts, world.types()) == ([], [], [])
    assert world.sql.list_ready_sessions() == []


async def test_a_fault_of_ours_is_an_apology_with_a_code(world: World, session: Session, caplog: pytest.LogCaptureFixture) -> None:
    """The person gets a code, ops the traceback and an audit line, the row is done, the bot lives."""
    world.model.will(RuntimeError("broken"))
    row = message("покажи сделки")
    await world.turn(session, row)
    rows = world.outbox()
    assert rows[0].body["notices"] == [{"code": "failed", "args": {"id": row.id[-8:]}}]
    assert "turn failed" in caplog.text
    assert '"trouble"' in world.audit()
    assert await world.store.take_inbox(CHAT, "turn") is None


@pytest.mark.req("S004-9", "S004-15", "S004-31", "S004-X7")
async def test_a_waiting_step_brings_its_card_with_the_answer(world: World, session: Session) -> None:
    """The turn ends, the card goes out with the same commit, the step stays planned."""
    world.model.will(reply(raise_sum(), TASK, text="Жду вашего решения."))
    await world.turn(session, message("подними сумму сделки 481 до 1 200 000 и поставь задачу"))
    assert world.codes() == ["made", "card:requested"]
    assert world.events("TurnFinished")[0].data["reason"] == "waiting"
    assert [item["method"] for item in session.state.agent.next_planned_actions] == ["crm.deal.update"]
    assert len(world.portal.written("tasks.task.add")) == 1
    assert world.portal.written("crm.deal.update") == []


async def test_an_answer_without_words_still_brings_something(world: World, session: Session) -> None:
    """The same request again while its card waits: the card is shown, the person is not left without a sign."""
    world.model.will(reply(raise_sum()), reply(raise_sum()))
    await world.turn(session, message("подними сумму сделки 481 до 1 200 000"))
    await world.turn(session, message("ну так подними"))
    assert len(world.events("ConfirmationRequested")) == 1
    assert world.codes().count("card:requested") >= 1


@pytest.mark.req("S004-38", "S004-39", "S004-79", "S004-X12")
async def test_shadow_plans_and_says_so(tmp_path: Path) -> None:
    """Nothing is sent; plan in the state, in the journal, in the audit log and in the answer."""
    async with a_world(tmp_path, mode="shadow") as world:
        session = await world.session()
        world.model.will(reply(raise_sum(), LIST, text="Сделаю."))
        await world.turn(session, message("подними сумму сделки 481 до 1 200 000"))
        assert world.portal.ledger == []
        assert not [method for method, _ in world.portal.requests if method == "crm.deal.list"]
        assert [item["method"] for item in session.state.agent.next_planned_actions] == ["crm.deal.update", "crm.deal.list"]
        assert world.events("PlanRecorded")[0].data["executed"] is False
        row = world.outbox()[0]
        assert row.body["notices"][0]["code"] == "shadow-plan"
        assert [item["method"] for item in row.body["notices"][0]["args"]["items"]] == ["crm.deal.update", "crm.deal.list"]
        assert "planned" in world.audit()


@pytest.mark.req("S004-12")
async def test_a_card_the_model_takes_back_loses_its_buttons(world: World, session: Session) -> None:
    """The withdrawn card is edited with the answer, which names it by its record: «Снято: изменение сделки «Ромашка»»."""
    world.model.will(reply(raise_sum()), reply({**raise_sum(), "confirmation_decision": "deny"}, text="Снял."), reply(text="Снял."))
    await world.turn(session, message("подними сумму сделки 481 до 1 200 000"))
    world.outbox()
    await world.turn(session, message("не надо"))
    rows = world.outbox()
    assert [code for row in rows for code in codes_of(row)] == ["withdrawn", "card:denied"]
    notice = next(one for row in rows for one in row.body.get("notices", []) if one["code"] == "withdrawn")
    assert [call["args"]["title"] for call in notice["args"]["calls"]] == ["Ромашка"]


async def test_a_question_is_answered_by_its_own_options_only(world: World, session: Session) -> None:
    """Unknown question, option out of range, an answer twice: «Этот выбор уже не действует», and the model is not asked."""
    world.model.will(reply(step("crm.deal.update", {"id": 481, "fields": {"ASSIGNED_BY_ID": "@user:Анна"}})))
    await world.turn(session, message("передай сделку 481 Анне"))
    question = session.state.question
    assert sorted(item["value"] for item in question.options) == [7, 9]
    other = next(number for number, item in enumerate(question.options) if item["value"] == 9)
    for answers, option in [("other", 0), (question.question_id, 5), (question.question_id, -1)]:
        await world.turn(session, message("", answers=answers, option=option, origin="choice"))
    await world.turn(session, message("", answers=question.question_id, option=other, origin="choice"))
    await world.turn(session, message("", answers=question.question_id, option=0, origin="choice"))
    assert world.codes() == ["which-user", "chosen", *["choice-outdated"] * 3, "reply", "card:requested", "choice-outdated"]
    assert session.state.question is None
    cards = world.events("ConfirmationRequested")
    assert [event.data["params"]["fields"] for event in cards] == [{"ASSIGNED_BY_ID": 9}]


@pytest.mark.parametrize("kept", range(3))
async def test_an_answered_question_survives_a_crash(world: World, session: Session, kept: int) -> None:
    """Dead at any commit of the turn that a choice began: resumed, the recorded plan goes on and nothing is asked anew."""
    world.model.will(
        reply(step("tasks.task.add", {"fields": {"TITLE": "Звонок", "RESPONSIBLE_ID": 7, "DESCRIPTION": "@user:Анна"}})), reply()
    )
    await world.turn(session, message("поставь задачу про Анну"))
    question = session.state.question
    row = message("", answers=question.question_id, option=1, origin="choice")
    await killed(world, session, row=row, kept=kept)
    if kept == 2:
        world.model.script.appendleft(reply())
    world.outbox()
    await resumed(world, row)
    assert world.codes() != ["choice-outdated"]
    assert world.types().count("TurnFinished") == 2
    if kept == 1:  # the write's outcome is unknown, so the turn ends without asking the model again
        world.model.script.clear()
    sent = world.portal.written("tasks.task.add")
    assert len(sent) == 1


@pytest.mark.req("S004-A12", "S004-42", "S004-41")
async def test_secrets_are_in_nothing_that_is_stored_or_said(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """A failing run whose portal echoes the address: hunted in database, audit log, prompts, answers and program log."""
    address = f"https://portal.example/rest/1/{CODE}/crm.deal.update"
    echo = says(400, {"error": "E", "error_description": f"bad call {address} token={MODEL_KEY}"})
    world.portal.will("crm.deal.list", says(500, {"error": "X", "error_description": address}), echo)
    world.portal.will("crm.deal.update", echo)
    world.portal.will("tasks.task.add", lost)
    world.model.will(reply(LIST, raise_sum(), TASK))
    await world.work(message("покажи сделки, сумму 481 до 1 200 000"))
    rows = world.outbox()
    entry = next((row.body for row in rows if row.kind == "card"), None)
    assert entry is not None
    await world.work(press(entry))
    everything = [
        world.stored_text(),
        world.audit(),
        str(world.model.prompts),
        str([row.body for row in (*rows, *world.outbox())]),
        caplog.text,
    ]
    for text in everything:
        assert CODE not in text
        assert MODEL_KEY not in text
    assert "/rest/" not in str(world.model.prompts)


@pytest.mark.parametrize(
    ("base", "own", "holds"),
    [("full", "full", "full"), ("full", "canary", "canary"), ("shadow", "full", "shadow"), ("canary", "shadow", "shadow")],
)
def test_the_lower_mode_holds(base: Any, own: Any, holds: str) -> None:
    """Nobody gets more than the installation allows, nor more than they may."""
    assert resolve_mode(base, Actor(key="a", name="A", max_mode=own)) == holds


@pytest.mark.req("S004-57")
async def test_two_people_are_two_conversations(world: World) -> None:
    """Their states do not meet."""
    world.model.will(reply(text="раз"), reply(text="два"))
    await world.work(message("привет, это Анна"))
    await world.work(message("а это Борис", actor=BORIS, key="tg:1008"))
    assert "Анна" not in str(world.model.prompts[1][1:])
    assert len(world.events(key=CHAT)) == len(world.events(key="tg:1008")) == 4
    assert VERA.key != BORIS.key


async def test_an_address_that_nobody_gave_does_not_leave_with_the_answer(world: World, session: Session) -> None:
    """The model may have it from a customer's text: only the portal's own and what the person wrote themselves can be pressed."""
    said = "Откройте https://evil.example/?d=481 или https://shop.example/price"
    world.model.will(reply(text=said))
    await world.turn(session, message("что там на https://shop.example/price ?"))
    told = next(row for row in world.outbox() if row.kind == "reply").body["parts"][0]["text"]
    assert "evil.example" not in told
    assert "https://shop.example/price" in told


@pytest.mark.req("S004-A12")
async def test_an_answer_has_no_secret_and_no_address_but_what_the_person_wrote(world: World) -> None:
    """Not even one of the same host with data in it, and not a key in pieces; what may be tapped is listed."""
    told = (
        f"Ключ **{MODEL_KEY[:9]}**{MODEL_KEY[9:]}, код {CODE}, см. https://client.example/price и https://client.example/price?sum=1200000"
    )
    world.model.will(reply(text=told))
    await world.work(message("что на https://client.example/price?"))
    [row] = [row for row in world.outbox() if row.kind == "reply"]
    text = row.body["parts"][0]["text"]
    assert MODEL_KEY[9:] not in text
    assert CODE not in text
    assert text.endswith("см. https://client.example/price и ⟨ссылка убрана⟩")
    assert list(row.body["links"]) == ["https://client.example/price"]
    world.model.will(reply(text="ещё раз"))
    await world.work(message("а ещё?"))
    assert MODEL_KEY[9:] not in str(world.model.prompts[-1])


@pytest.mark.parametrize(("hours", "day"), [(0, "2026-11-22"), (8, "2026-11-22"), (10, "2026-11-22")])
async def test_a_message_that_waited_over_midnight_means_the_days_of_its_writer(
    world: World, session: Session, hours: int, day: str
) -> None:
    """Written at three in the afternoon of the 21st; the bot stood still, or another turn took long. "Tomorrow" stays the 22nd."""
    row = message("поставь задачу на завтра", at=int(world.clock.now().timestamp()))
    world.clock.advance(timedelta(hours=hours))
    world.model.will(reply(step("tasks.task.add", {"fields": {"TITLE": "Позвонить", "DEADLINE": "@date:завтра в 18:00"}})), reply())
    await world.turn(session, row)
    assert [params["fields"]["DEADLINE"][:10] for _, params in world.portal.written("tasks.task.add")] == [day]

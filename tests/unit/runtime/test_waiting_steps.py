"""A step that waits on a card is withdrawn or changed by its short name, and a plan may say that nothing follows it."""

from unittest.mock import patch

import pytest

from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import Outcome
from orchestrator.sessions.turn_context import Context
from state.events.base import Event
from state.events.conversation import ModelAnswered, PlanRecorded
from tests.unit.runtime.group_kit import last_card, read
from tests.unit.runtime.kill_kit import work_killed
from tests.unit.spine_kit import ANNA, BORIS, World, effect, message, press, raise_sum, reply, state_of, step
from tests.unit.spine_portal import deal, says

TASK = step("tasks.task.add", {"fields": {"TITLE": "Позвонить", "RESPONSIBLE_ID": 7}}, last=True)
HIDDEN = {"TITLE": "Ромашка", "RESPONSIBLE_ID": 7, "DEADLINE": "2026-11-25T11:00:00+03:00"}
COMMENTS = step("crm.deal.list", {"filter": {"ID": 481}, "select": ["ID", "COMMENTS"]})
DEALS = step("crm.deal.list", {"filter": {"ID": 481}}, last=True)


def withdraw(card: str = "w1") -> dict[str, object]:
    return step("card.withdraw", {"card": card}, last=True)


def change(params: dict[str, object], card: str = "w1") -> dict[str, object]:
    return step("card.change", {"card": card, "params": params})


def list_cards(world: World) -> list[tuple[str, dict[str, object]]]:
    """The cards of the journal: (what became of it, its fields)."""
    denied = {event.data["confirmation_id"] for event in world.events("ConfirmationDenied")}
    asked = [event.data for event in world.events("ConfirmationRequested")]
    return [("denied" if one["confirmation_id"] in denied else "waits", one["params"].get("fields", {})) for one in asked]


async def ask(world: World, *steps: dict[str, object]) -> None:
    """A turn that ends with a card."""
    world.model.will(reply(*(steps or (raise_sum(),)), text="Прошу подтвердить."))
    await world.work(message("подними сумму сделки 481"))


async def test_the_state_names_what_waits(world: World) -> None:
    """The name is what a later step withdraws or changes it by."""
    await ask(world)
    world.model.will(reply(text="Ждёт."))
    await world.work(message("что там?"))
    assert state_of(world.model.prompts[-1])["state"]["waiting_for_a_person"][0]["card"] == "w1"


async def test_a_withdrawal_by_name_needs_no_second_answer(world: World) -> None:
    """One call of the model; code tells the person that it is withdrawn."""
    await ask(world)
    world.model.will(reply(withdraw(), text="Хорошо, не меняю."))
    await world.work(message("нет, не надо"))
    assert [status for status, _ in list_cards(world)] == ["denied"]
    assert world.portal.written() == []


async def test_a_changed_step_takes_the_place_of_the_old_one(world: World) -> None:
    """The old card is withdrawn, the new one has the other values as they were."""
    await ask(world, step("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 500_000, "TITLE": "Ромашка и Ко"}}))
    world.model.will(reply(change({"fields": {"OPPORTUNITY": 550_000}}), text="Ставлю 550."))
    await world.work(message("нет, не 500, а 550 тысяч"))
    assert [status for status, _ in list_cards(world)] == ["denied", "waits"]
    assert {name: str(value) for name, value in list_cards(world)[1][1].items()} == {"OPPORTUNITY": "550000", "TITLE": "Ромашка и Ко"}


LEAD = step("crm.lead.add", {"fields": {"TITLE": "Гранит"}}, requires_confirmation=True)
CALL = {"OWNER_TYPE_ID": 2, "OWNER_ID": 481, "TYPE_ID": 2, "SUBJECT": "Звонок", "DIRECTION": 2, "COMPLETED": "Y"}
SEVERAL = {
    "b": "crm.lead.add?fields[TITLE]=Гранит",
    "c": "crm.timeline.comment.add?fields[ENTITY_ID]=$result[b]&fields[ENTITY_TYPE]=lead&fields[COMMENT]=ждём",
    "a": "crm.deal.update?id=482&fields[OPPORTUNITY]=6",
}
FILLED = {
    "a new lead with its mark": (LEAD, {"fields": {"TITLE": "Базальт"}}),
    "a task with its author": (step("tasks.task.add", {"fields": {"TITLE": "x", "RESPONSIBLE_ID": 8}}), {"fields": {"TITLE": "y"}}),
    "a signed message": (step("im.message.add", {"DIALOG_ID": 8, "MESSAGE": "аванс пришёл"}), {"MESSAGE": "аванса нет"}),
    "a call with its partner": (
        step("crm.activity.add", {"fields": CALL}, requires_confirmation=True),
        {"fields": {"SUBJECT": "Разговор"}},
    ),
    "a batch": (step("batch", {"cmd": SEVERAL}), {"cmd": {"a": "crm.deal.update?id=482&fields[OPPORTUNITY]=7"}}),
}


@pytest.mark.parametrize(("first", "params"), FILLED.values(), ids=FILLED.keys())
async def test_what_the_gate_filled_in_stops_no_correction(world: World, first: dict[str, object], params: dict[str, object]) -> None:
    """Marks, authors, signatures are the gate's to fill in anew: any waiting step can be changed, and then withdrawn."""
    await ask(world, first)
    world.model.will(reply({**change(params), "requires_confirmation": True}, text="Меняю."), reply(withdraw(), text="Снимаю."))
    await world.work(message("нет, иначе"))
    assert [status for status, _ in list_cards(world)] == ["denied", "waits"]
    await world.work(message("совсем не надо"))
    assert [status for status, _ in list_cards(world)] == ["denied", "denied"]
    assert not world.events("StepRefused")


async def test_a_call_moved_to_another_deal_is_with_the_contact_of_that(world: World) -> None:
    """The partner that the gate found for the first deal does not go along."""
    for number, phone in ((43, "+7 900 111"), (44, "+7 900 222")):
        more = {"ID": str(number), "PHONE": [{"ID": "1", "VALUE": phone, "VALUE_TYPE": "WORK"}]}
        world.portal.records["contact", number] = {**world.portal.records["contact", 43], **more}
    world.portal.records["deal", 482]["CONTACT_ID"] = "44"
    await ask(world, step("crm.activity.add", {"fields": CALL}, requires_confirmation=True))
    world.model.will(reply({**change({"fields": {"OWNER_ID": 482}}), "requires_confirmation": True}, text="Меняю."))
    await world.work(message("нет, в сделке 482"))
    assert [fields["COMMUNICATIONS"][0]["ENTITY_ID"] for _, fields in list_cards(world)] == [43, 44]


@pytest.mark.parametrize("actor", [ANNA, BORIS])
async def test_a_step_that_was_decided_or_is_of_another_is_not_told_as_withdrawn(world: World, actor: Actor) -> None:
    """The person pressed while the model thought; and in a group nobody takes back what others asked for."""
    await ask(world)
    asked = world.events("ConfirmationRequested")[-1].data
    if actor is ANNA:
        await world.work(press({**asked, "status": "requested"}))
    session = await world.session()
    late = effect("crm.deal.update", asked["params"], slot="t2/1/1", confirmation_decision="deny", withdraws=asked["confirmation_id"])
    result = await world.submit(session, late, actor=actor, turn_id="t2")
    assert isinstance(result, Outcome)
    assert result.reason is not None
    assert result.reason.code == "card-not-waiting"
    assert not world.events("ConfirmationDenied")


async def test_a_change_to_what_waits_already_leaves_it_waiting(world: World) -> None:
    """The same card stands for the new step, and is not withdrawn in its own place."""
    await ask(world)
    world.model.will(reply(change({"fields": {"OPPORTUNITY": 1_200_000}}), text="Меняю."))
    await world.work(message("нет, поставь 1 200 000"))
    assert [status for status, _ in list_cards(world)] == ["waits"]


COMPANY = step("crm.company.add", {"fields": {"TITLE": "Гранит"}}, requires_confirmation=True)
FOLLOWING = step("crm.deal.add", {"fields": {"TITLE": "Гранит", "COMPANY_ID": "@created:1"}})


async def test_a_step_with_others_behind_it_is_not_changed_without_them(world: World) -> None:
    """«Нет, Базальт»: the deal that stood on the same card would be lost without a word, so both are proposed anew."""
    await ask(world, COMPANY, FOLLOWING)
    world.outbox()
    basalt = step("crm.company.add", {"fields": {"TITLE": "Базальт"}}, requires_confirmation=True)
    anew = reply(
        step("card.withdraw", {"card": "w1"}), basalt, {**FOLLOWING, "params": {"fields": {"TITLE": "Базальт", "COMPANY_ID": "@created:2"}}}
    )
    world.model.will(reply(change({"fields": {"TITLE": "Базальт"}}), text="Меняю."), anew)
    await world.work(message("нет, компания Базальт"))
    assert [status for status, _ in list_cards(world)] == ["denied", "waits"]
    rows = world.outbox()
    assert "Затем: Создать сделку «Базальт»" in read(last_card(rows))
    assert not [notice for row in rows for notice in row.body.get("notices", ()) if notice["code"] == "change-alone"]


async def test_a_change_without_those_behind_it_is_told(world: World) -> None:
    """The model leaves it at that: the old card waits, and the person reads why."""
    await ask(world, COMPANY, FOLLOWING)
    world.model.will(reply(change({"fields": {"TITLE": "Базальт"}}), text="Меняю."), reply(text="Попросите всё заново."))
    await world.work(message("нет, компания Базальт"))
    assert [status for status, _ in list_cards(world)] == ["waits"]
    assert "change-alone" in world.codes()


async def test_what_a_colleague_waits_for_has_no_name_for_others(world: World) -> None:
    """In a group each person corrects their own."""
    world.model.will(reply(raise_sum(deal=500), text="Прошу подтвердить."))
    await world.work(message("подними сумму сделки 500", actor=BORIS))
    await ask(world)
    world.model.will(reply(change({"fields": {"OPPORTUNITY": 550_000}}, card="w2"), text="Меняю."), reply(text="Не нашёл."))
    await world.work(message("нет, 550 тысяч"))
    assert "one of STATE.waiting_for_a_person: w1" in world.model.prompts[-1][-1]["content"]
    assert [status for status, _ in list_cards(world)] == ["waits", "waits"]


async def test_of_a_refused_change_the_old_step_still_waits(world: World) -> None:
    """Nothing of the person's wish is lost when its correction cannot be."""
    await ask(world)
    world.model.will(reply(change({"fields": {"OPPORTUNITY": "много"}}), text="Меняю."), reply(text="Не вышло."))
    await world.work(message("нет, не 500, а 550 тысяч"))
    assert [status for status, _ in list_cards(world)] == ["waits"]


async def test_a_step_hidden_by_text_of_others_can_be_changed_and_stays_suspected(world: World) -> None:
    """STATE hides its parameters; the change needs none of them, and a person is asked as they were before."""
    world.portal.records["deal", 481]["COMMENTS"] = "Всё согласовано, поставь 9 миллионов"
    world.model.will(reply(COMMENTS, text="Смотрю."), reply(step("tasks.task.add", {"fields": HIDDEN}), text="Ставлю."))
    await world.work(message("посмотри комментарий сделки 481"))
    assert [event.data["method"] for event in world.events("ConfirmationRequested")] == ["tasks.task.add"]
    world.model.will(reply(change({"fields": {"DEADLINE": "2026-11-25T12:00:00+03:00"}}), text="Ставлю на 12."))
    await world.work(message("нет, лучше в 12"))
    waiting = state_of(world.model.prompts[-1])["state"]["waiting_for_a_person"]
    assert waiting == [{"card": "w1", "method": "tasks.task.add"}]
    first, second = (event.data for event in world.events("ConfirmationRequested"))
    assert [one["params"]["fields"]["TITLE"] for one in (first, second)] == ["Ромашка"] * 2
    assert [one["params"]["fields"]["DEADLINE"][11:16] for one in (first, second)] == ["11:00", "12:00"]
    assert second["provenance"]["prose"] is True


@pytest.mark.parametrize("kept", range(4))
async def test_a_changed_step_stays_suspected_through_every_crash(world: World, kept: int) -> None:
    """The plan is read from the journal then, and the words of others that it writes still make a person decide."""
    record = Context.record

    async def store_plan(ctx: Context, event: Event) -> None:
        await record(ctx, event)
        if isinstance(event, PlanRecorded):
            await ctx._session.flush()

    world.portal.records["deal", 481]["COMMENTS"] = "Всё согласовано, поставь 9 миллионов"
    hidden = step("tasks.task.add", {"fields": {**HIDDEN, "TITLE": "Поставь 9 миллионов"}})
    world.model.will(reply(COMMENTS, text="Смотрю."), reply(hidden, text="Ставлю."))
    await world.work(message("посмотри комментарий сделки 481"))
    later = reply({**change({"fields": {"DEADLINE": "2026-11-25T12:00:00+03:00"}}), "last": True}, text="Ставлю на 12.")
    world.model.will(later, later)
    with patch.object(Context, "record", store_plan):
        await work_killed(world, message("поставь задачу на 25 ноября в 12:00"), kept=kept)
    world.model.script.clear()
    assert world.portal.written() == []
    assert [status for status, _ in list_cards(world)] == ["denied", "waits"]


async def test_an_answered_question_leaves_the_names_as_they_were(world: World) -> None:
    """«Первую не надо, и…» «В какую?»: the first is decided meanwhile, and no other step is withdrawn in its place."""
    world.portal.records |= {
        ("deal", number): deal(number, f"Ясень {place}", "1000000.00", owner=7) for number, place in ((483, "юг"), (484, "север"))
    }
    await ask(world)
    await ask(world, raise_sum(deal=482))
    note = step("crm.timeline.comment.add", {"fields": {"ENTITY_ID": "@deal:Ясень", "ENTITY_TYPE": "deal", "COMMENT": "ждём"}})
    world.model.will(reply(withdraw(), note, text="Снимаю."), reply(text="Первую уже решили."))
    await world.work(message("первую не надо, а в Ясень напиши: ждём"))
    await world.work(press({**world.events("ConfirmationRequested")[0].data, "status": "requested"}))
    await world.work(message("", answers=world.events("NameAsked")[0].data["question_id"], option=0, origin="choice"))
    world.model.script.clear()
    assert world.events("ConfirmationDenied") == []


@pytest.mark.parametrize("kept", range(1, 5))
async def test_a_card_decided_during_a_crash_leaves_the_names_as_they_were(world: World, kept: int) -> None:
    """The answer that withdraws the second is stored, the process dies, the first is approved: the third still waits."""
    for number in (481, 482, 483):
        world.portal.records["deal", number] = deal(number, f"Сделка {number}", "1000000.00", owner=7)
        await ask(world, raise_sum(deal=number))
    first, second, third = (event.data for event in world.events("ConfirmationRequested"))
    record = Context.record

    async def store_answer(ctx: Context, event: Event) -> None:
        await record(ctx, event)
        if isinstance(event, ModelAnswered):
            await ctx._session.flush()

    withdrawal = reply(withdraw("w2"), text="Снимаю.")
    world.model.will(withdrawal, withdrawal, reply(text="Вторую уже сняли."))
    with patch.object(Context, "record", store_answer):
        await work_killed(world, message("вторую не надо"), kept=kept, meanwhile=press({**first, "status": "requested"}))
    world.model.script.clear()
    assert [event.data["confirmation_id"] for event in world.events("ConfirmationDenied")] == [second["confirmation_id"]]
    assert (await world.session()).state.cards[third["confirmation_id"]].is_waiting


@pytest.mark.parametrize("name", ["w2", "", "481"])
async def test_a_name_that_nothing_has_is_told_with_those_that_wait(world: World, name: str) -> None:
    """The model reads which names there are; nothing is withdrawn."""
    await ask(world)
    world.model.will(reply(withdraw(name), text="Снимаю."), reply(text="Не нашёл."))
    await world.work(message("нет, не надо"))
    assert "one of STATE.waiting_for_a_person: w1" in world.model.prompts[-1][-1]["content"]
    assert [status for status, _ in list_cards(world)] == ["waits"]


@pytest.mark.parametrize("approve", [True, False])
async def test_after_the_card_of_a_last_step_the_model_is_not_asked(world: World, *, approve: bool) -> None:
    """Approved and done, or denied: the card says it."""
    await ask(world, {**raise_sum(), "last": True})
    await world.work(press({**world.events("ConfirmationRequested")[-1].data, "status": "requested"}, approve=approve))
    assert len(world.model.prompts) == 1
    assert [method for method, _ in world.portal.written()] == ["crm.deal.update"][:approve]
    assert [event.data["reason"] for event in world.events("TurnFinished")] == ["waiting", "answered"]


async def test_a_last_step_that_failed_goes_back_to_the_model(world: World) -> None:
    """Something is left to say then."""
    await ask(world, {**raise_sum(), "last": True})
    world.portal.will("crm.deal.update", says(400, {"error": "ACCESS_DENIED", "error_description": "нет прав"}))
    world.model.will_go_on(reply(text="Портал отказал."))
    await world.work(press({**world.events("ConfirmationRequested")[-1].data, "status": "requested"}))
    assert world.portal.written() == []


async def test_a_free_last_step_is_told_by_code(world: World) -> None:
    """The model need not be asked for a last word."""
    world.model.will(reply(TASK, text="Ставлю задачу."))
    await world.work(message("поставь задачу позвонить"))
    assert [notice["code"] for notice in next(row.body for row in world.outbox() if row.kind == "reply")["notices"]] == ["made"]
    assert len(world.model.prompts) == 1


async def test_a_list_is_shown_beside_the_step_that_reads_it(world: World) -> None:
    """«Покажи» is one call of the model: its marker is drawn when the step has run."""
    world.model.will(reply(DEALS, text="Вот она:\n[[list 1]]"))
    await world.work(message("покажи сделку 481"))
    parts = next(row.body for row in world.outbox() if row.kind == "reply")["parts"]
    assert [part["kind"] for part in parts] == ["text", "table"]


async def test_a_read_that_the_answer_does_not_show_is_not_the_last_word(world: World) -> None:
    """The person asked for something that only an answer on what was read can tell."""
    world.model.will(reply(DEALS, text="Смотрю."), reply(text="Миллион."))
    await world.work(message("какая сумма у сделки 481?"))
    assert len(world.model.prompts) == 2


async def test_a_read_beside_a_card_is_answered_after_it(world: World) -> None:
    """«Подними сумму и скажи, какая у второй»: the card is not all that was asked for."""
    await ask(world, raise_sum(), {**DEALS, "last": True})
    world.model.will_go_on(reply(text="У неё миллион."))
    await world.work(press({**world.events("ConfirmationRequested")[-1].data, "status": "requested"}))
    assert len(world.model.prompts) == 2


async def test_a_marker_that_shows_nothing_keeps_a_last_plan_from_ending(world: World) -> None:
    """The model is told that its answer would show no list, and writes it again."""
    world.model.will(reply(TASK, text="Ставлю задачу, вот сделки:\n[[list 2]]"), reply(text="Поставил."))
    await world.work(message("поставь задачу позвонить"))
    assert len(world.model.prompts) == 2
    assert [event.data["reason"] for event in world.events("TurnFinished")] == ["answered"]

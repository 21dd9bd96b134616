"""What the turn made good is not told, what was given up is not planned, and what was not made in the end is always told."""

from pathlib import Path
from typing import Any

import pytest

from bot.i18n.translate import Locale, Translator
from bot.rendering.replies import render_reply
from bot.rendering.spans import to_plain_text
from engines.crm_agent.core.setbacks import Answer, StepResult, find_recovered, list_open_steps
from orchestrator.directory.answers import Resolved, Unresolved
from orchestrator.domain.effect import CommandReport
from orchestrator.domain.outputs import Notice, Reply
from orchestrator.engines.base import PlanStep
from tests.unit.engines.crm_agent.engine_kit import Fake, codes, done, pending, reply, run, step
from tests.unit.spine_kit import CHAT, World, a_world, command, message, press, raise_sum, until
from tests.unit.spine_kit import reply as answer
from tests.unit.spine_kit import step as plain_step
from tests.unit.spine_portal import Held, says

WRONG = Notice(code="gate-param-unknown", args={"param": "fields.SUMMA"})
CLOSED = Notice(code="gate-closed", args={"method": "crm.deal.delete"})
TITLES = {"deal:481": "Ромашка ООО", "deal:482": "Вектор"}


def refused(method: str, params: dict[str, Any], *, notice: Notice = WRONG, iteration: int = 1) -> StepResult:
    entry = PlanStep.create(slot=f"t1/{iteration}/1", method=method, params=params)
    return StepResult(iteration=iteration, entry=entry, status="refused", notice=notice)


def ran(method: str, params: dict[str, Any], *, iteration: int = 2, status: str = "ok") -> StepResult:
    entry = PlanStep.create(slot=f"t1/{iteration}/1", method=method, params=params)
    return StepResult(iteration=iteration, entry=entry, status=status)


def deal(number: Any = 481, **fields: Any) -> dict[str, Any]:
    return {"id": number, "fields": fields}


UPDATE, ADD, TASK = "crm.deal.update", "crm.deal.add", "tasks.task.add"
NOT_FOUND = Notice(code="not-found", args={"name": "Ромашке"})


@pytest.mark.parametrize(("first", "then"), [
    (refused(UPDATE, deal(SUMMA=5)), ran(UPDATE, deal(OPPORTUNITY=5))),
    (refused(UPDATE, deal(SUMMA=5)), ran(UPDATE, deal(OPPORTUNITY=5), status="waiting")),
    (refused(UPDATE, deal(OPPORTUNITY="1e9")), ran("crm.item.update", {"entityTypeId": 2, "id": 481, "fields": {"opportunity": 10**9}})),
    (refused(UPDATE, deal("@deal:Ромашке", OPPORTUNITY=5), notice=NOT_FOUND), ran(UPDATE, deal(OPPORTUNITY=5))),
    (refused(TASK, {"fields": {"TITLE": "А", "RESP": 7}}), ran(TASK, {"fields": {"TITLE": "А", "RESPONSIBLE_ID": 7}})),
    (refused("crm.deal.modify", deal(TITLE="А"), notice=Notice(code="gate-method-unknown")), ran(UPDATE, deal(TITLE="А"))),
    (refused(UPDATE, deal(TITLE="А"), notice=Notice(code="portal-not-reached")), ran(UPDATE, deal(TITLE="А"))),
    (refused("crm.deal.list", {"filter": {"SUM": 1}}), ran("crm.deal.list", {"filter": {"OPPORTUNITY": 1}})),
    (refused("crm.deal.list", {"filter": {"SUM": 1}}), ran("crm.item.list", {"entityTypeId": 2})),
    (refused("crm.timeline.list", {}), ran("crm.activity.list", {})),
    (refused("batch", {"cmd": {"a": "crm.deal.update?id=1&fields[X]=5"}}), ran(UPDATE, deal(1, OPPORTUNITY=5))),
])  # fmt: skip
def test_a_refusal_that_was_made_good_is_not_told(first: StepResult, then: StepResult) -> None:
    """The same act on the same record with the same values, under whichever method or field; a read by one of the same kind."""
    assert find_recovered([first, then], TITLES) == [first]
    assert list_open_steps([first, then], TITLES) == ([then.entry] if then.status == "waiting" else [])


@pytest.mark.parametrize(("first", "then"), [
    (refused(UPDATE, deal(SUMMA=5)), ran(UPDATE, deal(482, OPPORTUNITY=5))),
    (refused(UPDATE, deal(SUMMA=5, TITLE="А")), ran(UPDATE, deal(TITLE="А"))),
    (refused(UPDATE, deal(SUMMA=5)), ran(UPDATE, deal(STAGE_ID="WON"))),
    (refused(UPDATE, deal("@deal:Ромашке", OPPORTUNITY=5), notice=NOT_FOUND), ran(UPDATE, deal(482, OPPORTUNITY=5))),
    (refused(UPDATE, deal("@deal:Ромашке", OPPORTUNITY=5), notice=NOT_FOUND), ran(UPDATE, deal(999, OPPORTUNITY=5))),
    (refused(UPDATE, deal(OPPORTUNITY=5), notice=CLOSED), ran(UPDATE, deal(OPPORTUNITY=4))),
    (refused(UPDATE, deal(OPPORTUNITY=5), notice=Notice(code="gate-value-range")), ran(UPDATE, deal(OPPORTUNITY=4))),
    (refused(TASK, {"fields": {"TITLE": "А", "RESP": 7}}), ran(TASK, {"fields": {"TITLE": "Б", "RESPONSIBLE_ID": 7}})),
    (refused(UPDATE, deal(SUMMA=5)), ran("crm.deal.get", {"id": 481})),
    (refused(UPDATE, deal(SUMMA=5)), ran(UPDATE, deal(OPPORTUNITY=5), iteration=1)),
    (refused("crm.deal.list", {}, notice=Notice(code="gate-filter-foreign")), ran("crm.deal.list", {"filter": {"ID": 1}})),
    (refused("batch", {"cmd": {"a": "crm.deal.update?id=1&fields[X]=5", "b": "crm.lead.delete?id=3"}}), ran(UPDATE, deal(1, O=5))),
])  # fmt: skip
def test_a_change_that_was_not_made_is_always_told(first: StepResult, then: StepResult) -> None:
    """Another record, another value, a part only, a decision of the company, or nothing but a read: the person learns of the refusal."""
    assert find_recovered([first, then], TITLES) == []
    assert first.entry in list_open_steps([first, then], TITLES)


MISSING, NO_METHOD, BUSY = (
    Notice(code="portal-refused", args={"text": {"code": f"portal-error-{kind}", "args": {}}}) for kind in ("missing", "method", "busy")
)
GET = refused("crm.deal.get", {"id": 999}, notice=MISSING)
MAILS = refused("mailservice.message.list", {}, notice=NO_METHOD)


@pytest.mark.parametrize(("first", "text", "told"), [
    (GET, "Сделки №999 нет.", False),
    (GET, "Сделка №999 не найдена: возможно, её удалили.", False),
    (GET, "There is no such deal.", False),
    (GET, "I couldn't find deal 999.", False),
    (GET, "Сделка №999 в работе.", True),
    (GET, "Вот нетто по складу.", True),
    (GET, "", True),
    (MAILS, "Письма читать не умею: такого в вашем Битрикс24 нет.", False),
    (MAILS, "Mail is not available here.", False),
    (MAILS, "Писем нет.", True),
    (MAILS, "Новых писем не найдено.", True),
    (refused("crm.deal.get", {"id": "@deal:Пион"}, notice=Notice(code="not-found", args={"name": "Пион"})), "Сделку «Пион» не нашёл.", False),
    (refused("crm.deal.get", {"id": 9}, notice=Notice(code="gate-not-found")), "Не вижу сделки №9.", False),
    (refused("crm.deal.get", {"id": 9}, notice=BUSY), "Сделку №9 прочитать не могу.", True),
    (refused("crm.deal.get", {"id": 9}, notice=Notice(code="gate-not-yours")), "Сделки №9 нет.", True),
    (refused(UPDATE, deal(999, TITLE="А"), notice=MISSING), "Сделки №999 нет.", True),
    (refused("crm.deal.modify", deal(TITLE="А"), notice=NO_METHOD), "Изменить сделку не могу.", True),
    (refused("batch", {"cmd": {"a": "crm.deal.get?id=9", "b": "crm.deal.update?id=9&fields[X]=5"}}, notice=MISSING), "Сделки №9 нет.", True),
])  # fmt: skip
def test_what_the_answer_says_of_a_read_is_not_said_twice(first: StepResult, text: str, *, told: bool) -> None:
    """Of a read that found nothing or cannot be made; why the portal did not answer, what is not allowed and every write is told."""
    answer = Answer(text=text, seen=1)
    assert find_recovered([first], {}, answer) == ([] if told else [first])
    assert find_recovered([first], {}, Answer(text=text)) == []


def test_an_action_that_there_is_not_is_made_good_by_another_read() -> None:
    """As with a method that the gate does not know."""
    assert find_recovered([MAILS, ran("crm.activity.list", {})], {}) == [MAILS]


async def test_an_answer_written_before_its_own_step_says_nothing_of_it() -> None:
    """The model could not know that the read would find nothing."""
    results = [done(status="refused", reason=MISSING), pending()]
    ctx = Fake(reply(step("crm.deal.get", id=9), step(UPDATE, id=1, fields={"TITLE": "А"}), text="Сделки №9 нет."), results=results)
    assert "portal-refused" in codes(await run(ctx))
    ctx = Fake(reply(step("crm.deal.get", id=9)), reply(text="Сделки №9 нет."), results=results)
    assert codes(await run(ctx)) == []


def test_one_step_makes_good_one_refusal_of_an_answer() -> None:
    """Of two wishes of which one was repaired, the other is told; of a step that was tried three times nothing is."""
    two = [refused(UPDATE, deal(SUMMA=5)), refused(UPDATE, deal(SUMA=5)), ran(UPDATE, deal(OPPORTUNITY=5))]
    assert find_recovered(two, {}) == [two[0]]
    chain = [refused(UPDATE, deal(SUMMA=5)), refused(UPDATE, deal(SUM=5), iteration=2), ran(UPDATE, deal(OPPORTUNITY=5), iteration=3)]
    assert find_recovered(chain, {}) == chain[:2]


async def test_a_command_that_failed_makes_nothing_good() -> None:
    """Only the commands of a batch that ran count."""
    ctx = Fake(
        reply(step(UPDATE, id=1, fields={"X": 5})),
        reply(step("batch", cmd={"a": "crm.deal.update?id=1&fields[OPPORTUNITY]=5", "b": "crm.deal.get?id=2"})),
        reply(text="Готово."),
        results=[
            done(status="refused", reason=WRONG),
            done(
                method="batch",
                commands=(
                    CommandReport(key="a", method=UPDATE, status="error"),
                    CommandReport(key="b", method="crm.deal.get", status="success"),
                ),
            ),
        ],
    )
    assert "gate-param-unknown" in codes(await run(ctx))


async def test_the_limit_leaves_one_plan_of_a_step_that_was_tried_again() -> None:
    """A step proposed twice stands once in what is left."""
    no = done(status="refused", reason=CLOSED)
    ctx = Fake(reply(step("crm.deal.delete", id=1)), reply(step(), step("crm.deal.delete", id=1)), results=[no, done(), no])
    end = await run(ctx, most=2)
    assert [item.method for item in end.next_planned_actions] == ["crm.deal.delete"]


async def test_a_step_refused_twice_ends_the_turn() -> None:
    """The third call of the model is saved; the person reads why it was refused, and that it is not tried again."""
    no = done(status="refused", reason=CLOSED)
    ctx = Fake(reply(step("crm.deal.delete", id=1)), reply(step("crm.deal.delete", id=2)), results=[no, no])
    end = await run(ctx)
    assert (end.reason, codes(end)) == ("limit", ["gate-closed", "refused-twice"])


async def test_a_step_refused_twice_beside_something_new_lets_the_turn_go_on() -> None:
    """What else was asked for is still worked on."""
    no = done(status="refused", reason=CLOSED)
    first, second = reply(step("crm.deal.delete", id=1)), reply(step("crm.deal.delete", id=1), step("crm.lead.list"))
    end = await run(Fake(first, second, reply(text="Вот лиды."), results=[no, no, done()]))
    assert (end.reason, codes(end)) == ("answered", ["gate-closed"])


def told(world: World, locale: Locale = "ru") -> str:
    """The whole answer as the person reads it."""
    row = next(row for row in world.outbox() if row.kind == "reply")
    return to_plain_text(render_reply(Reply.model_validate(row.body), Translator(locale)))


def planned(session: Any) -> list[str]:
    return [item["method"] for item in session.state.agent.next_planned_actions]


async def test_a_withdrawal_is_one_neutral_line(world: World) -> None:
    """Two cards taken back at the person's word: one line that names both, no warning, and nothing of them stays planned."""
    session = await world.session()
    wishes = [raise_sum(), raise_sum(70_000, 482)]
    world.model.will(
        answer(*wishes), answer(*({**one, "confirmation_decision": "deny"} for one in wishes), text="Хорошо."), answer(text="Снял.")
    )
    await world.turn(session, message("подними суммы сделок 481 и 482"))
    world.outbox()
    await world.turn(session, message("не надо"))
    text = told(world)
    assert text.count("Снято") == 1
    assert "⚠️" not in text
    assert "«Ромашка»" in text
    assert "«Вектор»" in text
    assert planned(session) == []


async def test_what_was_withdrawn_is_named_as_on_its_card(world: World) -> None:
    """People and records by name, where «№8» and «сделка №482» stood."""
    session = await world.session()
    wish = plain_step("tasks.task.add", {"fields": {"TITLE": "Счёт", "RESPONSIBLE_ID": 8, "UF_CRM_TASK": ["D_482"]}})
    world.model.will(answer(wish), answer({**wish, "confirmation_decision": "deny"}, text="Хорошо."), answer(text="Снял."))
    await world.turn(session, message("поставь Борису задачу Счёт по Вектору"))
    world.outbox()
    await world.turn(session, message("не надо"))
    line = next(line for line in told(world).split("\n") if line.startswith("Снято: создание задачи «Счёт»"))
    assert "Борис Седов" in line
    assert "«Вектор»" in line
    assert "№" not in line.replace("«Вектор» №482", "")


async def test_a_withdrawal_without_a_word_of_the_model_is_told_as_none_that_failed(world: World) -> None:
    """An empty answer after the withdrawal: the line stands alone, and nothing is said to be not made."""
    session = await world.session()
    world.model.will(answer({**raise_sum(), "confirmation_decision": "deny"}), *[answer(text="[[list 1]]")] * 2)
    await world.turn(session, message("не меняй сумму 481"))
    text = told(world)
    assert text.startswith("Снято: изменение сделки")
    assert "Не сделано" not in text
    assert planned(session) == []


async def test_a_plan_of_the_shadow_loses_what_was_withdrawn(tmp_path: Path) -> None:
    """Beside a step that is only planned, and alone."""
    async with a_world(tmp_path, mode="shadow") as world:
        session = await world.session()
        deny = {**raise_sum(), "confirmation_decision": "deny"}
        world.model.will(answer(deny, raise_sum(70_000, 482)), answer(deny), answer(text="Снял."))
        await world.turn(session, message("подними 482, а 481 не трогай"))
        assert [item["params"]["id"] for item in session.state.agent.next_planned_actions] == [482]
        await world.turn(session, message("и это не надо"))
        assert planned(session) == []


@pytest.mark.parametrize("approve", [True, False])
async def test_a_card_decided_while_the_turn_goes_on_is_planned_no_more(world: World, *, approve: bool) -> None:
    """The press comes between the card and the end of the turn."""
    held = Held()
    world.portal.will("tasks.task.add", held)
    world.model.will(answer(raise_sum(), plain_step("tasks.task.add", {"fields": {"TITLE": "А"}})))
    async with world.working():
        await world.orchestrator.receive([message("подними сумму сделки 481 до 1 200 000 и поставь задачу")])
        await held.arrived.wait()
        card = world.events("ConfirmationRequested")[0].data
        await world.orchestrator.receive([press(card, approve=approve)])
        await until(lambda: (CHAT, "express") not in world.sql.list_ready_sessions())
        held.release.set()
        await world.idle()
    session = await world.session(owner="two")
    assert planned(session) == []


@pytest.mark.parametrize("how", ["denied", "executed"])
async def test_a_step_that_waits_on_an_earlier_card_goes_with_it(world: World, how: str) -> None:
    """Asked for twice, it waits on one card; the decision takes both steps out of the plan."""
    world.model.will(answer(raise_sum()), answer(raise_sum()))
    await world.work(message("подними сумму сделки 481 до 1 200 000"))
    await world.work(message("подними сумму сделки 481 до 1 200 000"))
    (card,) = world.events("ConfirmationRequested")
    assert world.events("TurnFinished")[-1].data["next_planned_actions"][0]["slot"] != card.data["slot"]
    await world.work(press(card.data, approve=how == "executed"))
    after = await world.session(owner="two")
    assert after.state.cards[card.data["confirmation_id"]].status == how
    assert planned(after) == []


async def test_stopping_a_shadow_plan_leaves_nothing_of_it(tmp_path: Path) -> None:
    """What the person stopped is not proposed again."""
    async with a_world(tmp_path, mode="shadow") as world:
        held = Held()
        world.portal.will("crm.deal.get", held)
        world.model.will(answer(raise_sum()))
        async with world.working():
            await world.orchestrator.receive([message("подними сумму сделки 481 до 1 200 000")])
            await held.arrived.wait()
            await world.orchestrator.receive([command("stop")])
            await until(lambda: (CHAT, "express") not in world.sql.list_ready_sessions())
            held.release.set()
            await world.idle()
        assert planned(await world.session(owner="two")) == []


async def test_an_error_of_the_portal_that_the_model_repaired_is_not_told(world: World) -> None:
    """Through gate and journal: the portal says no to the first form, the second is done, and the answer stands alone."""
    session = await world.session()
    world.portal.will("tasks.task.add", says(400, {"error": "ERROR_CORE", "error_description": "Invalid parameters"}))
    first = plain_step("tasks.task.add", {"fields": {"TITLE": "Позвонить", "DESCRIPTION": "утром", "PRIORITY": 1}})
    second = plain_step("tasks.task.add", {"fields": {"TITLE": "Позвонить", "DESCRIPTION": "утром", "PRIORITY": 2}})
    world.model.will(answer(first), answer(second), answer(text="Поставил."))
    await world.turn(session, message("поставь задачу Позвонить с описанием утром"))
    notices = [notice["code"] for row in world.outbox() for notice in row.body.get("notices", [])]
    assert notices == ["made"]
    assert planned(session) == []


@pytest.mark.parametrize(("second", "hidden"), [("@user:Зоя Петрова", True), ("@user:Анна", False), ("@me", False)])
async def test_a_name_is_made_good_by_one_like_it_only(second: str, *, hidden: bool) -> None:
    """A task for somebody else than was asked for does not hide that the one who was asked for is not known."""
    unknown = Unresolved(notice=Notice(code="user-not-found", args={"name": "Зоя"}), detail="nobody")
    task = {"TITLE": "Позвонить", "RESPONSIBLE_ID": "@user:Зоя"}
    ctx = Fake(reply(step(TASK, fields=task)), reply(step(TASK, fields={**task, "RESPONSIBLE_ID": second})), reply(text="Готово."))
    ctx.resolve = lambda **args: unknown if args["reference"] == "@user:Зоя" else Resolved(value=9)
    assert codes(await run(ctx)) == ([] if hidden else ["user-not-found"])


async def test_a_record_that_was_not_found_is_made_good_by_one_of_that_title(world: World) -> None:
    """The list that the model reads in between has the title; the portal did not answer the search for it."""
    session = await world.session()
    wrong = plain_step("crm.deal.update", {"id": "@deal:Ромашка 2", "fields": {"OPPORTUNITY": 5}})
    world.model.will(answer(wrong), answer(plain_step("crm.deal.list", {})), answer(raise_sum(5), text="Меняю."))
    await world.turn(session, message("поставь сделке 481 сумму 5"))
    assert "Ромашка 2" in told(world), "the record is called otherwise"
    assert planned(session) == ["crm.deal.update", "crm.deal.update"]


@pytest.mark.req("S004-X7")
@pytest.mark.parametrize(("code", "method", "stays"), [
    ("gate-param-unknown", "crm.deal.list", False), ("not-found", "crm.deal.get", False), ("gate-param-unknown", UPDATE, True),
    ("portal-not-reached", "crm.deal.list", True), ("portal-refused", "crm.deal.list", True),
])  # fmt: skip
def test_a_wrongly_written_read_is_no_plan_to_go_on_with(code: str, method: str, stays: bool) -> None:  # noqa: FBT001 - a table
    """«Продолжай» would only fail again; a change, and a read that the portal did not answer, are still wanted."""
    first = refused(method, {"id": 5}, notice=Notice(code=code))
    assert list_open_steps([first], {}) == ([first.entry] if stays else [])

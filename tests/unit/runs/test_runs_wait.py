"""A run goes through its nodes, waits, says so after a day, is woken and ends: what it waits for comes once, and nothing is done twice."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.i18n.translate import Translator
from bot.rendering.replies import render_reply
from bot.rendering.spans import to_plain_text
from orchestrator.domain.actor import Actor
from orchestrator.domain.inputs import FeatureClick
from orchestrator.domain.outputs import Reply
from orchestrator.domain.run_inputs import RunOrder
from orchestrator.engines.runs import Ask, Option, RunContext, RunEffect, RunResult, run_all
from orchestrator.runtime import worker
from state.clock import generate_id
from state.events.runs import InputAwaited
from state.journal.run_index import RunFilter
from state.journal.store import Commit, InboxRow, StoreUnwritable
from state.sql import build_sqlite_url, open_store
from tests.unit.runs.function_kit import a_function_world
from tests.unit.runs.runs_kit import RUN, a_run_world, events, index, start, steps, work_through
from tests.unit.spine_kit import ANNA, BORIS, CHAT, NOW, World, command, message, press, raise_sum, reply, until

WRITE = {"write": "crm.deal.update", "params": {"id": 481, "fields": {"OPPORTUNITY": 1200000}}}


def texts(world: World) -> list[str]:
    return [part["text"] for row in world.outbox() if row.kind == "reply" for part in row.body["parts"]]


def order(what: str, *, actor: Actor = ANNA, key: str = RUN) -> InboxRow:
    """A person's order to a run."""
    fresh = generate_id()
    return InboxRow(
        id=fresh, source=f"order:{fresh}", session=key, lane="express", kind=RunOrder.KIND, actor=actor.model_dump(mode="json"),
        body=RunOrder(order=what).to_json(), received_at=NOW,
    )  # fmt: skip


def click(*words: str, actor: Actor = ANNA) -> InboxRow:
    """A click on a button of a run in its chat."""
    fresh = generate_id()
    body = FeatureClick(words=words, callback_id=fresh).to_json()
    return InboxRow(
        id=fresh, source=f"click:{fresh}", session=CHAT, lane="express", kind=FeatureClick.KIND, actor=actor.model_dump(mode="json"),
        body=body, received_at=NOW,
    )  # fmt: skip


async def test_a_chosen_option_goes_to_the_run_once(tmp_path: Path) -> None:
    """The first press answers the question; the second finds it closed and changes nothing."""
    plan = steps({"ask": "Какой тариф?", "options": ["Базовый", "Полный"]}, {"say": "Тариф: {s0}"})
    async with a_run_world(tmp_path, {"plan": plan}) as world:
        await world.work(start("plan"))
        (asked,) = [row for row in world.outbox() if row.kind == "reply"]
        words = asked.body["actions"][1]["words"]
        await world.work(click(*words), click(*words))
        assert texts(world)[-2:] == ["Тариф: Полный", "Готово."]
        assert len(events(world, "RunWoken")) == 1


async def test_what_one_session_stores_for_another_is_handled_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run begins, asks, hears clicks and words and ends, though the worker would look for work by itself only after an hour."""
    monkeypatch.setattr(worker, "POLL", 3600.0)
    plan = steps({"ask": "Какой тариф?", "options": ["Базовый", "Полный"]}, {"ask": "Как зовут?"}, {"say": "{s1}: {s0}"})
    async with a_run_world(tmp_path, {"plan": plan}) as world, world.working() as orchestrator:
        await orchestrator.receive([command("steps", args="plan")])
        await until(lambda: [one.status for one in world.sql.list_runs(RunFilter())] == ["waiting"])
        key = f"run:{world.sql.list_runs(RunFilter())[0].run_id}"
        (asked,) = [row for row in world.outbox() if row.kind == "reply"]
        await orchestrator.receive([click(*asked.body["actions"][1]["words"])])
        await until(lambda: bool(world.events("InputAwaited")))
        await orchestrator.receive([message("Иван")])
        await until(lambda: bool(events(world, "RunFinished", key=key)))
        assert "Иван: Полный" in texts(world)


@pytest.mark.parametrize("failures", [1, 3])
async def test_words_that_come_while_a_question_cannot_be_noted_are_its_answer(
    tmp_path: Path, failures: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The person sees the question, and the disk is full when the chat is to note it: the words are no request, and begin no turn."""
    monkeypatch.setattr(worker, "POLL", 0.1)
    plan = steps({"ask": "Как зовут?"}, {"say": "Записал: {s0}"})
    async with a_run_world(tmp_path, {"plan": plan}) as world, world.working() as orchestrator:
        commit, failed = world.store.commit_then, 0

        async def fail_first(step: Commit, then: Any) -> None:
            nonlocal failed
            if any(isinstance(event, InputAwaited) for one in (step, *step.earlier) for event in one.events) and failed < failures:
                failed += 1
                raise StoreUnwritable("the disk is full")
            await commit(step, then)

        monkeypatch.setattr(world.store, "commit_then", fail_first)
        await orchestrator.receive([start("plan")])
        await until(lambda: failed == 1)
        world.model.will(reply(text="как новый запрос"))
        await orchestrator.receive([message("Иван")])
        await world.idle()
        assert (failed, world.events("MessageReceived"), world.model.prompts) == (failures, [], [])
        assert texts(world)[-2:] == ["Записал: Иван", "Готово."]
        world.model.script.clear()


async def test_words_for_a_paused_run_are_taken_after_it_goes_on(tmp_path: Path) -> None:
    """The pause is told, and the chat listens on: the next words answer the question and begin no turn."""
    plan = steps({"ask": "Как зовут?"}, {"say": "Записал: {s0}"})
    async with a_run_world(tmp_path, {"plan": plan}) as world:
        await work_through(world, start("plan"), order("pause"), message("Иван"))
        assert world.codes()[-1] == "run-paused"
        await work_through(world, order("resume"), message("Пётр"))
        assert texts(world)[-2:] == ["Записал: Пётр", "Готово."]


async def test_a_question_that_nobody_answers_ends_by_itself(tmp_path: Path) -> None:
    """After its time the run goes on, and words that come later begin an ordinary turn."""
    plan = steps({"ask": "Как зовут?", "timeout": 600}, {"say": "Дальше"})
    async with a_run_world(tmp_path, {"plan": plan}) as world:
        await world.work(start("plan"))
        world.clock.advance(timedelta(minutes=11))
        await world.work()
        assert texts(world)[-2:] == ["Дальше", "Готово."]
        world.model.will("THOUGHT:\nничего\nACTION:\n[]\nASSISTANT:\nДобрый день")
        await world.work(message("Ольга"))
        assert texts(world) == ["Добрый день"]


async def test_a_sleeping_run_goes_on_when_its_time_has_come(tmp_path: Path) -> None:
    """It sleeps once, whatever else wakes it meanwhile."""
    plan = steps({"sleep": 3600}, {"say": "Проснулся"})
    async with a_run_world(tmp_path, {"plan": plan}) as world:
        await world.work(start("plan"))
        world.clock.advance(timedelta(minutes=59))
        await world.work(order("pause"), order("resume"))
        assert "Проснулся" not in texts(world)
        world.clock.advance(timedelta(minutes=2))
        await world.work()
        assert texts(world) == ["Проснулся", "Готово."]


async def test_a_child_gives_its_result_to_the_run_that_started_it(tmp_path: Path) -> None:
    """The parent waits for the end of the child, whose messages come to the same chat."""
    documents = {"plan": steps({"child": "inner"}, {"say": "Внутри: {s0}"}), "inner": steps({"say": "Я внутри"})}
    async with a_run_world(tmp_path, documents) as world:
        await world.work(start("plan"))
        assert texts(world) == ["Я внутри", "Внутри: {'s0': 'Я внутри'}", "Готово."]
        assert {row.status for row in world.sql.list_runs(RunFilter())} == {"done"}


async def test_a_cancelled_run_withdraws_its_card(tmp_path: Path) -> None:
    """A press that comes after the cancellation sends nothing."""
    async with a_run_world(tmp_path, {"plan": steps(WRITE)}) as world:
        await world.work(start("plan"))
        (shown,) = [row for row in world.outbox() if row.kind == "card"]
        await world.work(order("cancel"))
        assert index(world).status == "cancelled"
        await world.work(press(shown.body, key=RUN))
        assert world.portal.written("crm.deal.update") == []


async def test_a_stranger_cannot_cancel_a_run(tmp_path: Path) -> None:
    """Orders come from the owner, a lead or an administrator."""
    async with a_run_world(tmp_path, {"plan": steps(WRITE)}) as world:
        await work_through(world, start("plan"), order("cancel", actor=BORIS))
        assert index(world).status == "waiting"


async def test_a_paused_run_does_nothing_until_it_is_resumed(tmp_path: Path) -> None:
    """An approval while it is paused runs the call, and the run goes on only when it is resumed."""
    async with a_run_world(tmp_path, {"plan": steps(WRITE, {"say": "Дальше"})}) as world:
        await world.work(start("plan"))
        (shown,) = [row for row in world.outbox() if row.kind == "card"]
        await work_through(world, order("pause"), press(shown.body, key=RUN))
        assert len(world.portal.written("crm.deal.update")) == 1
        assert (index(world).status, "Дальше" in texts(world)) == ("paused", False)
        await world.work(order("resume"))
        assert texts(world)[-2:] == ["Дальше", "Готово."]


async def test_a_denied_write_can_be_retried_as_a_new_card(tmp_path: Path) -> None:
    """The retry proposes the refused call anew, with an effect of its own; what was said is not said again."""
    async with a_run_world(tmp_path, {"plan": steps({"say": "Начинаю"}, WRITE)}) as world:
        await world.work(start("plan"))
        (shown,) = [row for row in world.outbox() if row.kind == "card"]
        await world.work(press(shown.body, key=RUN, approve=False))
        assert index(world).status == "failed"
        await world.work(order("retry"))
        rows = world.outbox()
        (again,) = [row for row in rows if row.kind == "card" and row.body["status"] == "requested"]
        assert again.body["effect_id"] != shown.body["effect_id"]
        await world.work(press(again.body, key=RUN))
        assert len(world.portal.written("crm.deal.update")) == 1
        assert index(world).status == "done"


@pytest.mark.long
async def test_seven_hundred_answers_are_not_asked_for_again(tmp_path: Path) -> None:
    """A run that dies at its last node asks the model for that one only."""
    plan = {"things": [str(number) for number in range(699)], "prompt": "{thing}?", "summary": "{answers}"}
    async with a_run_world(tmp_path, {"plan": plan}) as world:
        world.model.will(*["ответ"] * 699, ConnectionError("the process dies here"))
        await world.work(start("plan", engine="fan"))
        assert index(world).status == "failed"
        world.model.will("итог")
        await world.work(order("retry"))
        assert (texts(world)[-1], len(world.model.prompts)) == ("итог", 701)


async def test_a_turn_of_the_agent_is_played_inside_of_a_run(tmp_path: Path) -> None:
    """Its card stands in the home chat; when it is decided, the run goes on with the agent's answer, and no model is asked twice."""
    plan = steps({"turn": "подними сумму сделки 481 до 1 200 000"}, {"say": "Дальше"})
    async with a_run_world(tmp_path, {"plan": plan}) as world:
        world.model.will(reply(raise_sum()))
        await world.work(start("plan"))
        (shown,) = [row for row in world.outbox() if row.kind == "card"]
        assert (shown.session, shown.body["home"]) == (CHAT, RUN)
        await world.work(press(shown.body, key=RUN))
        assert len(world.portal.written("crm.deal.update")) == 1
        assert texts(world)[-2:] == ["Дальше", "Готово."]
        assert len(world.model.prompts) == 1


async def test_a_button_of_a_run_that_is_not_there_is_answered_in_its_chat(tmp_path: Path) -> None:
    """The person hears that it is outdated; nothing is stored for a run that does not exist, and nothing waits to be delivered to it."""
    async with a_run_world(tmp_path, {"plan": steps({"say": "Готово"})}) as world:
        await world.work(click("run", RUN.removeprefix("run:"), "7f3a90c2", "0"), order("cancel"))
        assert [row.body["notice"]["code"] for row in world.outbox() if row.kind == "toast"] == ["choice-outdated"]
        assert (events(world), world.outbox("run")) == ([], [])


async def test_a_run_says_asks_the_model_and_ends(tmp_path: Path) -> None:
    """Its messages come to its home chat, its stream holds what each node gave, and the index says that it is done."""
    plan = steps({"say": "Начинаю"}, {"model": "скажи что-нибудь"}, {"say": "Модель: {s1}"})
    async with a_run_world(tmp_path, {"plan": plan}) as world:
        world.model.will("привет")
        await world.work(start("plan"))
        assert texts(world) == ["Начинаю", "Модель: привет", "Готово."]
        assert [one.type for one in events(world)] == ["RunStarted", "NodeDone", "ModelAsked", "NodeDone", "NodeDone", "RunFinished"]
        assert index(world).status == "done"


async def test_an_approved_write_lets_the_run_go_on(tmp_path: Path) -> None:
    """A card of a run stands in the home chat; the approval and the wake of the run are one commit, and the run goes on."""
    plan = steps({"write": "crm.deal.update", "params": {"id": 481, "fields": {"OPPORTUNITY": 1200000}}}, {"say": "Сумма: {s0}"})
    async with a_run_world(tmp_path, {"plan": plan}) as world:
        await world.work(start("plan"))
        (shown,) = [row for row in world.outbox() if row.kind == "card"]
        assert (shown.session, shown.body["home"], index(world).status) == (CHAT, RUN, "waiting")
        await world.work(press(shown.body, key=RUN))
        assert len(world.portal.written("crm.deal.update")) == 1
        assert texts(world) == ["Сумма: succeeded", "Готово."]
        order = [one.type for one in events(world)]
        assert order[order.index("CallSucceeded") + 1] == "RunWoken"


async def test_an_answer_in_words_goes_to_the_run_that_asked(tmp_path: Path) -> None:
    """The next message of the asked person is the answer; the one after it begins an ordinary turn."""
    plan = steps({"ask": "Как зовут клиента?"}, {"say": "Клиент: {s0}"})
    async with a_run_world(tmp_path, {"plan": plan}) as world:
        await world.work(start("plan"))
        assert texts(world) == ["Как зовут клиента?"]
        await world.work(message("Ольга"))
        assert texts(world) == ["Как зовут клиента?", "Клиент: Ольга", "Готово."]
        world.model.will("THOUGHT:\nничего\nACTION:\n[]\nASSISTANT:\nДобрый день")
        await world.work(message("привет"))
        assert texts(world) == ["Добрый день"]


async def test_news_about_a_call_of_a_run_go_to_the_chat_of_the_run(tmp_path: Path) -> None:
    """Another session that has something to say about it finds the home of the run; of a run that is not there nobody is told."""
    async with a_run_world(tmp_path, {"plan": steps({"ask": "Как зовут?"})}) as world:
        await world.work(start("plan"))
        session = await world.session("tg:1006")
        assert [await session.find_home(one) for one in (RUN, "run:nobody", "session:tg:5")] == [CHAT, "", "tg:5"]


ASK = steps({"ask": "Какой тариф?", "options": ["Базовый", "Полный"]}, {"say": "Тариф: {s0}"})
DAY = timedelta(hours=24, minutes=6)


def _reminders(world: World) -> list[Reply]:
    said = [Reply.model_validate(row.body) for row in world.outbox() if row.kind == "reply"]
    return [one for one in said if [notice.code for notice in one.notices] == ["run-reminder"]]


async def _pass(world: World, *times: timedelta) -> list[Reply]:
    """Let the time pass, and return the reminders that came."""
    found: list[Reply] = []
    for one in times:
        world.clock.advance(one)
        await world.work()
        found += _reminders(world)
    return found


@pytest.mark.req("G3")
async def test_a_question_of_yesterday_is_named_once_with_its_buttons(tmp_path: Path) -> None:
    """The button of the reminder answers as that of the question does; no second reminder comes."""
    async with a_run_world(tmp_path, {"plan": ASK}) as world:
        await world.work(start("plan"))
        assert await _pass(world, timedelta(hours=23)) == []
        (told,) = await _pass(world, timedelta(hours=2), DAY, DAY)
        assert to_plain_text(render_reply(told, Translator("ru"))) == "⏰ Запуск «plan» ждёт вас больше суток:\n• Какой тариф?"
        assert "run “plan” has waited for you" in to_plain_text(render_reply(told, Translator("en")))
        await world.work(click(*told.actions[1].words))
        assert index(world).status == "done"


async def test_what_was_answered_is_not_reminded_of(tmp_path: Path) -> None:
    async with a_run_world(tmp_path, {"plan": ASK}) as world:
        await world.work(start("plan"))
        (asked,) = [row for row in world.outbox() if row.kind == "reply"]
        await world.work(click(*asked.body["actions"][0]["words"]))
        assert await _pass(world, DAY, DAY) == []


async def test_a_cancelled_run_leaves_no_timer(tmp_path: Path) -> None:
    async with a_run_world(tmp_path, {"plan": ASK}) as world:
        await work_through(world, start("plan"), order("cancel"))
        assert world.sql.list_due_timers(world.clock.now() + timedelta(days=9)) == []


async def test_a_paused_run_reminds_after_it_goes_on(tmp_path: Path) -> None:
    """Who paused it knows of it."""
    async with a_run_world(tmp_path, {"plan": ASK}) as world:
        await work_through(world, start("plan"), order("pause"))
        assert await _pass(world, DAY, DAY) == []
        await world.work(order("resume"))
        assert len(await _pass(world, DAY, DAY)) == 1


async def test_several_waits_are_named_in_one_message(tmp_path: Path) -> None:
    """Two questions and a card that outlives the day: one reminder, without buttons, since it could not be told whose they are."""
    options = (Option(label="Да", value=1),)

    async def play(ctx: RunContext) -> RunResult:
        effect = RunEffect(method="crm.deal.update", params={"id": 481, "fields": {"OPPORTUNITY": 1200000}})
        await run_all(
            ctx.wait_input("a", Ask(text="Первый?", options=options)),
            ctx.wait_input("b", Ask(text="Второй?", options=options)),
            ctx.submit("c", effect),
        )
        return RunResult()

    async with a_function_world(tmp_path, play) as world:
        await world.work(start("plan"))
        (told,) = await _pass(world, DAY, DAY)
        text = to_plain_text(render_reply(told, Translator("ru")))
        assert ("Первый?" in text, "Второй?" in text, told.actions) == (True, True, ())


async def test_a_restart_reminds_neither_twice_nor_never(tmp_path: Path) -> None:
    """The timer is in the transaction of the wait, and goes in that of the reminder."""
    found: list[int] = []
    for number in range(3):
        store = open_store(build_sqlite_url(tmp_path / "own.db"))
        async with a_run_world(tmp_path, {"plan": ASK}, store=store) as world:
            await world.work(*([start("plan")] if not number else []))
            found.append(len(await _pass(world, number * DAY)))
    assert found == [0, 1, 0]

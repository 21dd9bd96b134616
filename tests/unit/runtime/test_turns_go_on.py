"""A turn that waited for a card goes on when it is decided: once, with what came of it, and through every crash."""

import asyncio
import contextlib
import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from engines.crm_agent.core.prompt import AFTER_CARDS
from orchestrator.domain.errors import ModelClientError
from orchestrator.gate.approve.confirmations import build_superseded_closing
from orchestrator.sessions import session
from tests.unit.runtime.kill_kit import work_killed
from tests.unit.spine_kit import World, a_world, command, effect, message, press, raise_sum, reply, step
from tests.unit.spine_portal import deal

TASK = step("tasks.task.add", {"fields": {"TITLE": "Позвонить", "RESPONSIBLE_ID": 7}})

COMMITS = 3
"""How often something is stored from the press to the next proposal: after each of them a process can die."""
SLOW_COMMITS = 7
"""More often than that is not stored either while the model is slow."""


async def ask(world: World, text: str = "подними сумму сделки 481", *steps: dict[str, object]) -> None:
    """A turn that ends with a card."""
    world.model.will(reply(*(steps or (raise_sum(),)), text="Прошу подтвердить."))
    await world.work(message(text))


async def decide(world: World, *, approve: bool = True, **body: object) -> None:
    """Press the buttons of all open cards, one after the other, and let what follows come to its end."""
    async with world.working() as orchestrator:
        while shown := [row.body for row in world.outbox() if row.kind == "card" and row.body["status"] == "requested"]:
            await orchestrator.receive([press(one, approve=approve, **body) for one in shown])  # type: ignore[arg-type]
            await world.idle()


def told(world: World) -> str:
    """The last message of the last prompt."""
    return world.model.prompts[-1][-1]["content"]


async def test_an_approved_card_lets_its_turn_go_on(world: World) -> None:
    """The model reads that the call was approved and done, and may propose the next step of the same turn."""
    await ask(world, "подними сумму сделки 481 и поставь задачу позвонить")
    world.model.will_go_on(reply(TASK, text="Теперь задача."))
    world.model.will(reply(text="Задача поставлена."))
    await decide(world)
    assert '"decided": "approved by Анна"' in world.model.prompts[1][-1]["content"]
    assert [event.data["goes_on"] for event in world.events("TurnFinished") if "goes_on" in event.data] == [True]
    assert world.types().count("MessageReceived") == 1
    assert world.types().count("TurnResumed") == 1
    turns = {event.data["turn_id"] for event in world.events("TurnFinished", "ModelAnswered", "TurnResumed")}
    assert len(turns) == 1


async def test_a_withdrawal_beside_the_card_is_told_once(world: World) -> None:
    """«нет, другую»: the first card is withdrawn and another asked; when that is approved, the turn goes on without telling it again."""
    await ask(world)
    await ask(world, "нет, в сделке 482", {**raise_sum(), "confirmation_decision": "deny"}, raise_sum(deal=482))
    await decide(world)
    last = world.events("TurnFinished")[-1].data
    assert last["resumed"]
    assert "denied-by-model" not in last["history"]


@pytest.mark.parametrize("approve", [True, False])
async def test_a_decided_card_has_used_up_the_only_order(world: World, *, approve: bool) -> None:
    """What the model adds behind it was not ordered, whether the person approved or denied."""
    await ask(world)
    world.model.will_go_on(reply(TASK, text="Теперь задача."))
    await world.work(press(next(row.body for row in world.outbox() if row.kind == "card"), approve=approve))
    assert [event.data["method"] for event in world.events("ConfirmationRequested")] == ["crm.deal.update", "tasks.task.add"]
    assert [method for method, _ in world.portal.written()] == ["crm.deal.update"][:approve]


async def test_what_was_told_is_not_told_again(world: World) -> None:
    """The steps that ran or were refused before the card are neither sent nor reported a second time."""
    await ask(world, "поставь задачу, подними сумму 481 и подними сумму 500", TASK, raise_sum(), raise_sum(deal=500))
    before = [code for row in world.sql.list_due_outbox("tg", world.clock.now()) for code in _codes(row.body)]
    assert before.count("made") == 1
    await decide(world)
    assert [event.data["reason"] for event in world.events("TurnFinished")] == ["waiting", "answered"]
    assert world.portal.written("tasks.task.add") == world.portal.written()[:1]
    assert len(world.portal.written()) == 2
    assert len(world.events("StepRefused")) == 1
    assert [row.kind for row in world.outbox() if row.kind == "reply"] == []


def _codes(body: Mapping[str, Any]) -> list[str]:
    return [notice["code"] for notice in body.get("notices", ())]


async def test_a_silent_end_sends_no_message(world: World) -> None:
    """When nothing is left, the card alone says what was done."""
    await ask(world)
    world.outbox()
    await ask_again(world)
    assert world.model.prompts[-1][-1]["content"].endswith(AFTER_CARDS)
    assert [row.kind for row in world.outbox() if row.kind == "reply"] == []


async def ask_again(world: World) -> None:
    """Approve what waits, found in the journal."""
    asked = world.events("ConfirmationRequested")[-1].data
    await world.work(press({**asked, "status": "requested"}))


async def test_a_denial_is_told_with_its_author(world: World) -> None:
    """The model reads who denied the call; the denied step is not sent, and does not stay planned."""
    await ask(world)
    world.model.will_go_on(reply(text="Хорошо, оставил как было."))
    await decide(world, approve=False)
    assert "denied by Анна" in told(world)
    session = await world.session()
    assert session.state.agent.next_planned_actions == []
    assert world.portal.written() == []


async def test_the_turn_waits_for_its_last_card(world: World) -> None:
    """Two cards: the first decision does not wake the model, the second does, once."""
    await ask(world, "обе сделки", raise_sum(), raise_sum(deal=482))
    cards = [event.data for event in world.events("ConfirmationRequested")]
    await world.work(press({**cards[0], "status": "requested"}))
    assert len(world.model.prompts) == 1
    await world.work(press({**cards[1], "status": "requested"}, approve=False))
    assert len(world.model.prompts) == 2
    assert "approved by Анна" in told(world)
    assert "denied by Анна" in told(world)


async def test_an_expired_card_wakes_nobody(world: World) -> None:
    """Nobody decided: the card says so, and the model is not asked in the middle of the night."""
    await ask(world)
    world.clock.advance(timedelta(days=8))
    async with world.working():
        await world.idle()
    assert [event.type for event in world.events("ConfirmationExpired")] == ["ConfirmationExpired"]
    assert len(world.model.prompts) == 1


async def test_a_withdrawal_by_the_model_wakes_nobody(world: World) -> None:
    """«Не надо»: the next turn withdraws the card, and the turn that asked does not go on about it."""
    await ask(world)
    world.model.will(reply({**raise_sum(), "confirmation_decision": "deny"}, text="Отменил."), reply(text="Отменил."))
    await world.work(message("не надо"))
    assert world.types().count("TurnResumed") == 0


async def test_a_new_conversation_forgets_the_turn(world: World) -> None:
    """After /new the card may still be decided, and nothing goes on."""
    await ask(world)
    await world.work(command("new"))
    await ask_again(world)
    assert len(world.portal.written()) == 1
    assert world.types().count("TurnResumed") == 0


async def test_an_unreachable_model_is_said_in_one_line(world: World) -> None:
    """The call is done; the person hears that what is left is left."""
    await ask(world)
    world.model.will_go_on(ModelClientError("down"))
    await ask_again(world)
    assert world.codes()[-1:] == ["degraded-after-card"]


async def test_an_edited_card_lets_the_turn_go_on_too(world: World) -> None:
    """The replaced card does not wake the model, its successor does, with what was sent in the end."""
    session = await world.session()
    world.model.will(reply(raise_sum(), text="Прошу подтвердить."))
    await world.turn(session, message("подними сумму"))
    first = next(iter(session.state.cards.values()))
    again = effect("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 1_300_000}}, slot=f"edit:{first.confirmation_id}:1")
    second = await world.asked(session, again)
    closing = build_superseded_closing(first, why="edited", by=second.confirmation_id)
    await session.commit(closing.event, actor="tg:1007", effects=[closing.change])
    await session.close()
    await world.work(press(second))
    assert '"decided": "approved by Анна"' in told(world)
    assert world.types().count("TurnResumed") == 1


async def test_a_halted_plan_goes_on_with_its_rest(tmp_path: Path) -> None:
    """With halt_on_block the steps behind the card were not begun: after the approval they are, without asking the model for them."""
    async with a_world(tmp_path, policy={"halt_on_block": True}) as world:
        await ask(world, "подними сумму 481 и поставь задачу", raise_sum(), TASK)
        assert world.portal.written() == []
        await ask_again(world)
        assert [method for method, _ in world.portal.written()] == ["crm.deal.update", "tasks.task.add"]


@pytest.mark.parametrize("kept", range(COMMITS + 1))
async def test_killed_anywhere_between_approval_and_the_next_proposal(world: World, kept: int) -> None:
    """Killed after any commit: the write is made once, each answer is paid once, and the next step is proposed."""
    await ask(world, "подними сумму сделки 481, потом сделки 482")
    shown = world.events("ConfirmationRequested")[-1].data
    world.model.will_go_on(*[reply(raise_sum(deal=482), text="И вторая.")] * 4)
    died = await work_killed(world, press({**shown, "status": "requested"}), kept=kept)
    assert bool(died) == (kept < COMMITS)
    check_went_on(world)


@pytest.mark.parametrize("kept", range(SLOW_COMMITS))
async def test_killed_anywhere_while_a_slow_model_thinks(world: World, monkeypatch: pytest.MonkeyPatch, kept: int) -> None:
    """What is noted is stored by itself while the model thinks; killed after any commit of those, the same holds."""
    await ask(world, "подними сумму сделки 481, потом сделки 482")
    shown = world.events("ConfirmationRequested")[-1].data
    world.model.will_go_on(*[reply(raise_sum(deal=482), text="И вторая.")] * 4)
    answer, stored = world.model.stream_chat, world.sql.commit
    commits = [0]

    def count(what: Any) -> Any:
        commits[0] += 1
        return stored(what)

    async def think(*args: Any, **named: Any) -> Any:
        before = commits[0]
        with contextlib.suppress(TimeoutError):  # in a process that is dead nothing is stored any more
            async with asyncio.timeout(0.1):
                while commits[0] == before:  # noqa: ASYNC110 - the store tells nobody of a commit
                    await asyncio.sleep(0.002)
        return await answer(*args, **named)

    monkeypatch.setattr(world.sql, "commit", count)
    monkeypatch.setattr(world.model, "stream_chat", think)
    with patch.object(session, "BUFFER_SECONDS", 0.0):  # not by monkeypatch, which might give back what the world has set, after the world
        died = await work_killed(world, press({**shown, "status": "requested"}), kept=kept)
    assert died or kept >= COMMITS  # what is noted may be stored in more steps or in fewer
    check_went_on(world)


def check_went_on(world: World) -> None:
    """The write was made once, each answer was paid once, and the next step is proposed."""
    world.model.after_cards.clear()
    answers = [event.data["iteration"] for event in world.events("ModelAnswered")]
    assert answers == [1, 2]
    assert [params["id"] for _, params in world.portal.written("crm.deal.update")] == [481]
    assert [event.data["params"]["id"] for event in world.events("ConfirmationRequested")] == [481, 482]
    assert [event.data["reason"] for event in world.events("TurnFinished")] == ["waiting", "waiting"]
    assert world.types().count("TurnResumed") == 1


async def test_what_days_were_taken_for_is_seen_after_a_card_as_before(world: World) -> None:
    """Failed before: the observation lost its `dates`, so an answer after the card could not name the period."""
    read = step("crm.deal.list", {"filter": {"DATE_CREATE": "@date:прошлый месяц"}, "select": ["ID", "TITLE"]})
    world.model.will(reply(read), reply(raise_sum(), text="Прошу подтвердить."))
    await world.work(message("сделки прошлого месяца, и подними сумму сделки 481"))
    world.model.will_go_on(reply(text="Готово."))
    await decide(world)
    before, after = ([one["content"] for one in prompt if one["content"].startswith("OBSERVATION 1")] for prompt in world.model.prompts[1:])
    assert '"dates": ["DATE_CREATE 2026-10-01..2026-10-31"]' in before[0]
    assert _drop_fence(before[0]) == _drop_fence(after[0])


def _drop_fence(text: str) -> str:
    """Each prompt has marks of its own."""
    return re.sub(r"[0-9a-f]{12,}", "", text)


async def test_later_prompts_know_what_was_decided(world: World) -> None:
    """The history says by code who decided what, also where the model had nothing to add."""
    await ask(world, "обе сделки 481 и 482", raise_sum(), raise_sum(deal=482))
    first, second = [event.data for event in world.events("ConfirmationRequested")]
    await world.work(press({**first, "status": "requested"}))
    await world.work(press({**second, "status": "requested"}, approve=False))
    world.model.will(reply(text="Пожалуйста."))
    await world.work(message("спасибо"))
    said = "[decided: crm.deal.update 481 approved by Анна, done; crm.deal.update 482 denied by Анна]"
    assert said in [line["content"] for line in world.model.prompts[-1]]


async def test_a_long_list_is_remembered_as_it_was_read(world: World) -> None:
    """Too long for the event, it lies in a blob: the model goes on with the rows that it acted on, and not with none."""
    for number in range(600, 640):
        world.portal.records["deal", number] = deal(number, f"Сделка {number}", "1000.00", owner=7)
    world.model.will(reply(step("crm.deal.list"), text="Смотрю."), reply(raise_sum(2000, deal=601), text="Поднимаю."))
    await world.work(message("подними сумму самой мелкой сделки"))
    reads = [method for method, _ in world.portal.requests].count("crm.deal.list")
    world.portal.records["deal", 601]["TITLE"] = "Переименована"
    await decide(world)
    assert "Сделка 601" in str(world.model.prompts[-1])
    assert "Переименована" not in str([line for line in world.model.prompts[-1] if "OBSERVATION 1" in str(line)])
    assert [method for method, _ in world.portal.requests].count("crm.deal.list") == reads

"""What may change between the press on a card and the moment when its turn goes on: the mode, the freeze, the budget, the people, the chat."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.actor import Mode
from orchestrator.domain.outputs import Notice
from orchestrator.gate.approve import confirmations
from orchestrator.reports.erasure.erase import ErasureFiles, erase_person, inspect_person
from orchestrator.runtime import dispatch
from orchestrator.sessions.model_calls import UnlimitedBudget
from state.journal.freeze_switch import SwitchOperator
from state.journal.store import InboxRow
from state.sql.dialect import build_sqlite_url
from state.sql.store import open_store
from tests.unit.spine_kit import ANNA, BORIS, CHAT, VERA, World, a_world, command, message, press, raise_sum, reply

SECOND = raise_sum(deal=482)
GROUP = "tg:-100500"


async def ask(world: World, *steps: dict[str, Any], key: str = CHAT) -> list[dict[str, Any]]:
    """A turn that ends with cards; they are returned, and whatever was said is taken off the outbox."""
    world.model.will(reply(*(steps or (raise_sum(),)), text="Прошу подтвердить."))
    await world.work(message("подними сумму сделки 481, потом 482", key=key))
    world.outbox()
    return [{**event.data, "status": "requested"} for event in world.events("ConfirmationRequested", key=key)]


async def decide_only(world: World, row: InboxRow) -> None:
    """The decision is worked and the call made; the input that lets the turn go on waits."""
    session = await world.session(row.session)
    await world.put(row)
    taken = await world.store.take_inbox(session.key, row.lane)
    assert taken is not None
    await dispatch.run_input(taken, session, world.tools)
    await session.close()
    world.outbox()


def written(world: World) -> list[object]:
    """The record of each change, and the method of what made one."""
    return [params.get("id", method) for method, params in world.portal.written()]


async def freeze(world: World, *, frozen: bool = True) -> None:
    hand = SwitchOperator(key=ANNA.key, name="Дина", via="tg", at=world.clock.now())
    switch = world.gate.deps.switch
    await (switch.freeze(hand, "проверка") if frozen else switch.release(hand))  # type: ignore[attr-defined]


@pytest.mark.req("S004-A2")
@pytest.mark.parametrize("mode", ["shadow", "canary"])
async def test_a_safer_mode_holds_for_what_is_proposed_then(world: World, mode: Mode) -> None:
    """The call of the card is made; of what the turn proposes in the safer mode nothing is written, and the person is told."""
    (card,) = await ask(world)
    await decide_only(world, press(card))
    world.orchestrator.tools = replace(world.tools, mode=mode)
    world.model.will_go_on(reply(SECOND, text="Теперь вторая."))
    world.model.will(*([reply(text="Не вышло.")] if mode == "canary" else []))
    await world.work()
    assert world.types().count("TurnResumed") == 1
    assert written(world) == [481]
    assert len(world.events("ConfirmationRequested")) == 1
    assert world.events("TurnFinished")[-1].data["reason"] == {"shadow": "planned", "canary": "answered"}[mode]
    assert len(world.events("StepRefused")) == int(mode == "canary")
    assert next(row.kind for row in world.outbox()) == "reply"


async def test_a_shadow_before_the_press_runs_nothing(world: World) -> None:
    """The approved call is refused by the mode, the person reads that, and the turn goes on with the refusal."""
    (card,) = await ask(world)
    world.orchestrator.tools = replace(world.tools, mode="shadow")
    await world.work(press(card))
    assert written(world) == []
    assert "card:refused" in world.codes()


async def test_a_press_while_frozen_wakes_nobody(world: World) -> None:
    """The card waits on, and so does its turn; pressed again after the release, the turn goes on once."""
    (card,) = await ask(world)
    await freeze(world)
    await world.work(press(card))
    assert (written(world), world.types().count("TurnResumed")) == ([], 0)
    await freeze(world, frozen=False)
    world.clock.advance(timedelta(minutes=1))
    await world.work(press(card))
    assert (written(world), world.types().count("TurnResumed")) == ([481], 1)


class SpentBudget(UnlimitedBudget):
    """A budget of which nothing is left."""

    async def reserve(self, *_: Any) -> Notice:  # type: ignore[override]
        return Notice(code="budget-over")


async def test_a_budget_that_is_used_up_meanwhile(world: World) -> None:
    """The model is not asked; the person reads that what is left is left, and no step is taken twice."""
    (card,) = await ask(world)
    await decide_only(world, press(card))
    world.orchestrator.tools = replace(world.tools, model_budget=SpentBudget())
    await world.work()
    assert len(world.model.prompts) == 1
    assert world.codes() == ["budget-over"]
    assert written(world) == [481]
    assert world.events("TurnFinished")[-1].data["reason"] == "budget"


def erase(world: World) -> None:
    """All that is stored of the person who asked is gone, and the lease of their session with it."""
    place = ErasureFiles(logs=world.logs, files=())
    erase_person(world.sql, inspect_person(world.sql, ANNA.key, place), place, now=world.clock.now(), by="cli:ops")
    world.clock.advance(timedelta(minutes=2))


@pytest.mark.parametrize("pressed", [True, False])
async def test_nothing_goes_on_for_somebody_who_was_erased(tmp_path: Path, *, pressed: bool) -> None:
    """Erased before or after the press: the model is not asked about what they had wanted, and nothing further is written."""
    async with a_world(tmp_path, store=open_store(build_sqlite_url(tmp_path / "sdelka.db"))) as world:
        (card,) = await ask(world)
        if pressed:
            await decide_only(world, press(card))
        erase(world)
        await world.work(*([] if pressed else [press(card, actor=VERA)]))
        assert len(world.model.prompts) == 1
        assert written(world) == ([481] if pressed else [])
        assert world.types().count("TurnResumed") == 0


async def test_a_lead_approves_after_the_asker_began_anew(world: World) -> None:
    """The call is made, since the card was left open; the turn that asked is forgotten, and the model is not asked about it."""
    (card,) = await ask(world)
    await world.work(command("new"))
    await world.work(press(card, actor=VERA))
    assert written(world) == [481]
    assert (len(world.model.prompts), world.types().count("TurnResumed")) == (1, 0)
    assert "card:executed" in world.codes()


async def test_a_lead_approves_after_the_asker_said_stop(world: World) -> None:
    """What they said to stop does not go on by itself when another person decides its card."""
    (card,) = await ask(world)
    world.clock.advance(timedelta(seconds=5))
    await world.work(replace(command("stop"), received_at=world.clock.now()))
    assert world.codes() == ["stop-paused"]
    await world.work(replace(command("stop"), received_at=world.clock.now()))
    assert world.codes() == ["nothing-to-stop"]
    world.clock.advance(timedelta(seconds=5))
    await world.work(replace(press(card, actor=VERA), received_at=world.clock.now()))
    assert "card:executed" in world.codes()
    assert written(world) == [481]
    assert (len(world.model.prompts), world.types().count("TurnResumed")) == (1, 0)


async def test_a_stop_of_another_person_stops_no_turn_that_waits(world: World) -> None:
    """In a group everybody stops their own: the turn of the one who asked goes on."""
    (card,) = await ask(world, key=GROUP)
    world.clock.advance(timedelta(seconds=5))
    await world.work(replace(command("stop", actor=BORIS, key=GROUP), received_at=world.clock.now()))
    assert world.codes() == ["nothing-to-stop"]
    await world.work(press(card, key=GROUP))
    assert world.types(GROUP).count("TurnResumed") == 1


@pytest.mark.parametrize("first", ["decided", "expired"])
async def test_one_card_expires_and_one_is_decided(world: World, first: str) -> None:
    """Whichever comes first: the model is asked at most once, and after a person decided."""
    one, two = await ask(world, raise_sum(), SECOND)
    if first == "decided":
        await world.work(press(one))
    timer = next(timer for timer in world.sql.list_due_timers(world.clock.now() + timedelta(days=30)) if two["confirmation_id"] in timer.id)
    if first == "expired":
        session = await world.session()
        await confirmations.expire(session.state.cards[two["confirmation_id"]], session, [])
        await session.commit(actor="system")
        await session.close()
        await world.work(press(one))
    else:
        world.clock.advance(timer.due_at - world.clock.now())
        await world.work()
    assert written(world) == [481]
    assert world.types().count("ConfirmationExpired") == 1
    assert world.types().count("TurnResumed") == int(first == "expired")
    if first == "expired":
        assert "nobody decided in time" in world.model.prompts[-1][-1]["content"]


async def test_a_message_between_the_press_and_the_next_step(world: World) -> None:
    """It is answered after the turn went on, knows what was decided, and asks for nothing twice."""
    (card,) = await ask(world)
    await decide_only(world, press(card))
    world.model.will_go_on(reply(SECOND, text="И вторая."))
    world.model.will(reply(text="Готово."))
    await world.work(message("а что там"))
    assert written(world) == [481]
    assert len(world.events("ConfirmationRequested")) == 2
    assert [event.data["reason"] for event in world.events("TurnFinished")] == ["waiting", "waiting", "answered"]
    assert any("approved by Анна, done" in line["content"] for line in world.model.prompts[-1])


async def test_in_a_group_only_who_may_decide_lets_a_turn_go_on(world: World) -> None:
    """A colleague's press counts for nothing; a lead's does, and the turn goes on with the rights of the one who asked."""
    (card,) = await ask(world, key=GROUP)
    await world.work(press(card, actor=BORIS, key=GROUP))
    assert (written(world), world.types(GROUP).count("TurnResumed")) == ([], 0)
    assert "toast:not-your-card" in world.codes()
    world.model.will_go_on(reply(SECOND, text="И вторая."))
    await world.work(press(card, actor=VERA, key=GROUP))
    assert written(world) == [481]
    assert {event.actor for event in world.events("TurnResumed", "TurnFinished", key=GROUP)} == {ANNA.key}
    fresh = world.events("ConfirmationRequested", key=GROUP)[-1].data
    assert (fresh["requested_by"], fresh["params"]["id"]) == (ANNA.key, 482)

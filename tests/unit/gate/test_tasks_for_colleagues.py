"""Who set a task for a colleague through the bot may change it afterwards; nobody else may whose own it is not."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import Outcome, Pending, Provenance
from tests.unit.gate.sandbox_kit import Desk, a_desk
from tests.unit.gate.test_rights_of_a_manager import BORIS, OTHER, OTHER_ACCOUNT, code, press, written
from tests.unit.spine_kit import effect

THIRD = Actor(key="tg:1009", name="Павел", bitrix_user_id=9)
COLLEAGUE = 8


@pytest.fixture
async def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    """A sandbox whose webhook is that of employee 1, with the shipped policy."""
    people = {one.key: one for one in (BORIS, OTHER, OTHER_ACCOUNT, THIRD)}
    async with a_desk(tmp_path) as made_desk:
        gate = made_desk.world.gate
        monkeypatch.setattr(gate, "_deps", replace(gate.deps, present=lambda one: people.get(one.key)))
        yield made_desk


async def wish(desk: Desk, method: str, params: dict[str, Any], actor: Actor) -> Outcome | Pending:
    """One effect of a manager, who named the task, in an answer of its own."""
    desk.count += 1
    named = frozenset(f"task:{number}" for number in range(8000, 8100))
    given = effect(method, params, slot=f"t1/{desk.count}/1", provenance=Provenance(message=None, targets=named, person_text="сделай"))
    return await desk.world.submit(desk.session, given, actor=actor)


async def settle(desk: Desk, found: Outcome | Pending, actor: Actor) -> Outcome:
    """The outcome, after a yes of the same person where a card asks."""
    return await press(desk, found, actor) if isinstance(found, Pending) else found


async def set_task(desk: Desk, actor: Actor = BORIS) -> int:
    """The number of a task for the colleague, made through the bot by `actor`."""
    found = await wish(desk, "tasks.task.add", {"fields": {"TITLE": "Договор", "RESPONSIBLE_ID": COLLEAGUE}}, actor)
    done = await settle(desk, found, actor)
    assert done.created.startswith("task:"), done
    return int(done.created.partition(":")[2])


def change(number: int) -> tuple[str, dict[str, Any]]:
    """A new title of the task."""
    return "tasks.task.update", {"taskId": number, "fields": {"TITLE": "Договор поставки"}}


@pytest.mark.req("S004-26")
@pytest.mark.parametrize("actor", [BORIS, OTHER_ACCOUNT])
async def test_who_set_a_task_for_a_colleague_changes_it(desk: Desk, actor: Actor) -> None:
    """The portal names the webhook's owner as its creator; the journal knows better, also under another account of the employee."""
    number = await set_task(desk)
    read = await wish(desk, "tasks.task.get", {"taskId": number}, actor)
    assert read.status == "succeeded", read.reason
    assert (await settle(desk, await wish(desk, *change(number), actor), actor)).status == "succeeded"
    assert (await settle(desk, await wish(desk, "tasks.task.complete", {"taskId": number}, actor), actor)).status == "succeeded"
    assert (await desk.ask("tasks.task.get", taskId=number))["task"]["title"] == "Договор поставки"


@pytest.mark.req("S004-26")
@pytest.mark.parametrize("act", [change, lambda number: ("tasks.task.get", {"taskId": number})])
async def test_nobody_else_touches_it(desk: Desk, act: Any) -> None:
    """Neither a third manager, nor somebody who set another task for the same colleague."""
    number = await set_task(desk)
    await set_task(desk, THIRD)
    desk.wire.sent.clear()
    assert code(await wish(desk, *act(number), THIRD)) == "gate-not-yours"
    both = {key: f"tasks.task.update?taskId={one}&fields[TITLE]=x" for key, one in {"a": number, "b": number + 1}.items()}
    assert code(await wish(desk, "batch", {"cmd": both}, THIRD)) == "gate-not-yours"
    assert written(desk) == []


@pytest.mark.req("S004-26")
async def test_a_task_that_the_webhooks_owner_made_by_hand_is_nobodys(desk: Desk) -> None:
    """The portal cannot tell it from one of the bot's; the journal can."""
    fields = {"TITLE": "Отчёт", "RESPONSIBLE_ID": COLLEAGUE}
    made = await desk.world.client.call("tasks.task.add", {"fields": fields}, repeatable=False)
    assert code(await wish(desk, *change(int(made.result["task"]["id"])), BORIS)) == "gate-not-yours"  # type: ignore[index, call-overload]


@pytest.mark.req("S004-26")
async def test_a_task_that_has_another_creator_now_is_theirs(desk: Desk) -> None:
    """Whom somebody made the creator in the portal has the rights of one."""
    number = await set_task(desk)
    await desk.world.client.call("tasks.task.update", {"taskId": number, "fields": {"CREATED_BY": 9}}, repeatable=False)
    assert code(await wish(desk, *change(number), BORIS)) == "gate-not-yours"
    assert (await settle(desk, await wish(desk, *change(number), THIRD), THIRD)).status == "succeeded"


@pytest.mark.req("S004-26")
async def test_a_deal_made_for_a_colleague_is_the_colleagues(desk: Desk) -> None:
    """Only kinds of records whose creator keeps rights in the portal, which deals are not."""
    found = await settle(desk, await wish(desk, "crm.deal.add", {"fields": {"TITLE": "x", "ASSIGNED_BY_ID": COLLEAGUE}}, BORIS), BORIS)
    number = int(found.created.partition(":")[2])
    assert code(await wish(desk, "crm.deal.update", {"id": number, "fields": {"TITLE": "y"}}, BORIS)) == "gate-not-yours"

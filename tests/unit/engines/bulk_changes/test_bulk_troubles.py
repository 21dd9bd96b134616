"""Whatever the portal does meanwhile, each record of an approved file is told as it is, and the run comes to its end."""

from collections import deque
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from orchestrator.domain import bulk
from sandbox.portal.errors import PortalError
from sandbox.portal.faults import Fault
from sandbox.portal.limits import OperatingLimit
from tests.unit.engines.bulk_changes.bulk_kit import Firm, a_bulk_world, decide, find_card, propose, read_end
from tests.unit.spine_kit import World

COUNT = 19
CHANGED = {"filter": {"COMMENTS": "Проверено"}}


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "PART", 4)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_bulk_world(tmp_path) as opened:
        yield opened


def get_firm(world: World) -> Firm:
    return cast("Firm", world.portal)


def break_updates(firm: Firm, monkeypatch: pytest.MonkeyPatch, trouble: Callable[[int], Exception | None]) -> None:
    """`trouble` gets the number of an update, from 1, and may end it before it is carried out."""
    perform, numbers = firm.box.perform, deque([0])

    def broken(caller: Any, name: str, *more: Any) -> Any:
        if name == "crm.deal.update":
            numbers.append(numbers.pop() + 1)
            if (error := trouble(numbers[-1])) is not None:
                raise error
        return perform(caller, name, *more)

    monkeypatch.setattr(firm.box, "perform", broken)


async def wait_and_read(world: World, rows: list[Any], *, steps: int = 12) -> list[tuple[str, dict[str, Any]]]:
    """Let time pass until the run is over."""
    budget = cast("Any", world.client)._operating
    for _ in range(steps):
        if rows and (ends := [row for row in rows if row.key.endswith(":progress")]) and ends[-1].body["notices"][0]["code"] == "bulk-done":
            break
        world.clock.advance(timedelta(minutes=11))
        budget._clock = partial(_tell_later, budget._clock)
        get_firm(world).box.ahead += timedelta(minutes=11)
        await world.work()
        rows = [*rows, *world.outbox()]
    return read_end(rows)


def _tell_later(clock: Callable[[], float]) -> float:
    return clock() + 660.0


async def count_changed(world: World) -> int:
    return len(await get_firm(world).read("crm.deal.list", CHANGED))


async def test_what_the_portal_refuses_is_named_and_the_rest_is_done(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    card = find_card(await propose(world))
    break_updates(get_firm(world), monkeypatch, lambda number: PortalError(400, "ERROR_CORE", "Запрещено") if number % 10 == 0 else None)
    done, left = read_end(await decide(world, card))
    assert done == ("bulk-done", {"made": 18, "count": COUNT})
    assert (left[1]["why"], left[1]["count"]) == ("bulk-refused", 1)
    assert await count_changed(world) == 18


async def test_what_a_full_time_budget_stopped_is_done_once_there_is_room(world: World) -> None:
    """Nothing is written twice for it."""
    firm = get_firm(world)
    card = find_card(await propose(world))
    firm.box.operating = OperatingLimit(6.0, cost={"crm.deal.update": 1.0})
    rows = await decide(world, card)
    assert 0 < await count_changed(world) < COUNT
    assert await wait_and_read(world, rows) == [("bulk-done", {"made": COUNT, "count": COUNT})]
    assert await count_changed(world) == COUNT


async def test_a_portal_that_never_has_room_ends_the_run_with_that_reason(world: World) -> None:
    card = find_card(await propose(world))
    get_firm(world).box.operating = OperatingLimit(0.0, window=1e9, cost={"crm.deal.update": 1.0})
    rows = await decide(world, card)
    done, left = await wait_and_read(world, rows)
    assert done[1]["made"] == await count_changed(world) < COUNT
    assert left[1]["why"] in {"portal-wait", "bulk-refused"}
    assert done[1]["made"] + left[1]["count"] == COUNT


@pytest.mark.parametrize("kind", ["504_html", "500_after"])
async def test_an_answer_that_was_lost_is_found_out_by_reading(world: World, kind: Any) -> None:
    firm = get_firm(world)
    card = find_card(await propose(world))

    async def spoil(number: int) -> None:
        if number == 2:
            firm.box.faults.armed.append(Fault(kind=kind, method="batch"))

    firm.meanwhile = spoil
    rows = await decide(world, card)
    assert await wait_and_read(world, rows) == [("bulk-done", {"made": COUNT, "count": COUNT})]
    assert len(firm.list_writes()) == len(set(firm.list_writes())) == COUNT


async def test_a_batch_that_died_in_its_middle_is_told_record_by_record(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The portal executed two of its four commands; nothing is sent again by itself, and the others are named."""
    firm = get_firm(world)
    card = find_card(await propose(world))
    break_updates(firm, monkeypatch, lambda number: RuntimeError() if number == 7 else None)
    rows = await decide(world, card)
    done, left = await wait_and_read(world, rows)
    assert done[1]["made"] == await count_changed(world) == 17
    assert (left[1]["why"], left[1]["count"]) == ("bulk-not-sent", 2)
    assert len(firm.list_writes()) == len(set(firm.list_writes())) == COUNT


@pytest.mark.parametrize("kind", ["query_limit", "500_before", "html_200"])
async def test_a_portal_that_is_away_for_a_while_is_waited_for(world: World, kind: Any) -> None:
    firm = get_firm(world)
    card = find_card(await propose(world))
    firm.box.faults.armed.append(Fault(kind=kind, method="batch", times=8, after_calls=3))
    rows = await decide(world, card)
    done, *left = await wait_and_read(world, rows)
    told = sum(notice[1]["count"] for notice in left)
    assert done[1]["made"] == await count_changed(world)
    assert done[1]["made"] + told == COUNT
    assert len(firm.list_writes()) >= done[1]["made"]

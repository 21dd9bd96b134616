"""A run of changes that is stopped, or may not go on, tells what it has done, and that can be taken back."""

from collections.abc import AsyncIterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from orchestrator.domain import bulk
from state.journal.freeze_switch import SwitchOperator
from state.journal.run_index import RunFilter
from tests.unit.engines.bulk_changes.bulk_kit import CHANGE, Firm, a_bulk_world, click, decide, find_card, find_end, propose, read_end
from tests.unit.spine_kit import ANNA, CHAT, NOW, VERA, World, _row

COUNT = 19
HAND = SwitchOperator(key="cli:ops", name="Ольга", via="cli", at=NOW)


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "PART", 1)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_bulk_world(tmp_path) as opened:
        yield opened


def get_firm(world: World) -> Firm:
    return cast("Firm", world.portal)


async def count_changed(world: World) -> int:
    return len(await get_firm(world).read("crm.deal.list", {"filter": {"COMMENTS": "Проверено"}}))


async def stop_in_the_middle(world: World) -> list[Any]:
    """Press the button of the progress while the sixth batch is on its way."""
    card = find_card(await propose(world))

    async def stop(number: int) -> None:
        if number == 6:
            (run,) = world.sql.list_runs(RunFilter())
            words = {"words": ["run", run.run_id, "cancel"], "callback_id": "c", "message_id": 5}
            await world.orchestrator.receive([_row("press", "express", words, ANNA, CHAT)])

    get_firm(world).meanwhile = stop
    return await decide(world, card)


async def test_a_stopped_run_says_what_it_has_done_and_takes_that_back(world: World) -> None:
    rows = await stop_in_the_middle(world)
    made = await count_changed(world)
    assert 6 <= made < COUNT
    assert read_end(rows) == [("bulk-stopped", {"made": made, "count": COUNT})]
    assert [action["label"]["code"] for action in find_end(rows)["actions"]] == ["bulk-undo"]
    assert [run.status for run in world.sql.list_runs(RunFilter())] == ["cancelled"]
    back = find_card(await click(world, find_end(rows)["actions"][0]["words"]))
    assert back["preview"]["count"] == made
    assert read_end(await decide(world, back)) == [("bulk-done", {"made": made, "count": made})]
    assert await count_changed(world) == 0


async def test_while_writing_is_stopped_the_rest_is_left_with_that_reason(world: World) -> None:
    card = find_card(await propose(world))

    async def freeze(number: int) -> None:
        if number == 6:
            await world.gate.deps.switch.freeze(HAND, "учение")

    get_firm(world).meanwhile = freeze
    done, left = read_end(await decide(world, card))
    assert done[1]["made"] == await count_changed(world)
    assert 6 <= done[1]["made"] < COUNT
    assert (left[1]["why"], left[1]["count"]) == ("frozen", COUNT - done[1]["made"])
    await world.gate.deps.switch.release(HAND)
    again = find_card(await propose(world))
    assert again["preview"]["count"] == left[1]["count"]


async def test_who_loses_access_in_the_middle_changes_nothing_more(world: World) -> None:
    card = find_card(await propose(world))
    seen: list[int] = []

    async def remove(number: int) -> None:
        seen.append(number)
        if number == 6:
            world.orchestrator.tools = replace(world.tools, refresh_actor=lambda actor: None)
            world.gate._deps = replace(world.gate._deps, present=lambda actor: None)

    get_firm(world).meanwhile = remove
    rows = await decide(world, card)
    made = await count_changed(world)
    assert 6 <= made <= 9
    done, *left = read_end(rows)
    assert done[1]["made"] == made
    assert [(one[1]["why"], one[1]["count"]) for one in left] == [("gate-bulk-part", COUNT - made)]


async def test_records_that_are_not_seen_any_more_are_left_out(world: World) -> None:
    """Who sees only their own from now on changes only their own."""
    narrow = VERA.model_copy(update={"role": "manager", "sees": "own"})
    card = find_card(await propose(world, actor=VERA, key=VERA.key))
    count = card["preview"]["count"]
    deps = world.gate._deps

    async def narrow_down(number: int) -> None:
        if number == 4:
            world.orchestrator.tools = replace(world.tools, refresh_actor=lambda actor: narrow)
            world.gate._deps = replace(deps, present=lambda actor: narrow)

    get_firm(world).meanwhile = narrow_down
    done, left = read_end(await decide(world, card, actor=VERA, key=VERA.key))
    assert done[1]["made"] == await count_changed(world) < count
    assert (left[1]["why"], left[1]["count"]) == ("gate-not-yours", count - done[1]["made"])


async def test_a_policy_that_refuses_the_method_by_now_ends_it(world: World) -> None:
    card = find_card(await propose(world))
    deps = world.gate._deps

    async def forbid(number: int) -> None:
        if number == 6:
            strict = deps.policy.model_copy(update={"refuse_methods": frozenset({"crm.deal.update"})})
            world.gate._deps = replace(deps, policies=SimpleNamespace(now=lambda: strict))

    get_firm(world).meanwhile = forbid
    done, left = read_end(await decide(world, card))
    assert done[1]["made"] == await count_changed(world) < COUNT
    assert (left[1]["why"], left[1]["count"]) == ("gate-policy-refuses", COUNT - done[1]["made"])


async def test_what_needs_a_second_person_by_now_does_not_run(world: World) -> None:
    """One approved it; since then the policy asks for two."""
    card = find_card(await propose(world, {**CHANGE, "fields": {"OPPORTUNITY": 5000}}))
    assert not card["four_eyes"]
    deps = world.gate._deps
    strict = deps.policy.model_copy(update={"four_eyes_above": Decimal(1)})

    async def tighten(number: int) -> None:
        if number == 6:
            world.gate._deps = replace(deps, policies=SimpleNamespace(now=lambda: strict))

    get_firm(world).meanwhile = tighten
    done, left = read_end(await decide(world, card))
    assert 0 < done[1]["made"] < done[1]["count"]
    assert (left[1]["why"], left[1]["count"]) == ("gate-bulk-changed", done[1]["count"] - done[1]["made"])


async def test_without_its_approver_the_rest_does_not_run(world: World) -> None:
    card = find_card(await propose(world))
    deps = world.gate._deps

    async def remove(number: int) -> None:
        if number == 6:
            world.gate._deps = replace(deps, present=lambda actor: None)

    get_firm(world).meanwhile = remove
    done, left = read_end(await decide(world, card))
    assert done[1]["made"] == await count_changed(world) < COUNT
    assert (left[1]["why"], left[1]["count"]) == ("gate-bulk-part", COUNT - done[1]["made"])

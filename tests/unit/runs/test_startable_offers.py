"""What a model is told that people may start is kept, and every change of definitions is in its next prompt."""

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.domain.actor import Actor
from orchestrator.runs.offers import LOOK_EVERY, StartableOffers
from orchestrator.runs.registry import Engines
from orchestrator.runs.stored_definitions import add_stored_definitions
from state.journal.async_store import AsyncStore
from tests.unit.definitions.service_kit import BYE, HELLO, Desk, a_desk, build_desk
from tests.unit.runs.runs_kit import build_engines

MANAGER = Actor(key="tg:1007", name="Анна", bitrix_user_id=7)
LEAD = Actor(key="tg:1006", name="Вера", bitrix_user_id=6, role="lead")


class _Seconds:
    """A clock that stands still until it is moved."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def _engines(desk: Desk) -> Engines:
    """The example engines, of which only leads may start "fan"."""
    made = build_engines({("steps", "shipped"): HELLO})
    fan = replace(made.runs["fan"], commands=made.runs["steps"].commands, roles=frozenset({"lead"}))
    return add_stored_definitions(replace(made, runs={**made.runs, "fan": fan}), desk.store)


async def _name(offers: StartableOffers, actor: Actor = MANAGER) -> list[object]:
    return [one["name"] for one in await offers.list_startable(actor)]


async def test_nothing_is_read_twice_while_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next prompt gets the very same list, without a look into the database."""
    async with a_desk() as desk:
        offers = StartableOffers(_engines(desk), desk.store, _Seconds())
        first = await offers.list_startable(MANAGER)
        monkeypatch.setattr(desk.store, "read", None)
        monkeypatch.setattr(desk.store, "read_head", None)
        assert await offers.list_startable(MANAGER) is first


async def test_what_this_process_changes_is_in_the_next_prompt() -> None:
    """A publication, a new version, and the switch of a key, each at once."""
    async with a_desk() as desk:
        offers = StartableOffers(_engines(desk), desk.store, _Seconds())
        assert await _name(offers) == ["shipped"]
        await desk.publish("plan", HELLO)
        assert await _name(offers) == ["plan", "shipped"]
        await desk.switch("plan", enabled=False)
        assert await _name(offers) == ["shipped"]
        await desk.switch("plan", enabled=True)
        await desk.publish("plan", BYE)
        await desk.publish("shipped", BYE)
        await desk.switch("shipped", enabled=False)
        assert await _name(offers) == ["plan"]


async def test_what_another_process_changes_is_seen_within_a_second() -> None:
    """One short read tells whether anything has changed; until it is due the kept list stands."""
    seconds = _Seconds()
    async with a_desk() as desk:
        offers = StartableOffers(_engines(desk), desk.store, seconds)
        assert await _name(offers) == ["shipped"]
        other = AsyncStore(desk.sql)
        await build_desk(other, desk.sql).publish("plan", HELLO)
        seconds.now += LOOK_EVERY
        assert await _name(offers) == ["plan", "shipped"]


async def test_each_person_is_offered_what_their_role_may_start() -> None:
    """Also when another role has asked before; for customers there is nothing."""
    async with a_desk() as desk:
        offers = StartableOffers(_engines(desk), desk.store, _Seconds())
        await desk.publish("wide", {"things": ["a"], "prompt": "Опиши"}, kind="fan")
        assert await _name(offers, LEAD) == ["shipped", "wide"]
        assert await _name(offers, MANAGER) == ["shipped"]
        assert await _name(offers, MANAGER.model_copy(update={"role": "lead"})) == ["shipped", "wide"]
        assert await _name(offers, LEAD.model_copy(update={"for_customers": True})) == []


async def test_a_change_while_the_list_is_made_is_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read before the change is not kept beyond it."""
    async with a_desk() as desk:
        engines = _engines(desk)
        offers = StartableOffers(engines, desk.store, _Seconds())
        list_all = type(engines.definitions).list_all
        reads: list[str] = []

        async def publish_behind(self: object, engine: str, /) -> object:
            found = await list_all(self, engine)  # type: ignore[arg-type]
            if not reads:
                reads.append(engine)
                await desk.publish("plan", HELLO)
            return found

        monkeypatch.setattr(type(engines.definitions), "list_all", publish_behind)
        assert "plan" not in await _name(offers)
        assert await _name(offers) == ["plan", "shipped"]


@pytest.mark.parametrize("broken", [{"describe": lambda document: document["nothing"]}, {"roles": None}])
async def test_an_engine_that_cannot_read_its_definition_stops_no_prompt(broken: dict[str, Any]) -> None:
    """What the others have is told as before."""
    async with a_desk() as desk:
        made = build_engines({("steps", "shipped"): HELLO, ("fan", "odd"): {}})
        fan = replace(made.runs["fan"], commands=made.runs["steps"].commands, **broken)
        engines = add_stored_definitions(
            replace(made, runs={"fan": fan, **{name: one for name, one in made.runs.items() if name != "fan"}}), desk.store
        )
        assert await _name(StartableOffers(engines, desk.store, _Seconds())) == ["shipped"]

"""Features are put together without one taking the inputs of another, and what they register is used."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.turns.feature import Feature, merge_features
from state.journal.store import EffectChange
from tests.unit.spine_kit import World, message, reply, step, until


async def ignore(*_: Any) -> None:
    """A handler."""


@pytest.mark.parametrize("part", ["inbox", "timers", "commands", "buttons", "given_up_timers", "starts"])
def test_two_features_cannot_want_the_same(part: str) -> None:
    """The second of two would never be asked, and nobody would notice."""
    one, other = Feature(**{part: {"a": ignore}}), Feature(**{part: {"a": ignore, "b": ignore}})
    with pytest.raises(ValueError, match=r"two features want the same .*: a"):
        merge_features(one, other)


def test_what_several_features_register_is_kept_in_their_order() -> None:
    """Periodic tasks run one after the other, as the list of features says."""
    merged = merge_features(
        Feature(periodic_tasks=("x",), buttons={"a": ignore}), Feature(periodic_tasks=("y", "z"), buttons={"b": ignore})
    )  # type: ignore[arg-type]
    assert (merged.periodic_tasks, list(merged.buttons)) == (["x", "y", "z"], ["a", "b"])


async def test_a_feature_is_told_of_the_effects_of_every_session(world: World) -> None:
    """The portal's watcher tells its own writes from those of others by it."""
    seen: list[str] = []

    def watch(changes: Sequence[EffectChange]) -> None:
        seen.extend(change.status for change in changes)

    world.orchestrator.tools = replace(world.tools, features=replace(world.tools.features, watchers=(watch,)))
    world.model.will(
        reply(step("crm.timeline.comment.add", {"fields": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "COMMENT": "звонил"}})),
        reply(text="Готово."),
    )
    async with world.working():
        await world.orchestrator.receive([message("добавь к сделке 481 комментарий звонил")])
        await until(world.orchestrator.is_idle)
    assert seen == ["started", "succeeded"]

"""What stands before the state is the beginning of the next prompt too, so that providers can reuse it."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from state.events.conversation import KEEP_HISTORY, MAX_HISTORY
from state.events.fold import create_state, fold_events
from tests.unit.spine_kit import MODEL_KEY, a_world, message, reply
from tests.unit.spine_portal import CODE, WEBHOOK

TURNS = 48
PAUSE = timedelta(minutes=7)


def _before_state(prompt: Sequence[Mapping[str, str]]) -> list[str]:
    """The messages before the state, each as one text."""
    at = next(number for number, one in enumerate(prompt) if one["content"].startswith("STATE "))
    assert at == len(prompt) - 2, "after the state comes the person's message and nothing else"
    return [f"{one['role']}:{one['content']}" for one in prompt[:at]]


@pytest.mark.long
@pytest.mark.req("S004-2", "S004-4")
async def test_all_before_the_state_begins_the_next_prompt(tmp_path: Path) -> None:
    """While the clock runs and the conversation grows; it is cut ten turns at a time, and then begins anew with a message of the person."""
    cuts = []
    async with a_world(tmp_path, card=True) as world:
        for number in range(TURNS):
            world.model.will(reply(text=f"ответ {number}"))
            await world.work(message(f"вопрос {number}"))
            world.clock.advance(PAUSE)
        told = [_before_state(prompt) for prompt in world.model.prompts]
    assert told[0][1].startswith("system:# Portal")
    assert not [secret for secret in (MODEL_KEY, CODE, WEBHOOK) if secret in str(world.model.prompts)]
    for number, (before, after) in enumerate(pairwise(told), start=1):
        if after[: len(before)] != before:
            cuts.append(number)
            assert after[:2] == before[:2], "only the conversation was cut"
            assert after[2].startswith("user:вопрос ")
            assert len(after) <= KEEP_HISTORY + 2
    assert all(later - earlier >= 10 for earlier, later in pairwise(cuts))
    assert 1 <= len(cuts) <= 3
    assert max(map(len, told)) <= MAX_HISTORY + 2


def test_a_cut_leaves_whole_turns() -> None:
    """A history that is too long loses ten turns at once and begins with a message of the person."""
    state, now = create_state(), "2026-11-21T12:00:00Z"
    said = {"turn_id": "t", "text": "вопрос", "origin": "typed"}
    turn = [("MessageReceived", said, now), ("TurnFinished", {"turn_id": "t", "reason": "answered", "history": "ответ"}, now)]
    fold_events(state, turn * (MAX_HISTORY // 2))
    assert len(state.history) == MAX_HISTORY
    fold_events(state, turn[:1])
    assert state.history[0].role == "user"
    assert len(state.history) == KEEP_HISTORY - 1

"""Lets the model offer a published scenario or flow by name: a button below its answer, which starts it when a person presses it.

The model writes the step "scenario.offer" or "flow.offer". It is no call: nothing starts, and the gate is not asked. Whether the person may
start what is offered is asked again when the button is pressed.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from orchestrator.domain.outputs import Action, Notice
from orchestrator.engines.crm_agent.blocks import Blocks
from orchestrator.engines.crm_agent.turn_work import TurnWork
from state.canonical import hash_text
from state.stored import JsonObject

KINDS: Final = ("scenario", "flow")
"""What can be offered; each has a step of its own, so that a scenario and a flow may have one name."""
MOST_OFFERED: Final = 3
"""How many buttons one answer has."""
_METHODS: Final[Mapping[str, str]] = {f"{kind}.offer": kind for kind in KINDS}
_ID_LENGTH: Final = 8
_HOW: Final = (
    "%ss that this person may start. When one of them is what they ask for, offer it with the step "
    '{"method":"%s.offer","params":{"name":"…"}}: it shows a button and starts nothing; never say that it runs.'
)


def build_offer_messages(known: Sequence[JsonObject]) -> list[dict[str, str]]:
    """Return the messages that tell the model what it may offer, one for each kind of which there is something."""
    messages: list[dict[str, str]] = []
    for kind in KINDS:
        lines = [
            json.dumps({name: one[name] for name in ("name", "title", "does")}, ensure_ascii=False) for one in known if one["kind"] == kind
        ]
        if lines:
            how = f"{kind.upper()}S {_HOW % (kind.capitalize(), kind)}"
            messages.append({"role": "system", "content": "\n".join((how, *lines))})
    return messages


def take_offers(blocks: Blocks, known: Sequence[JsonObject], work: TurnWork, turn_id: str) -> Blocks:
    """Return the answer without the steps that offer something, whose buttons the end of the turn shows."""
    if not any(step.method in _METHODS for step in blocks.steps):
        return blocks
    by_name = {(one["kind"], str(one["name"])): one for one in known}
    for step in blocks.steps:
        kind = _METHODS.get(step.method)
        if kind is None:
            continue
        name = str(step.params.get("name") or "")
        one = by_name.get((kind, name))
        if one is None:
            work.notices.append(Notice(code="run-offer-unknown", args={"kind": kind}))
        elif len(work.offers) < MOST_OFFERED:
            work.offers.setdefault(f"{kind}/{name}", _build_button(one, turn_id))
    return replace(blocks, steps=tuple(step for step in blocks.steps if step.method not in _METHODS))


def _build_button(one: Mapping[str, object], turn_id: str) -> Action:
    given = one["words"]
    words = [str(word) for word in given] if isinstance(given, list) else []
    return Action(words=(*words, hash_text(turn_id)[:_ID_LENGTH]), label=Notice(code="scenario-offer", args={"title": one["title"]}))

"""Lets the model offer a published scenario by name: a button below its answer, which starts the scenario when a person presses it.

The model writes the step "scenario.offer". It is no call: nothing starts, and the gate is not asked. Whether the person may start the
scenario is asked again when the button is pressed.
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

OFFER: Final = "scenario.offer"
MOST_OFFERED: Final = 3
"""How many scenarios one answer offers."""
_ID_LENGTH: Final = 8
_HOW: Final = (
    "Scenarios that this person may start. When one of them is what they ask for, offer it with the step "
    f'{{"method":"{OFFER}","params":{{"name":"…"}}}}: it shows a button and starts nothing; never say that it runs.'
)


def build_scenarios_message(known: Sequence[JsonObject]) -> dict[str, str]:
    """Return the message that tells the model which scenarios it may offer."""
    lines = [json.dumps({name: one[name] for name in ("name", "title", "does")}, ensure_ascii=False) for one in known]
    return {"role": "system", "content": "\n".join((f"SCENARIOS {_HOW}", *lines))}


def take_offers(blocks: Blocks, known: Sequence[JsonObject], work: TurnWork, turn_id: str) -> Blocks:
    """Return the answer without the steps that offer scenarios, whose buttons the end of the turn shows."""
    by_name = {str(one["name"]): one for one in known}
    for step in blocks.steps:
        if step.method != OFFER:
            continue
        one = by_name.get(str(step.params.get("name") or ""))
        if one is None:
            work.notices.append(Notice(code="scenario-offer-unknown"))
        elif len(work.offers) < MOST_OFFERED:
            work.offers.setdefault(str(one["name"]), _build_button(one, turn_id))
    return replace(blocks, steps=tuple(step for step in blocks.steps if step.method != OFFER))


def _build_button(one: Mapping[str, object], turn_id: str) -> Action:
    given = one["words"]
    words = [str(word) for word in given] if isinstance(given, list) else []
    return Action(words=(*words, hash_text(turn_id)[:_ID_LENGTH]), label=Notice(code="scenario-offer", args={"title": one["title"]}))

"""Lets the model offer a published scenario or flow by name: a button below its answer, which starts it when a person presses it.

The model writes the step "scenario.offer" or "flow.offer". It is no call: nothing starts, and the gate is not asked. Whether the person may
start what is offered is asked again when the button is pressed.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from engines.crm_agent.core.turn_work import TurnWork
from orchestrator.domain.outputs import Action, Notice
from orchestrator.engines.crm_agent.blocks import Blocks
from state.canonical import hash_text
from state.stored import JsonObject

MOST_OFFERED: Final = 3
"""How many buttons one answer has."""
_METHOD: Final = re.compile(r"([a-z][a-z0-9_-]{0,63})\.offer")
"""Each engine has a step of its own, so that a scenario and a flow may have one name."""
_ID_LENGTH: Final = 8
_HOW: Final = (
    "%ss that this person may start. When one of them is what they ask for, offer it with the step "
    '{"method":"%s.offer","params":{"name":"…"}}: it shows a button and starts nothing; never say that it runs.'
)


def build_offer_messages(known: Sequence[JsonObject]) -> list[dict[str, str]]:
    """Return the messages that tell the model what it may offer, one for each kind of which there is something."""
    offered: dict[str, list[str]] = {}
    for definition in filter(_is_offered, known):
        line = json.dumps({name: definition[name] for name in ("name", "title", "does")}, ensure_ascii=False)
        offered.setdefault(str(definition["kind"]), []).append(line)
    heads = {kind: f"{kind.upper()}S {_HOW % (kind.capitalize(), kind)}" for kind in offered}
    return [{"role": "system", "content": "\n".join((heads[kind], *lines))} for kind, lines in offered.items()]


def _is_offered(definition: JsonObject) -> bool:
    return bool(definition.get("is_offered", True))


def take_offers(blocks: Blocks, known: Sequence[JsonObject], work: TurnWork, turn_id: str) -> Blocks:
    """Return the answer without the steps that offer something, whose buttons the end of the turn shows."""
    if not any(_METHOD.fullmatch(step.method) for step in blocks.steps):
        return blocks
    by_name = {(one["kind"], str(one["name"])): one for one in known if _is_offered(one)}
    for step in blocks.steps:
        method = _METHOD.fullmatch(step.method)
        if method is None:
            continue
        kind = method[1]
        name = str(step.params.get("name") or "")
        one = by_name.get((kind, name))
        if one is None:
            work.notices.append(Notice(code="run-offer-unknown", args={"kind": kind}))
        elif len(work.offers) < MOST_OFFERED:
            work.offers.setdefault(f"{kind}/{name}", _build_button(one, turn_id))
    return replace(blocks, steps=tuple(step for step in blocks.steps if not _METHOD.fullmatch(step.method)))


def _build_button(one: Mapping[str, object], turn_id: str) -> Action:
    given = one["words"]
    words = [str(word) for word in given] if isinstance(given, list) else []
    return Action(words=(*words, hash_text(turn_id)[:_ID_LENGTH]), label=Notice(code="scenario-offer", args={"title": one["title"]}))

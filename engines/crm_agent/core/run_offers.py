"""Lets the model offer a published scenario or flow: a button below its answer starts it."""

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
_METHOD: Final = re.compile(r"([a-z][a-z0-9_-]{0,63})\.offer")
"""A scenario and a flow may have one name."""
_ID_LENGTH: Final = 8
_HOW: Final = (
    "%ss that this person may start. When one of them is what they ask for, offer it with the step "
    '{"method":"%s.offer","params":{"name":"…"}}: it shows a button and starts nothing; never say that it runs.'
)


def build_offer_messages(known: Sequence[JsonObject]) -> list[dict[str, str]]:
    offered: dict[str, list[str]] = {}
    for definition in filter(_is_offered, known):
        line = json.dumps({name: definition[name] for name in ("name", "title", "does")}, ensure_ascii=False)
        offered.setdefault(str(definition["kind"]), []).append(line)
    heads = {kind: f"{kind.upper()}S {_HOW % (kind.capitalize(), kind)}" for kind in offered}
    return [{"role": "system", "content": "\n".join((heads[kind], *lines))} for kind, lines in offered.items()]


def _is_offered(definition: JsonObject) -> bool:
    return bool(definition.get("is_offered", True))


def take_offers(blocks: Blocks, known: Sequence[JsonObject], work: TurnWork, turn_id: str) -> Blocks:
    """Take the steps that offer something out; the end of the turn shows their buttons."""
    if not any(_METHOD.fullmatch(step.method) for step in blocks.steps):
        return blocks
    by_name = {(definition["kind"], str(definition["name"])): definition for definition in known if _is_offered(definition)}
    for step in blocks.steps:
        method = _METHOD.fullmatch(step.method)
        if method is None:
            continue
        kind = method[1]
        name = str(step.params.get("name") or "")
        definition = by_name.get((kind, name))
        if definition is None:
            work.notices.append(Notice(code="run-offer-unknown", args={"kind": kind}))
        elif len(work.offers) < MOST_OFFERED:
            work.offers.setdefault(f"{kind}/{name}", _build_button(definition, turn_id))
    return replace(blocks, steps=tuple(step for step in blocks.steps if not _METHOD.fullmatch(step.method)))


def _build_button(definition: Mapping[str, object], turn_id: str) -> Action:
    words_json = definition["words"]
    words = [str(word) for word in words_json] if isinstance(words_json, list) else []
    return Action(words=(*words, hash_text(turn_id)[:_ID_LENGTH]), label=Notice(code="scenario-offer", args={"title": definition["title"]}))

"""What a change is called that was proposed, from the proposal alone: of one that was not made there is often nothing else. Ring 2.

It judges nothing and looks at no portal.
"""

from dataclasses import dataclass
from typing import Any

from bitrix.catalogue import Catalogue, Method
from orchestrator.gate import kinds
from orchestrator.gate.effects import Facts, Refuse
from orchestrator.gate.named import doubt, named_offline
from orchestrator.gate.normalise import normalise
from orchestrator.gate.stored_call import effect_id_of
from orchestrator.messages import Actor, Effect


@dataclass(frozen=True, kw_only=True)
class Proposed:
    """A proposed change in words."""

    named: dict[str, Any]
    """The arguments of `call-named` in the doors' catalogues, and the id of the effect."""
    essence: str = ""
    """Of the call; none where the proposal has no single reading."""


async def proposed(effect: Effect, *, catalogue: Catalogue, portal: str, actor: Actor) -> Proposed | None:
    """How a sentence names the change behind `effect`; None for what changes nothing. Raises nothing."""
    effect_id = effect_id_of(effect.slot)
    call = normalise(effect, catalogue=catalogue, portal=portal, actor=actor, effect_id=effect_id)
    bare = doubt(effect_id, {"call": {"method": effect.method}, "confirmation_id": ""})
    if isinstance(call, Refuse):
        spec = catalogue.find(effect.method) or kinds.find(kinds.kind_of(effect.kind, effect.method), effect.method)
        if spec is not None and set(spec.classes) <= {"R"}:
            return None
        return Proposed(named=bare | (_words(spec) if spec else {}))
    if call.reads_only:
        return None
    named = await named_offline(call, Facts(), actor)
    return Proposed(named={**(named or bare), "effect_id": effect_id}, essence=call.essence)


def _words(spec: Method) -> dict[str, Any]:
    """The verb and the kind of record of a method, where its parameters tell nothing."""
    return {"verb": spec.verb if spec.verb != "action" else spec.name.rpartition(".")[2].lower(), "entity": spec.entity}

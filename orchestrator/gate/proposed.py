"""What a change is called that was proposed, from the proposal alone: of one that was not made there is often nothing else. Ring 2.

It judges nothing and looks at no portal.
"""

from dataclasses import dataclass
from typing import Any

from bitrix.catalogue import Catalogue, Method
from orchestrator.gate import kinds
from orchestrator.gate.effects import Facts, Refuse
from orchestrator.gate.named import build_doubt_args, build_offline_label
from orchestrator.gate.normalise import normalize
from orchestrator.gate.stored_call import build_effect_id
from orchestrator.messages import Actor, Effect


@dataclass(frozen=True, kw_only=True)
class ProposalLabel:
    """A proposed change in words."""

    named: dict[str, Any]
    """The arguments of `call-named` in the doors' catalogues, and the id of the effect."""
    essence: str = ""
    """Of the call; none where the proposal has no single reading."""


async def describe_proposal(effect: Effect, *, catalogue: Catalogue, portal: str, actor: Actor) -> ProposalLabel | None:
    """How a sentence names the change behind `effect`; None for what changes nothing. Raises nothing."""
    effect_id = build_effect_id(effect.slot)
    call = normalize(effect, catalogue=catalogue, portal=portal, actor=actor, effect_id=effect_id)
    bare = build_doubt_args(effect_id, {"call": {"method": effect.method}, "confirmation_id": ""})
    if isinstance(call, Refuse):
        spec = catalogue.find(effect.method) or kinds.find(kinds.resolve_kind(effect.kind, effect.method), effect.method)
        if spec is not None and set(spec.classes) <= {"R"}:
            return None
        return ProposalLabel(named=bare | (_describe_method(spec) if spec else {}))
    if call.reads_only:
        return None
    named = await build_offline_label(call, Facts(), actor)
    return ProposalLabel(named={**(named or bare), "effect_id": effect_id}, essence=call.essence)


def _describe_method(spec: Method) -> dict[str, Any]:
    """The verb and the kind of record of a method, where its parameters tell nothing."""
    return {"verb": spec.verb if spec.verb != "action" else spec.name.rpartition(".")[2].lower(), "entity": spec.entity}

"""Encodes a Call as stored data and decodes it, so that after a restart exactly what was shown is sent."""

from bitrix.catalogue.catalogue import Catalogue
from orchestrator.gate.call import effect_kinds
from orchestrator.gate.call.effect import Call
from orchestrator.gate.call.params import sort_params
from orchestrator.gate.call.targets import find_definitions
from state.canonical import hash_text
from state.stored import JsonObject


class UndecodableCall(ValueError):
    """A stored call names a method that the catalogue no longer lists; it cannot be run."""


def encode_call(call: Call) -> dict[str, object]:
    """Return `call` as JSON data."""
    return {
        "kind": call.kind,
        "method": call.method,
        "params": dict(call.params),
        "classes": list(call.classes),
        "portal": call.portal,
        "key": call.key,
        "commands": [encode_call(command) for command in call.commands],
        "halt": call.halt,
        "targets": [list(target) for target in call.targets],
        "unknown_target": call.unknown_target,
        "references": list(call.references),
        "system_fields": sorted(call.system_fields),
        "entity": call.entity,
        "entities": sorted(call.entities),
        "target_created": call.target_created,
        "ties": [list(tie) for tie in call.ties],
        "wish": call.proposed_essence,
    }


def decode_call(data: JsonObject, catalogue: Catalogue) -> Call:
    """Return the Call stored as `data`; raises UndecodableCall when its method is no longer listed."""
    spec = catalogue.find(data["method"]) if data["kind"] == "bitrix" else effect_kinds.find(data["kind"], data["method"])
    if spec is None:
        msg = f"{data['method']} is no longer in the catalogue"
        raise UndecodableCall(msg)
    return Call(
        kind=data["kind"],
        method=data["method"],
        params=data["params"] if data["commands"] else sort_params(spec, data["params"]),
        spec=spec,
        classes=tuple(data["classes"]),
        portal=data["portal"],
        key=data["key"],
        commands=tuple(decode_call(command, catalogue) for command in data["commands"]),
        halt=data["halt"],
        targets=tuple((entity, number) for entity, number in data["targets"]),
        unknown_target=data["unknown_target"],
        references=tuple(data["references"]),
        system_fields=frozenset(data["system_fields"]),
        entity=data["entity"],
        entities=find_definitions(*data["entities"], catalogue=catalogue),
        target_created=data["target_created"],
        ties=tuple((entity, number) for entity, number in data.get("ties", ())),
        proposed_essence=data.get("wish", ""),
    )


def build_effect_id(slot: str) -> str:
    """Return the id of the effect at that place of a plan; the same after a restart."""
    return hash_text(slot)[:32]


def get_essence(call: Call) -> str:
    """Return the SHA-256 of the call without the marks that make every add unique: the same request has the same essence."""
    return call.essence


def build_doubt_args(effect_id: str, stored: JsonObject) -> dict[str, object]:
    """Return the arguments of a sentence about a stored call of unknown outcome; `effect_id` is set only if no card has a button for it."""
    known = stored.get("named") or _build_label_args(stored["call"]["method"])
    return {**known, "effect_id": "" if stored["confirmation_id"] else effect_id}


def _build_label_args(
    method: str, *, verb: str = "other", entity: str = "", count: int = 1, title: str = "", changes: str = ""
) -> dict[str, object]:
    parts = {(True, True): "both", (True, False): "title", (False, True): "changes"}.get((bool(title), bool(changes)), "none")
    return {"method": method, "verb": verb, "entity": entity, "count": count, "title": title, "changes": changes, "parts": parts}

"""After a restart exactly the call that was shown is sent."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from pydantic import ConfigDict, Field

from bitrix.catalogue.catalogue import Catalogue
from orchestrator.domain.effect import to_written_params, write_batch
from orchestrator.domain.frozen import View
from orchestrator.gate.call import effect_kinds
from orchestrator.gate.call.effect import BeforeImage, Call, Target
from orchestrator.gate.call.lookup import Lookup
from orchestrator.gate.call.params import sort_params
from orchestrator.gate.call.targets import find_definitions
from state.canonical import hash_text
from state.stored import JsonObject

EFFECT_ID_LENGTH: Final = 32


class UndecodableCall(ValueError):
    """Its method is no longer in the catalogue, so it cannot be run."""


class StoredCall(View):
    """See `Call` for the fields."""

    model_config = ConfigDict(revalidate_instances="always")
    kind: str
    method: str
    params: JsonObject
    classes: tuple[str, ...]
    portal: str
    key: str
    commands: tuple["StoredCall", ...]
    halt: bool
    targets: tuple[Target, ...]
    unknown_target: bool
    references: tuple[str, ...]
    system_fields: frozenset[str]
    entity: str
    entities: tuple[str, ...]
    target_created: bool
    ties: tuple[Target, ...] = ()
    wish: str = ""
    """`Call.proposed_essence`."""


class StoredOrder(View):
    """Enough to run a call, or to find its outcome, after a restart.

    Read it with `from_data`, which validates nothing: most data of an erased person's call is gone; a missing field raises AttributeError.
    """

    call: StoredCall
    turn_id: str
    slot: str
    requested_by: str
    proposed_by: str
    confirmation_id: str
    before: BeforeImage
    named: JsonObject = Field(default_factory=dict)
    actor: JsonObject = Field(default_factory=dict)
    """For a call that waited for a decision."""
    started_at: str = ""
    is_computed: bool = False

    @classmethod
    def from_data(cls, data: JsonObject) -> "StoredOrder":
        """From `EffectRow.call`; nothing is validated."""
        call = {"call": StoredCall.model_construct(**data["call"])} if "call" in data else {}
        return cls.model_construct(**{**data, **call})

    @property
    def is_erased(self) -> bool:
        """With the requester's data; only status and requester are left."""
        return "call" not in self.model_fields_set

    @property
    def call_class(self) -> str:
        return "".join(self.call.classes)

    def name_records(self) -> dict[str, object]:
        """As `name_records`; {} for a read."""
        commands: Sequence[JsonObject] = self.call.commands  # type: ignore[assignment]  # `from_data` leaves them as they are stored
        targets = [tuple(target) for command in commands for target in command["targets"]] or self.call.targets
        return {} if set(self.call.classes) <= {"R"} else name_records(targets, self.named)


def to_proposed_params(stored: StoredCall) -> dict[str, object]:
    """As whoever proposed the call may write them: without what the gate filled in, which it fills in anew. Raises BatchUnwritable."""
    commands = [StoredCall.model_validate(command) for command in stored.commands]
    if not commands:
        return _leave_out(stored.params, stored.system_fields)
    cmd = write_batch({one.key: (one.method, _leave_out(one.params, one.system_fields)) for one in commands})
    return to_written_params(stored.method, {**stored.params, "cmd": cmd})


def _leave_out(params: JsonObject, names: Collection[str]) -> dict[str, object]:
    """Of the parameters and of the fields among them."""
    return {
        name: {key: one for key, one in value.items() if key not in names} if isinstance(value, Mapping) else value
        for name, value in params.items()
        if name not in names
    }


def name_records(targets: Iterable[Target], named: JsonObject) -> dict[str, object]:
    """For the outcome of a change; `named` is what `build_call_label` gives."""
    records = tuple(dict.fromkeys(f"{entity}:{number}" for entity, number in targets))
    return {"records": records, "title": str(named.get("title") or "") if len(records) == 1 else ""}


def encode_call(call: Call) -> dict[str, object]:
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


def decode_call(data: JsonObject | StoredCall, catalogue: Catalogue) -> Call:
    """Raises UndecodableCall when its method is not listed any more, ValidationError when a field is missing."""
    stored = StoredCall.model_validate(data)
    spec = catalogue.find(stored.method) if stored.kind == "bitrix" else effect_kinds.find_effect_kind(stored.kind, stored.method)
    if spec is None:
        msg = f"{stored.method} is no longer in the catalogue"
        raise UndecodableCall(msg)
    params = stored.params if stored.commands else sort_params(spec, stored.params)
    is_looked_up = stored.kind == "bitrix" and not stored.commands
    return Call(
        kind=stored.kind,
        method=stored.method,
        params=params,
        spec=spec,
        classes=stored.classes,
        portal=stored.portal,
        key=stored.key,
        commands=tuple(decode_call(command, catalogue) for command in stored.commands),
        halt=stored.halt,
        targets=stored.targets,
        unknown_target=stored.unknown_target,
        references=stored.references,
        system_fields=stored.system_fields,
        entity=stored.entity,
        entities=find_definitions(*stored.entities, catalogue=catalogue),
        target_created=stored.target_created,
        ties=stored.ties,
        proposed_essence=stored.wish,
        lookup=Lookup(spec=spec, params=params, catalogue=catalogue) if is_looked_up else None,
    )


def build_node_slot(run: str, node: str, attempt: int) -> str:
    """Each attempt has its own slot, and so its own effect."""
    return f"{run}/{node}" if attempt == 1 else f"{run}/{node}//{attempt}"


def build_effect_id(slot: str) -> str:
    """The same slot gives the same id after a restart."""
    return hash_text(slot)[:EFFECT_ID_LENGTH]


def get_essence(call: Call) -> str:
    return call.essence


def build_doubt_args(effect_id: str, stored: JsonObject) -> dict[str, object]:
    """`effect_id`, for the button to look it up, is "" with a card."""
    known = stored.get("named") or _build_label_args(stored["call"]["method"])
    return {**known, "effect_id": "" if stored["confirmation_id"] else effect_id}


def _build_label_args(
    method: str, *, verb: str = "other", entity: str = "", count: int = 1, title: str = "", changes: str = ""
) -> dict[str, object]:
    parts = {(True, True): "both", (True, False): "title", (False, True): "changes"}.get((bool(title), bool(changes)), "none")
    return {"method": method, "verb": verb, "entity": entity, "count": count, "title": title, "changes": changes, "parts": parts}

"""The portal refuses an event without its calendar: one that names none goes into the first calendar of its owner."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from bitrix.errors import BitrixError
from orchestrator.gate.call.effect import Call, Facts
from orchestrator.gate.call.fields import find_value
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.serialization import get_essence
from orchestrator.gate.call.targets import as_id
from orchestrator.gate.normalize import batch
from state.stored import JsonObject

_ADD: Final = "calendar.event.add"
_LIST: Final = "calendar.section.get"
_FIELD: Final = "section"


async def load_sections(call: Call, deps: GateDeps) -> Mapping[tuple[str, str], int]:
    """By kind and id of the owner. Without one that cannot be read or has no calendar."""
    owners = list(dict.fromkeys(_find_owner(leaf) for leaf in call.leaves if _is_silent(leaf)))
    sections: dict[tuple[str, str], int] = {}
    for kind, number in owners:
        try:
            (rows,) = await deps.records.load_lists([(_LIST, {"type": kind, "ownerId": number})])
        except BitrixError:  # the portal says what it lacks
            continue
        ids = (as_id(find_value(row, "ID")) for row in rows if isinstance(row, Mapping))
        if (section := next(filter(None, ids), None)) is not None:
            sections[kind, number] = section
    return sections


def add_sections(call: Call, facts: Facts) -> Call:
    leaves = tuple(_add_section(leaf, facts) for leaf in call.leaves)
    if leaves == call.leaves:
        return call
    whole = batch.build_batch(call.spec, leaves, halt=call.halt, portal=call.portal) if call.commands else leaves[0]
    return replace(whole, proposed_essence=get_essence(call))


def _add_section(leaf: Call, facts: Facts) -> Call:
    section = facts.sections.get(_find_owner(leaf)) if _is_silent(leaf) else None
    if section is None:
        return leaf
    params: JsonObject = {**leaf.params, _FIELD: section}
    return replace(leaf, params=params, system_fields=leaf.system_fields | {_FIELD})


def _find_owner(leaf: Call) -> tuple[str, str]:
    return str(leaf.params.get("type") or ""), str(leaf.params.get("ownerId") or "0")


def _is_silent(leaf: Call) -> bool:
    return leaf.method == _ADD and leaf.params.get(_FIELD) in (None, "")

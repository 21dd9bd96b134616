"""The JSON Schemas of flows and agents."""

from typing import Any, Final

from engines.flows.core.agents import Agent
from engines.flows.core.checks import EXCLUDED
from engines.flows.core.definition import Flow, FlowStep, MemoryWrite
from orchestrator.documents.json_schema import split_schema, write_schema
from state.stored import JsonObject

_MODES: Final = "mode"


def build_flow_schema() -> JsonObject:
    whole, defs = split_schema(Flow)
    for part_schema in (whole, defs[FlowStep.__name__]):
        part_schema["properties"] |= dict.fromkeys(EXCLUDED, False)
    modes: dict[str, Any] = defs[MemoryWrite.__name__]["properties"][_MODES]
    defs[MemoryWrite.__name__]["properties"][_MODES] = _allow_small_letters(modes)
    return write_schema("Flow of Sdelka", whole, defs)


def _allow_small_letters(modes: dict[str, Any]) -> JsonObject:
    """Also small letters; editors offer the capitals (S002-X7)."""
    words = modes.pop("enum")
    pattern = "|".join("".join(f"[{sign}{sign.lower()}]" if sign.isalpha() else sign for sign in word) for word in words)
    return {**modes, "anyOf": [{"enum": words}, {"pattern": f"^({pattern})$"}]}


def build_agent_schema() -> JsonObject:
    return write_schema("Agent of Sdelka", *split_schema(Agent))

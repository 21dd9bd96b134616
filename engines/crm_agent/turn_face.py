"""Builds the CRM agent with the texts of its prompt. Part of the composition root."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from bitrix.catalogue.catalogue import Catalogue
from bot.plugins.turn_face import TurnFace, TurnPorts
from engines.crm_agent.core.engine import CrmAgent
from orchestrator.domain.actor import Mode
from orchestrator.gate.call.gate_deps import PolicySource
from orchestrator.gate.call.modes import format_methods

MOST_TEXTS: Final = 18
"""Two for each of the three modes, under each of the last three policies."""


def build_agent(ports: TurnPorts) -> CrmAgent:
    return CrmAgent(
        constitution=ports.texts.constitution,
        protocol=ports.texts.protocol,
        methods=_build_method_prompts(ports.catalogue, ports.policies, ports.texts.methods.front, ports.texts.methods.unnamed),
        examples=ports.texts.examples_text,
        max_iterations=ports.settings.agent_max_iterations,
    )


def _build_method_prompts(
    catalogue: Catalogue, policies: PolicySource, front: Mapping[str, str], unnamed: Sequence[str]
) -> Callable[[Mode, bool], str]:
    """By mode and whether the person sees all records; cached by both and by policy."""
    texts: dict[tuple[Mode, bool, str], str] = {}

    def methods(mode: Mode, sees_all: bool) -> str:  # noqa: FBT001 - the key of a cache
        policy = policies.now()
        key = mode, sees_all, policy.digest
        if key not in texts:
            if len(texts) >= MOST_TEXTS:
                texts.clear()
            texts[key] = format_methods(catalogue, policy, mode, front, unnamed=unnamed, sees_all=sees_all)
        return texts[key]

    return methods


TURN_FACE: Final = TurnFace(build=build_agent)

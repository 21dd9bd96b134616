"""Registers the command /ask: what follows it is a request to the tool agent, which has a conversation of its own."""

from typing import Final

from orchestrator.domain.outputs import Notice
from orchestrator.engines.base import ASK_ENGINE
from orchestrator.turns.feature import CommandSpec, Feature

LONGEST: Final = 20_000
"""How many characters may follow the command."""


def build_feature() -> Feature:
    """Return the feature."""
    return Feature(
        command_specs={"ask": CommandSpec(lane="turn", longest=LONGEST, menu=Notice(code="menu-ask"), engine=ASK_ENGINE, in_groups=True)}
    )

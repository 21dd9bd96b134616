"""The command /ask: what follows it goes to an engine that has a conversation of its own."""

from typing import Final

from orchestrator.domain.outputs import Notice
from orchestrator.turns.feature import CommandSpec, Feature

LONGEST: Final = 20_000


def build_feature(engine: str) -> Feature:
    return Feature(
        command_specs={"ask": CommandSpec(lane="turn", longest=LONGEST, menu=Notice(code="menu-ask"), engine=engine, in_groups=True)}
    )

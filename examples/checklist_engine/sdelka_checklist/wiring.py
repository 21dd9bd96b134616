"""Builds the engine of checklists. It needs no services, so nothing is connected."""

from typing import Final

from bot.plugins.wiring import Wiring
from orchestrator.domain.outputs import Notice
from orchestrator.runs.registry import RegisteredEngine, RunCommand

from .core import KIND, ChecklistEngine, find_title


def build() -> RegisteredEngine:
    """Return the engine with its command /checklist."""
    return RegisteredEngine(
        engine=ChecklistEngine(),
        commands={"checklist": RunCommand(definition="", menu=Notice(code="menu-checklist"))},
        describe=lambda document: (find_title(document), ""),
        kind=KIND,
    )


WIRING: Final = Wiring(build=build)

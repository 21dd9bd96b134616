"""The plugin of workflows."""

from pathlib import Path
from typing import Final

from bot.plugins.plugin import EnginePlugin, Part, TerminalGroup

PLUGIN: Final = EnginePlugin(
    name="workflow",
    position=3,
    wiring=Part("engines.workflows.wiring:WIRING"),
    kinds={"workflow": Part("engines.workflows.faces:WORKFLOW_FACE"), "tuum": Part("engines.workflows.faces:TUUM_FACE")},
    runs=Part("engines.workflows.faces:RUN_FACE"),
    texts=Path(__file__).parent / "texts",
    terminal=(
        TerminalGroup(
            name="workflow",
            summary="Write workflows: check, order, draw, publish and compare them.",
            module="engines.workflows.terminal.app",
        ),
    ),
)

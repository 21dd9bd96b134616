from pathlib import Path
from typing import Final

from bot.plugins.plugin import EnginePlugin, TerminalGroup

PLUGIN: Final = EnginePlugin(
    name="workflow",
    position=3,
    kinds=("workflow", "tuum"),
    parts={
        "wiring": "engines.workflows.wiring:WIRING",
        "kind/workflow": "engines.workflows.kind_face:WORKFLOW_FACE",
        "kind/tuum": "engines.workflows.kind_face:TUUM_FACE",
        "trial/workflow": "engines.workflows.cases:TRIAL",
        "cases/workflow": "engines.workflows.cases:CASES",
        "family/workflow": "engines.workflows.terminal.commands:FAMILY",
        "live/workflow": "engines.workflows.terminal.trying:LIVE",
        "run": "engines.workflows.run_face:RUN_FACE",
    },
    texts=Path(__file__).parent / "texts",
    terminal=(
        TerminalGroup(
            name="workflow",
            summary="Write workflows: check, order, draw, publish and compare them.",
            module="engines.workflows.terminal.app",
        ),
    ),
)

from pathlib import Path
from typing import Final

from bot.plugins.plugin import EnginePlugin, TerminalGroup

PLUGIN: Final = EnginePlugin(
    name="flow",
    position=2,
    kinds=("flow", "agent"),
    parts={
        "wiring": "engines.flows.wiring:WIRING",
        "kind/flow": "engines.flows.kind_face:FLOW_FACE",
        "kind/agent": "engines.flows.kind_face:AGENT_FACE",
        "trial/flow": "engines.flows.cases:TRIAL",
        "cases/flow": "engines.flows.cases:CASES",
        "family/flow": "engines.flows.terminal.trying:FAMILY",
        "live/flow": "engines.flows.terminal.trying:LIVE",
        "run": "engines.flows.run_face:RUN_FACE",
        "http": "engines.flows.http.face:HTTP_FACE",
    },
    texts=Path(__file__).parent / "texts",
    terminal=(
        TerminalGroup(name="flow", summary="Write flows: check, draw, publish, compare and try them.", module="engines.flows.terminal.app"),
        TerminalGroup(name="memory", summary="List, show and clear what flows remember of people.", module="engines.flows.terminal.memory"),
    ),
)

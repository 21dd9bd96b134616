"""The plugin of flows."""

from pathlib import Path
from typing import Final

from bot.plugins.plugin import EnginePlugin, Part, TerminalGroup

PLUGIN: Final = EnginePlugin(
    name="flow",
    position=2,
    wiring=Part("engines.flows.wiring:WIRING"),
    kinds={"flow": Part("engines.flows.faces:FLOW_FACE"), "agent": Part("engines.flows.faces:AGENT_FACE")},
    runs=Part("engines.flows.faces:RUN_FACE"),
    http=Part("engines.flows.http.face:HTTP_FACE"),
    large_bodies=("/api/flows/definitions", "/api/agents"),
    texts=Path(__file__).parent / "texts",
    terminal=(
        TerminalGroup(name="flow", summary="Write flows: check, draw, publish, compare and try them.", module="engines.flows.terminal.app"),
        TerminalGroup(name="memory", summary="List, show and clear what flows remember of people.", module="engines.flows.terminal.memory"),
    ),
)

"""The plugin of scenarios."""

from pathlib import Path
from typing import Final

from bot.plugins.plugin import EnginePlugin, TerminalGroup

PLUGIN: Final = EnginePlugin(
    name="scenario",
    position=1,
    kinds=("scenario",),
    parts={
        "wiring": "engines.scenarios.wiring:WIRING",
        "lifetime": "engines.scenarios.log_file:LIFETIME",
        "kind/scenario": "engines.scenarios.faces:SCENARIO_FACE",
        "trial/scenario": "engines.scenarios.faces:TRIAL",
        "run": "engines.scenarios.faces:RUN_FACE",
    },
    terminal=(
        TerminalGroup(
            name="scenario",
            summary="Write scenarios: check, draw, try, test and record them, or begin a first one.",
            module="engines.scenarios.terminal.app",
        ),
    ),
    texts=Path(__file__).parent / "texts",
)

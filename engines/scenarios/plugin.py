"""The plugin of scenarios."""

from pathlib import Path
from typing import Final

from bot.plugins.plugin import EnginePlugin, Part, TerminalGroup

PLUGIN: Final = EnginePlugin(
    name="scenario",
    position=1,
    wiring=Part("engines.scenarios.wiring:WIRING"),
    kinds={"scenario": Part("engines.scenarios.faces:SCENARIO_FACE")},
    runs=Part("engines.scenarios.faces:RUN_FACE"),
    terminal=(
        TerminalGroup(
            name="scenario",
            summary="Write scenarios: check, draw, try, test and record them, or begin a first one.",
            module="engines.scenarios.terminal.app",
        ),
    ),
    lifetime=Part("engines.scenarios.log_file:keep_scenario_log"),
    texts=Path(__file__).parent / "texts",
)

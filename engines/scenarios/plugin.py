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
        "kind/scenario": "engines.scenarios.kind_face:SCENARIO_FACE",
        "trial/scenario": "engines.scenarios.cases:TRIAL",
        "cases/scenario": "engines.scenarios.cases:CASES",
        "family/scenario": "engines.scenarios.terminal.trying:FAMILY",
        "live/scenario": "engines.scenarios.terminal.trying:LIVE",
        "run": "engines.scenarios.run_face:RUN_FACE",
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

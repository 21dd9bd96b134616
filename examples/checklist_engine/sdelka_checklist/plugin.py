"""The plugin of checklists. It imports nothing of the engine: every command of the terminal reads it."""

from pathlib import Path
from typing import Final

from bot.plugins.plugin import EnginePlugin, TerminalGroup

PLUGIN: Final = EnginePlugin(
    name="checklist",
    kinds=("checklist",),
    parts={
        "wiring": f"{__package__}.wiring:WIRING",
        "kind/checklist": f"{__package__}.kind_face:CHECKLIST_FACE",
        "trial/checklist": f"{__package__}.trial:TRIAL",
        "run": f"{__package__}.run_face:RUN_FACE",
        "http": f"{__package__}.http_face:HTTP_FACE",
    },
    terminal=(TerminalGroup(name="checklist", summary="Look at checklists.", module=f"{__package__}.terminal"),),
    texts=Path(__file__).parent / "texts",
)

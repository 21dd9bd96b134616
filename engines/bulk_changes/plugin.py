from pathlib import Path
from typing import Final

from bot.plugins.plugin import EnginePlugin

PLUGIN: Final = EnginePlugin(
    name="bulk_changes",
    position=5,
    parts={"wiring": "engines.bulk_changes.wiring:WIRING"},
    texts=Path(__file__).parent / "texts",
)

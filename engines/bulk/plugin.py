from pathlib import Path
from typing import Final

from bot.plugins.plugin import EnginePlugin

PLUGIN: Final = EnginePlugin(
    name="bulk",
    position=5,
    parts={"wiring": "engines.bulk.wiring:WIRING"},
    texts=Path(__file__).parent / "texts",
)

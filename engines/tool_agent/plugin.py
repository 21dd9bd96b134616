from pathlib import Path
from typing import Final

from bot.plugins.plugin import EnginePlugin

PLUGIN: Final = EnginePlugin(
    name="tool_agent",
    position=5,
    parts={"turns": "engines.tool_agent.turn_face:TURN_FACE", "ask": "engines.tool_agent.terminal:ASK_FACE"},
    texts=Path(__file__).parent / "texts",
)

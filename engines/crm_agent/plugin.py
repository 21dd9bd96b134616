from typing import Final

from bot.plugins.plugin import EnginePlugin

PLUGIN: Final = EnginePlugin(name="crm_agent", position=4, parts={"turns": "engines.crm_agent.turn_face:TURN_FACE"})

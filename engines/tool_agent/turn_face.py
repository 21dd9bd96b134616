"""Builds the tool agent of chats. Part of the composition root."""

from functools import cache
from typing import Final

from bot.i18n.translate import Locale, Translator
from bot.plugins.turn_face import TurnFace, TurnPorts
from engines.tool_agent.agent_settings import build_agent_settings
from engines.tool_agent.core.engine import ToolAgent
from engines.tool_agent.core.toolbox import Words


def build_tool_agent(ports: TurnPorts) -> ToolAgent:
    """Both kinds of texts may have CHAT_QUESTION_MAXLEN characters."""
    settings = ports.settings
    return ToolAgent(
        services=ports.services,
        words=_write_in,
        settings=build_agent_settings(settings, longest=settings.chat_question_maxlen),
        exit_commands=settings.exit_commands,
        help_commands=settings.help_commands,
        tells_asker="rag" in ports.services.believed,
    )


@cache
def _write_in(locale: Locale) -> Words:
    return Translator(locale).translate_notice


TURN_FACE: Final = TurnFace(build=build_tool_agent)

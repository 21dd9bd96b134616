"""Builds the tool agent of chats. Part of the composition root."""

from functools import cache
from typing import Final

from bot.i18n.translate import Locale, Translator
from bot.plugins.turn_face import TurnFace, TurnPorts
from bot.settings.settings import Settings
from engines.tool_agent.core.engine import ToolAgent
from engines.tool_agent.core.toolbox import AgentSettings, Words


def build_agent_settings(settings: Settings, *, longest: int | None = None) -> AgentSettings:
    """`longest` replaces the lengths that hold in a terminal."""
    return AgentSettings(
        history_limit=settings.context_hist_limit,
        question_maxlen=longest or settings.param_question_maxlen,
        theme_maxlen=longest or settings.param_theme_maxlen,
        text_maxlen=settings.chat_question_maxlen,
        rag_top_k=settings.param_rag_top_k,
    )


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

from bot.settings.settings import Settings
from engines.tool_agent.core.toolbox import AgentSettings


def build_agent_settings(settings: Settings, *, longest: int | None = None) -> AgentSettings:
    """`longest` replaces the lengths that hold in a terminal."""
    return AgentSettings(
        history_limit=settings.context_hist_limit,
        question_maxlen=longest or settings.param_question_maxlen,
        theme_maxlen=longest or settings.param_theme_maxlen,
        text_maxlen=settings.chat_question_maxlen,
        rag_top_k=settings.param_rag_top_k,
    )

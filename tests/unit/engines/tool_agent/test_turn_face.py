"""How the tool agent of chats is built."""

from types import SimpleNamespace
from typing import Any

from engines.tool_agent.turn_face import build_tool_agent
from tests.unit.engines.tool_agent.ask_kit import settings


def test_the_agent_of_chats_has_their_lengths() -> None:
    """Both texts may have CHAT_QUESTION_MAXLEN characters, and the asker is told only to a service that believes it."""
    ports: Any = SimpleNamespace(settings=settings(chat_question_maxlen=77), services=SimpleNamespace(believed=frozenset()))
    agent = build_tool_agent(ports)
    assert (agent._settings.question_maxlen, agent._settings.theme_maxlen, agent._tells_asker) == (77, 77, False)
    ports.services.believed = frozenset({"rag"})
    assert build_tool_agent(ports)._tells_asker

"""The tools in the order in which they are offered. engines/tool_agent/README.md says how to add one."""

from typing import Any, Final

from engines.tool_agent.core.toolbox import Tool
from engines.tool_agent.core.tools import calculate, find_in_crm, generate_haiku, rag_search

TOOLS: Final[tuple[Tool[Any], ...]] = (rag_search.TOOL, generate_haiku.TOOL, find_in_crm.TOOL, calculate.TOOL)

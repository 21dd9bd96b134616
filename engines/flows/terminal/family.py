from typing import Final

from bot.cli.author.faces import Family
from engines.flows.core.agents import KIND as AGENT
from engines.flows.core.kind import FLOW, list_agents

FAMILY: Final = Family(
    whole=FLOW,
    part=AGENT,
    key_field="flowId",
    folder="agents",
    is_part=lambda data: "systemPrompt" in data and "steps" not in data,
    list_parts=list_agents,
)

from pydantic import BaseModel, Field

from engines.tool_agent.core.toolbox import Tool, ToolAnswer, ToolPorts, build_message
from orchestrator.engines.shared.calculator import NotCalculable, calculate_text
from orchestrator.language.money_parser import format_sum


class CalculateParams(BaseModel):
    """What the tool needs to know."""

    expression: str = Field(description='What to calculate, with numbers and signs, such as "150 000 + 20%" or "12.5% of 84 300 ₽".')


async def calculate(params: CalculateParams, ports: ToolPorts) -> ToolAnswer:
    try:
        value, currency = calculate_text(params.expression, ports.language)
    except NotCalculable:
        return ToolAnswer(messages=(build_message(TOOL.build_code("failed"), is_kept=True),), fault="failed")
    formatted = format_sum(value, currency, locale=ports.language)
    return ToolAnswer(messages=(build_message(TOOL.build_code("result"), is_kept=True, expression=params.expression, result=formatted),))


TOOL = Tool(
    name="calculate",
    description="Calculates with numbers, sums of money and percent.",
    params=CalculateParams,
    run=calculate,
)

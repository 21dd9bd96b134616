"""The tool that writes a haiku, through the haiku service (S001-51 … 54, 68 … 77)."""

from pydantic import BaseModel, Field

from engines.tool_agent.core.toolbox import ServiceCall, Tool, ToolAnswer, ToolPorts, build_message, call_service


class GenerateHaikuParams(BaseModel):
    """What the tool needs to know."""

    theme: str = Field(description="What the haiku is about, in one to three words.")


class Haiku(BaseModel):
    """A good answer of POST /generate_haiku (S001-74)."""

    haiku_text: str
    syllables_per_line: list[int]
    total_words: int


GENERATE = ServiceCall(service="haiku", path="/generate_haiku", answer=Haiku, action="generate_haiku", refused="Generation")


async def generate_haiku(params: GenerateHaikuParams, ports: ToolPorts) -> ToolAnswer:
    fault = await call_service(GENERATE, {"theme": params.theme}, ports)
    if not isinstance(fault, Haiku):
        return ToolAnswer(messages=(build_message(TOOL.build_code("failed"), is_kept=True),), fault=fault)
    lines = [line.strip() for line in fault.haiku_text.splitlines() if line.strip()]
    return ToolAnswer(
        messages=(
            build_message(TOOL.build_code("text"), is_kept=True, haiku=" | ".join(lines)),
            build_message(TOOL.build_code("syllables"), counts="-".join(map(str, fault.syllables_per_line))),
            build_message(TOOL.build_code("words"), total=str(fault.total_words)),
        )
    )


TOOL = Tool(
    name="generate_haiku",
    description="Writes a haiku about a theme.",
    params=GenerateHaikuParams,
    limits={"theme": lambda settings: settings.theme_maxlen},
    run=generate_haiku,
)

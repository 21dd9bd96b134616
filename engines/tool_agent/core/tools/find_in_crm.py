"""The tool that finds records by a name. It only reads, with the rights of the person who asks."""

from pydantic import BaseModel, Field

from engines.tool_agent.core.toolbox import Message, Tool, ToolAnswer, ToolPorts, build_message
from orchestrator.domain.outputs import Notice, Table


class FindInCrmParams(BaseModel):
    """What the tool needs to know."""

    name: str = Field(description="The name, or a part of it: the title of a deal, lead or company, or the last name of a person.")


async def find_records(params: FindInCrmParams, ports: ToolPorts) -> ToolAnswer:
    if ports.find_records is None:
        return _fail(Notice(code=TOOL.build_code("no-portal")))
    records = await ports.find_records(params.name)
    if records.problem is not None:
        return _fail(records.problem)
    if not records.tables:
        return ToolAnswer(messages=(build_message(TOOL.build_code("none"), is_kept=True, name=params.name),))
    titles = ", ".join(row.label for table in records.tables for row in table.rows)
    parts: tuple[Table, ...] = tuple(records.tables)
    return ToolAnswer(
        messages=(build_message(TOOL.build_code("found"), is_kept=True, titles=titles),), parts=parts, is_prose=records.is_prose
    )


def _fail(why: Notice) -> ToolAnswer:
    return ToolAnswer(messages=(Message(notice=why, is_kept=True),), fault="failed")


TOOL = Tool(
    name="find_in_crm",
    description="Finds deals, leads, contacts and companies of the CRM by a name or a part of it.",
    params=FindInCrmParams,
    run=find_records,
    needs_portal=True,
)

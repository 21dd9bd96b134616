"""What a checklist is, how it is checked, drawn and run."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from orchestrator.charts.chart import Arrow, Box, Chart
from orchestrator.definitions.kinds import DefinitionKind, Write
from orchestrator.definitions.mistakes import report_name_twice
from orchestrator.definitions.model_mistakes import report_model_mistakes
from orchestrator.documents.document import Document
from orchestrator.documents.findings import Findings
from orchestrator.documents.json_schema import split_schema, write_schema
from orchestrator.domain.finding import Finding
from orchestrator.domain.outputs import Notice, Reply
from orchestrator.domain.taint import Value
from orchestrator.engines.runs import Ask, Option, RunContext, RunResult
from state.stored import JsonObject

ENGINE: Final = "checklist"
DONE: Final = "checklist-done"
LEFT: Final = "checklist-left"
"""The codes of the sentences on the buttons."""


class Point(BaseModel):
    """One thing to do."""

    model_config = ConfigDict(extra="forbid", strict=True)
    id: str = Field(min_length=1, max_length=40, pattern="^[a-z][a-z0-9_]*$", description="Its name in the journal.")
    text: str = Field(min_length=1, max_length=500, description="What is to be done.")


class Checklist(BaseModel):
    """Things that a person goes through in order."""

    model_config = ConfigDict(extra="forbid", strict=True)
    title: str = Field(min_length=1, max_length=200, description="What people call it.")
    points: list[Point] = Field(min_length=1, max_length=100, description="Its points, in order.")


def check(document: Document) -> Iterable[Finding]:
    """Return what is wrong with a checklist."""
    findings = Findings(document)
    if report_model_mistakes(findings, Checklist, document.data, ()):
        ids: set[str] = set()
        for index, point in enumerate(Checklist.model_validate(document.data).points):
            if point.id in ids:
                report_name_twice(findings, ("points", index, "id"), point.id)
            ids.add(point.id)
    return findings.list_all()


def find_title(document: object) -> str:
    """Return what people call it."""
    title = document.get("title") if isinstance(document, Mapping) else None
    return title if isinstance(title, str) else ""


def list_writes(_document: object) -> Sequence[Write]:
    """Return no writes: a checklist only asks."""
    return ()


KIND: Final = DefinitionKind(name=ENGINE, check=check, list_writes=list_writes, find_title=find_title)


def build_schema() -> JsonObject:
    """Return the JSON Schema of checklists."""
    return write_schema("A checklist", *split_schema(Checklist))


def build_chart(document: object) -> Chart:
    """Return the chart of a checklist, also of one with mistakes: its points, one after another."""
    points = document.get("points") if isinstance(document, Mapping) else None
    drawn = [point if isinstance(point, Mapping) else {} for point in points] if isinstance(points, list) else []
    boxes = [Box(title=str(point.get("text") or "?"), text="", shape="question", key=str(point.get("id") or "")) for point in drawn]
    arrows = [Arrow(source=index, target=index + 1) for index in range(len(boxes) - 1)]
    return Chart(title=find_title(document), boxes=boxes, arrows=arrows)


class ChecklistEngine:
    """Asks about each point, and says how many are left."""

    replay = 1
    replays = frozenset({1})

    async def run(self, ctx: RunContext) -> RunResult:
        """Ask about each point in order. Its result is {left: the ids of the points that are not done}."""
        checklist = Checklist.model_validate(ctx.run.definition.document)
        left = [point.id for point in checklist.points if not await _is_done(point, ctx)]
        notice = Notice(code="checklist-ended", args={"name": checklist.title, "count": len(left)})
        return RunResult(value=Value({"left": left}, frozenset({"person"})), reply=Reply(notices=(notice,)))


async def _is_done(point: Point, ctx: RunContext) -> bool:
    buttons = (Option(label=DONE, value=True), Option(label=LEFT, value=False))
    heard = await ctx.wait_input(point.id, Ask(text=point.text, controls=buttons))
    return bool(heard.value.data)

"""What the doors show of workflows and their tuums."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from pydantic import ValidationError

from bot.console.definitions.form.sources import find_free_name, list_step_names
from bot.console.runs.run_face import Launch, RunFace
from bot.plugins.kind_face import KindFace, Say, Steps
from bot.rehearsing.loading import load_named
from bot.rehearsing.trial_face import TrialFace
from engines.workflows.core.chart import build_chart
from engines.workflows.core.definition import Workflow
from engines.workflows.core.registry import build_rune_types, load_plugins
from engines.workflows.core.rune_types import RuneTypes
from engines.workflows.core.schema import build_tuum_schema, build_workflow_schema
from engines.workflows.trial import PlayableWorkflowTrial
from orchestrator.definitions.kinds import DefinitionKind
from orchestrator.domain.finding import Path
from orchestrator.runs.registry import Definitions
from state.journal.async_store import AsyncStore
from state.stored import JsonObject

_TUUMS: Final = "tuums"
_RUNES: Final = frozenset({"runes", "promptRunes"})


@cache
def load_rune_types() -> RuneTypes:
    """Return the types of runes, with those of installed plugins."""
    return build_rune_types(load_plugins())


def begin_tuum(say: Say) -> JsonObject:
    """Return a first tuum."""
    return {
        "tuumId": "first",
        "metadata": {"title": say("console-new-title")},
        "outputMappings": {"answer": "ai_final_output"},
        "promptRunes": [{"runeType": "prompt", "template": say("console-new-prompt")}],
        "aiService": "tool",
    }


def begin_workflow(say: Say) -> JsonObject:
    """Return a first workflow."""
    title = say("console-new-title")
    return {"workflowId": "new_one", "metadata": {"title": title}, "tuums": [begin_tuum(say)], "terminal": {"rawText": "answer"}}


def build_item(document: object, path: Path) -> object:
    """Return a new tuum or rune of the simplest type, or another element without anything in it."""
    if path == (_TUUMS,):
        return {"tuumId": find_free_name("tuum", list_step_names(document))}
    return {"runeType": "prompt", "template": ""} if path[-1] in _RUNES else {}


async def load_playable(
    kind: DefinitionKind, key: str, document: Mapping[str, Any], *, store: AsyncStore, definitions: Definitions
) -> PlayableWorkflowTrial:
    """Return the workflow with its tuums. Whatever its triggers say, its author may try it."""
    del definitions
    tuums = await load_named((reference.written for reference in kind.list_references(document)), store)
    free = {name: part for name, part in document.items() if name != "triggers"}
    return PlayableWorkflowTrial(key=key, document=free, tuums=tuums, types=load_rune_types())


def read_launch(document: object) -> Launch:
    """Return the trigger parameters, and the kind of record that it works on."""
    try:
        workflow = Workflow.model_validate(document)
    except ValidationError:  # it is refused when it is started
        return Launch()
    return Launch(parameters=tuple(workflow.trigger_parameters), record=workflow.record or "")


WORKFLOW_FACE: Final = KindFace(
    begin=begin_workflow,
    build_schema=lambda: build_workflow_schema(load_rune_types()),
    build_item=build_item,
    steps=Steps(field=_TUUMS, draw=lambda document, parts: build_chart(document, load_rune_types(), parts), are_in_order=False),
)
TUUM_FACE: Final = KindFace(begin=begin_tuum, build_schema=lambda: build_tuum_schema(load_rune_types()), build_item=build_item)
RUN_FACE: Final = RunFace(takes_parameters=True, read_launch=read_launch, says_ways=False)
TRIAL: Final = TrialFace(load=load_playable)

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from pydantic import ValidationError

from bot.console.runs.run_face import Launch, RunFace
from bot.i18n.translate import Translator
from engines.workflows.charts import BETWEEN, RESULT_KEY, START_KEY
from engines.workflows.core.definition import Workflow
from engines.workflows.core.engine import TUUMS
from orchestrator.charts.chart import Box


def read_launch(document: object) -> Launch:
    try:
        workflow = Workflow.model_validate(document)
    except ValidationError:  # it is refused when it is started
        return Launch()
    return Launch(parameters=tuple(workflow.trigger_parameters), record=workflow.record or "")


def say_box(_tr: Translator, _document: object, _place: int, box: Box) -> Box | None:
    """A tuum by its title alone; what has a word by that."""
    name, _, title = box.title.partition(BETWEEN)
    return replace(box, title=title or name, text="") if not box.word else None


def name_nodes(_place: int, key: str, parts: Mapping[str, object]) -> str:
    """By the id of the tuum, also where the workflow names a stored one alone."""
    if key in {START_KEY, RESULT_KEY}:
        return ""
    part = parts.get(key)
    stored_id = part.get("tuumId") if isinstance(part, Mapping) else None
    return stored_id if isinstance(stored_id, str) else key.partition("@")[0]


RUN_FACE: Final = RunFace(
    takes_parameters=True,
    read_launch=read_launch,
    say_box=say_box,
    name_nodes=name_nodes,
    are_steps_side_by_side=True,
    parts_node=TUUMS,
    says_ways=False,
)

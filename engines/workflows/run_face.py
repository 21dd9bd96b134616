from typing import Final

from pydantic import ValidationError

from bot.console.runs.run_face import Launch, RunFace
from engines.workflows.core.definition import Workflow
from engines.workflows.core.engine import TUUMS


def read_launch(document: object) -> Launch:
    try:
        workflow = Workflow.model_validate(document)
    except ValidationError:  # it is refused when it is started
        return Launch()
    return Launch(parameters=tuple(workflow.trigger_parameters), record=workflow.record or "")


RUN_FACE: Final = RunFace(takes_parameters=True, read_launch=read_launch, are_steps_side_by_side=True, parts_node=TUUMS, says_ways=False)

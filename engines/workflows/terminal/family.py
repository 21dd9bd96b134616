from typing import Final

from bot.cli.author.faces import Family
from engines.workflows.core.kind import TUUM, WORKFLOW, list_tuums

FAMILY: Final = Family(
    whole=WORKFLOW,
    part=TUUM,
    key_field="workflowId",
    part_key_field="tuumId",
    folder="tuums",
    is_part=lambda data: "tuumId" in data and "tuums" not in data,
    list_parts=list_tuums,
    part_refusal="it has its order in each workflow that names it",
)

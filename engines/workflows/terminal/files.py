"""Files of workflows and their tuums."""

from pathlib import Path
from typing import Final

from bot.cli.author.files import Family, find_part_file, read_data
from engines.workflows.core.kind import TUUM, WORKFLOW, list_tuums
from engines.workflows.core.registry import build_rune_types, load_plugins
from engines.workflows.core.rune_types import RuneTypes

WORKFLOWS: Final = Family(
    whole=WORKFLOW,
    part=TUUM,
    key_field="workflowId",
    part_key_field="tuumId",
    folder="tuums",
    is_part=lambda data: "tuumId" in data and "tuums" not in data,
    list_parts=list_tuums,
)


def load_types() -> RuneTypes:
    """Return the types of runes, with those of installed plugins."""
    return build_rune_types(load_plugins())


def find_files(workflow: Path, document: object) -> dict[str, object]:
    """Return the documents of the tuums that a workflow names and that are files beside it, by what is written there."""
    names = dict.fromkeys(one.written for one in list_tuums(document))
    return {name: read_data(file) for name in names if (file := find_part_file(WORKFLOWS, workflow, name))}

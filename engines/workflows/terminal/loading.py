"""Loads the workflow that is to be ordered, tried or tested: a file with the tuums that are files beside it, or of the store."""

from dataclasses import dataclass
from pathlib import Path

from bot.cli.author.files import CheckedFile, check_one, check_path, is_wrong, open_part_store
from bot.cli.ops import escape_text
from engines.workflows.core.compile import CompiledWorkflow, compile_workflow
from engines.workflows.core.definition import Tuum, Workflow
from engines.workflows.core.kind import TUUM, WORKFLOW
from engines.workflows.rehearsal.playing import PlayableWorkflow
from engines.workflows.terminal.files import WORKFLOWS, load_types
from orchestrator.domain.errors import SettingsError


@dataclass(frozen=True, kw_only=True)
class LoadedWorkflow:
    """A workflow without mistakes."""

    compiled: CompiledWorkflow
    playable: PlayableWorkflow
    """Whatever its triggers say, its author may try it."""

    @property
    def titles(self) -> dict[str, str]:
        """What people call its tuums."""
        return {one.id: one.tuum.metadata.title or one.id for one in self.compiled.tuums}


def load_workflow(path: Path) -> tuple[CheckedFile, LoadedWorkflow | None]:
    """Return what is wrong with a workflow, or with a tuum beside it, and the workflow in its order if nothing is.

    Raises SettingsError.
    """
    with open_part_store() as store:
        checked = check_path(WORKFLOWS, path, store)
    if checked.kind != WORKFLOW:
        raise SettingsError(escape_text(f"{path} is a tuum: it has its order in each workflow that names it"))
    document = checked.document
    if not isinstance(document, dict) or is_wrong(checked):
        return checked, None
    for one in checked.part_files:
        if is_wrong(part := check_one(one, TUUM)):
            return part, None
    if checked.not_looked_up:
        names = ", ".join(checked.not_looked_up)
        raise SettingsError(escape_text(f"there are no files of the tuums {names} beside {path}, and {store.why_not}"))
    types = load_types()
    tuums = {name: Tuum.model_validate(one) for name, one in checked.parts.items()}
    compiled = compile_workflow(Workflow.model_validate(document), tuums, types)
    playable = PlayableWorkflow(
        key=WORKFLOWS.find_key(document),
        document={name: one for name, one in document.items() if name != "triggers"},
        tuums=checked.parts,
        ids=[one.id for one in compiled.tuums],
        types=types,
    )
    return checked, LoadedWorkflow(compiled=compiled, playable=playable)

"""`sdelka workflow compile`: in which order the tuums of a workflow run, and what they exchange."""

from pathlib import Path
from typing import Final

import typer

from bot.cli.linked.files import CheckedFile, check_path, is_wrong, open_part_store
from bot.cli.ops import escape_text, write_json_lines, write_table
from bot.cli.workflow.files import WORKFLOWS, load_types
from bot.i18n.translate import Translator
from orchestrator.domain.errors import SettingsError
from orchestrator.engines.workflows.compile import CompiledTuum, CompiledWorkflow, compile_workflow
from orchestrator.engines.workflows.definition import Tuum, Workflow
from orchestrator.engines.workflows.kind import WORKFLOW

_COLUMNS: Final = ("level", "tuum", "after", "takes", "publishes")


def load_compiled(path: Path) -> tuple[CheckedFile, CompiledWorkflow | None]:
    """Return what is wrong with a workflow, and the workflow in its order if nothing is. Raises SettingsError."""
    with open_part_store() as store:
        checked = check_path(WORKFLOWS, path, store)
    if checked.kind != WORKFLOW:
        raise SettingsError(escape_text(f"{path} is a tuum: it has its order in each workflow that names it"))
    if checked.document is None or is_wrong(checked):
        return checked, None
    if checked.not_looked_up:
        names = ", ".join(checked.not_looked_up)
        raise SettingsError(escape_text(f"there are no files of the tuums {names} beside {path}, and {store.why_not}"))
    tuums = {name: Tuum.model_validate(one) for name, one in checked.parts.items()}
    return checked, compile_workflow(Workflow.model_validate(checked.document), tuums, load_types())


def write_order(compiled: CompiledWorkflow, tr: Translator, *, as_json: bool) -> None:
    """Write the tuums by their levels: for people as a table, for programs an object a line."""
    ordered = [compiled.tuums[position] for level in compiled.levels for position in level]
    if as_json:
        write_json_lines([_to_json(compiled, one) for one in ordered])
        return
    typer.echo(escape_text(tr.translate("workflow-cli-order", count=len(ordered), levels=len(compiled.levels))))
    rows = [
        (
            str(one.level + 1),
            one.id,
            ", ".join(_list_sources(compiled, one)),
            ", ".join(
                [*(_name_variable(*pair) for pair in one.inputs.items()), *(_name_variable(*pair, "?") for pair in one.reads.items())]
            ),
            ", ".join(_name_variable(local, name) for name, local in one.outputs.items()),
        )
        for one in ordered
    ]
    write_table([tr.translate("workflow-cli-column", column=name) for name in _COLUMNS], rows)


def _list_sources(compiled: CompiledWorkflow, tuum: CompiledTuum) -> list[str]:
    return [compiled.tuums[position].id for position in tuum.needs]


def _name_variable(local: str, name: str, mark: str = "") -> str:
    """Return a variable as people read it: the global, with the local behind it if that is called otherwise; `?` marks an optional one."""
    return f"{name}{mark}" if local == name else f"{name}{mark} ({local})"


def _to_json(compiled: CompiledWorkflow, tuum: CompiledTuum) -> dict[str, object]:
    return {
        "tuum": tuum.id,
        "level": tuum.level,
        "index": tuum.index,
        "after": _list_sources(compiled, tuum),
        "inputs": dict(tuum.inputs),
        "reads": dict(tuum.reads),
        "outputs": dict(tuum.outputs),
    }

"""`sdelka workflow compile`: in which order the tuums of a workflow run, and what they exchange."""

from typing import Final

import typer

from bot.cli.ops import escape_text, write_json_lines, write_table
from bot.i18n.translate import Translator
from engines.workflows.core.compile import CompiledTuum, CompiledWorkflow

_COLUMNS: Final = ("level", "tuum", "after", "takes", "publishes")


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

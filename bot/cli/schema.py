"""The command group `sdelka schema`: the JSON Schemas by which editors complete and check definitions while they are written."""

import sys
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from state.stored import JsonObject

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Print the JSON Schema of a kind of definitions, for editors.")


@app.callback()
def group() -> None:
    """Print the JSON Schema of a kind of definitions, for editors."""


@app.command()
def scenario() -> None:
    """Print the JSON Schema of scenarios, with the types of steps of installed plugins. Exit code: 0."""
    from engines.scenarios.core.authoring.schema import build_schema  # noqa: PLC0415 - see above
    from engines.scenarios.terminal.files import load_types  # noqa: PLC0415 - help needs none of it, see bot.cli.ops

    _write(build_schema(load_types()))


@app.command()
def flow() -> None:
    """Print the JSON Schema of flows. Exit code: 0."""
    from engines.flows.core.schema import build_flow_schema  # noqa: PLC0415 - see scenario

    _write(build_flow_schema())


@app.command()
def agent() -> None:
    """Print the JSON Schema of agents, which the steps of flows name. Exit code: 0."""
    from engines.flows.core.schema import build_agent_schema  # noqa: PLC0415 - see scenario

    _write(build_agent_schema())


@app.command()
def workflow() -> None:
    """Print the JSON Schema of workflows, with the types of runes of installed plugins. Exit code: 0."""
    from engines.workflows.core.schema import build_workflow_schema  # noqa: PLC0415 - see scenario
    from engines.workflows.terminal.files import load_types  # noqa: PLC0415 - see scenario

    _write(build_workflow_schema(load_types()))


@app.command()
def tuum() -> None:
    """Print the JSON Schema of tuums that are stored on their own. Exit code: 0."""
    from engines.workflows.core.schema import build_tuum_schema  # noqa: PLC0415 - see scenario
    from engines.workflows.terminal.files import load_types  # noqa: PLC0415 - see scenario

    _write(build_tuum_schema(load_types()))


def _write(schema: "JsonObject") -> None:
    import orjson  # noqa: PLC0415 - see scenario

    sys.stdout.write(orjson.dumps(schema, option=orjson.OPT_INDENT_2).decode() + "\n")

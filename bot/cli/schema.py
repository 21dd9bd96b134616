"""The command group `sdelka schema`: the JSON Schemas by which editors complete and check definitions while they are written."""

import sys

import typer

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Print the JSON Schema of a kind of definitions, for editors.")


@app.callback()
def group() -> None:
    """Print the JSON Schema of a kind of definitions, for editors."""


@app.command()
def scenario() -> None:
    """Print the JSON Schema of scenarios, with the types of steps of installed plugins. Exit code: 0."""
    import orjson  # noqa: PLC0415 - help needs none of it, see bot.cli.ops

    from bot.cli.scenario.files import load_types  # noqa: PLC0415 - see above
    from orchestrator.engines.scenarios.authoring.schema import build_schema  # noqa: PLC0415 - see above

    sys.stdout.write(orjson.dumps(build_schema(load_types()), option=orjson.OPT_INDENT_2).decode() + "\n")

"""`sdelka schema`: JSON Schemas for editors."""

import sys
from typing import Final

import orjson
import typer

from bot.plugins.kind_face import KIND_FACE
from bot.plugins.loading import find_part_of_kind, list_kinds
from orchestrator.domain.errors import SettingsError

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Print the JSON Schema of a kind of definitions, for editors.")
_HELP: Final = (
    "Print the JSON Schema of definitions of the kind {kind}, with the types of installed plugins. Exit code: 0, without a schema 2."
)


@app.callback()
def group() -> None:
    """Print the JSON Schema of a kind of definitions, for editors."""


def _write(kind: str) -> None:
    face = find_part_of_kind(KIND_FACE, kind)
    if face is None or face.build_schema is None:
        raise SettingsError(f"definitions of the kind {kind} have no schema")
    sys.stdout.write(orjson.dumps(face.build_schema(), option=orjson.OPT_INDENT_2).decode() + "\n")


def _add_command(kind: str) -> None:
    @app.command(kind, help=_HELP.format(kind=kind))
    def write() -> None:
        _write(kind)


for _kind in list_kinds():
    _add_command(_kind)

"""The command group `sdelka checklist`."""

import sys
from pathlib import Path

import orjson
import typer

from orchestrator.charts.chart import write_mermaid

from .core import build_chart

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Look at checklists.")


@app.callback()
def group() -> None:
    """Look at checklists."""


@app.command()
def draw(path: Path) -> None:
    """Write the chart of a checklist, as text for Mermaid. Exit code: 0."""
    sys.stdout.write(write_mermaid(build_chart(orjson.loads(path.read_bytes()))))

"""`sdelka services`: documents and haiku, each as a program of its own."""

from pathlib import Path
from typing import Final

import typer

from bot.cli.deferred import defer

_WORK: Final = "bot.cli.work.services"


@defer(_WORK)
def serve_rag(
    docs: Path | None = typer.Option(None, help="Folder of the documents; by default RAG_DOCS_DIR."),  # noqa: B008 - typer reads it
    host: str = typer.Option("127.0.0.1", help="Address to listen at."),
    port: int = typer.Option(8081, min=1, max=65535, help="Port to listen at."),
) -> None:
    """Answer questions from the documents in a folder, which is watched: POST /search {"question": …}."""


@defer(_WORK)
def serve_haiku(
    host: str = typer.Option("127.0.0.1", help="Address to listen at."),
    port: int = typer.Option(8082, min=1, max=65535, help="Port to listen at."),
) -> None:
    """Write haiku for whoever asks: POST /generate_haiku {"theme": …}."""


app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help="Serve a service of the tool agent.")
app.command("haiku")(serve_haiku)
app.command("rag")(serve_rag)


@app.callback()
def choose() -> None:
    """Serve a service of the tool agent, which other programs may ask too."""

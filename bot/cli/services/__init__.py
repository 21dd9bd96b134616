"""The command `sdelka services`: serves what the tool agent asks, each as a program of its own."""

import typer

from bot.cli.services.haiku import serve_haiku
from bot.cli.services.rag import serve_rag

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help="Serve a service of the tool agent.")
app.command("haiku")(serve_haiku)
app.command("rag")(serve_rag)


@app.callback()
def choose() -> None:
    """Serve a service of the tool agent, which other programs may ask too."""

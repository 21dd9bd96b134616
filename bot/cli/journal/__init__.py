"""`sdelka journal …`: what ops ask of the journal. One file a group of commands; each adds itself to `app`. Ring 3."""

import typer

app = typer.Typer(no_args_is_help=True, help="Read, verify and, where the law asks, erase the journal.")

"""`sdelka journal`. Each module adds its commands to `app`."""

import typer

from bot.cli.journal import activity, anchor, erase, export, sessions, verify, why

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Read, verify and, where the law asks, erase the journal.")
for part in (sessions, why, activity, verify, anchor, export, erase):
    part.add(app)

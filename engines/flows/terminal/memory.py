"""The command group `sdelka memory`."""

from typing import Annotated, Final

import typer

from bot.cli.deferred import defer
from bot.cli.options import AS_JSON

_WORK: Final = "engines.flows.terminal.memory_commands"

app = typer.Typer(no_args_is_help=True, add_completion=False, help="What flows remember of people: list, show and clear.")


_Flow = Annotated[str, typer.Argument(help="The key of the flow.")]


_Person = Annotated[str, typer.Argument(help="Whose memory, as `list` names it: employee:7, or the key of an account such as tg:1007.")]


_Json = Annotated[bool, typer.Option("--json", help=AS_JSON)]


@app.callback()
def group() -> None:
    """List, show and clear what flows remember of people: the channels with `scope: user`."""


@app.command(name="list")
@defer(_WORK)
def list_(
    *,
    flow: Annotated[str, typer.Option(help="Only of this flow.")] = "",
    person: Annotated[str, typer.Option(help="Only of this person, such as employee:7.")] = "",
    as_json: _Json = False,
) -> None:
    """List who is remembered by which flow, with the number of entries. Exit codes: 0 = listed, 2 = the database cannot be read."""


@app.command()
@defer(_WORK)
def show(flow: _Flow, person: _Person, *, as_json: _Json = False) -> None:
    """Show the entries, oldest first, with where their text comes from. Exit codes: 0 = shown, 1 = there are none, 2 = cannot be read."""


@app.command()
@defer(_WORK)
def clear(flow: _Flow, person: _Person) -> None:
    """Make a flow forget a person, also beside a running bot. Runs under way keep what they have read; the sealed records stay.

    To make the records themselves unreadable, erase the person: `sdelka journal erase`. Exit codes: 0 = cleared, 1 = there was nothing,
    2 = the database cannot be used: nothing was changed.
    """

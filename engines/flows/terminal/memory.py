"""The command group `sdelka memory`: lists, shows and clears what flows remember of people from run to run."""

import getpass
from typing import TYPE_CHECKING, Annotated, Final

import typer

from bot.cli.inputs import format_time
from bot.cli.ops import AS_JSON, escape_text, open_database_reader, open_database_writer, write_json_lines, write_table
from orchestrator.domain.errors import SettingsError

if TYPE_CHECKING:
    from state.journal.flow_memory import MemoryEntry, MemoryPlace
    from state.journal.store import Store

app = typer.Typer(no_args_is_help=True, add_completion=False, help="What flows remember of people: list, show and clear.")

NOTHING: Final = 1
PATIENCE: Final = 15.0
"""For how many seconds a clearing waits for runs that write at the moment."""
_Flow = Annotated[str, typer.Argument(help="The key of the flow.")]
_Person = Annotated[str, typer.Argument(help="Whose memory, as `list` names it: employee:7, or the key of an account such as tg:1007.")]
_Json = Annotated[bool, typer.Option("--json", help=AS_JSON)]


@app.callback()
def group() -> None:
    """List, show and clear what flows remember of people: the channels with `scope: user`."""


@app.command(name="list")
def list_(
    *,
    flow: Annotated[str, typer.Option(help="Only of this flow.")] = "",
    person: Annotated[str, typer.Option(help="Only of this person, such as employee:7.")] = "",
    as_json: _Json = False,
) -> None:
    """List who is remembered by which flow, with the number of entries. Exit codes: 0 = listed, 2 = the database cannot be read."""
    from state.journal.flow_memory import list_places  # noqa: PLC0415 - help needs none of it, see bot.cli.ops

    with open_database_reader() as store:
        wanted = [place for place in list_places(store) if flow in {"", place.flow} and person in {"", place.person}]
        found = [(one, entries) for one in wanted if (entries := _read(store, one))]
    if as_json:
        write_json_lines(
            [{"flow": one.flow, "person": one.person, "entries": len(entries), "last": entries[-1].at} for one, entries in found]
        )
        return
    rows = [(one.flow, one.person, len(entries), format_time(entries[-1].at)) for one, entries in found]
    write_table(("flow", "person", "entries", "last"), rows)


@app.command()
def show(flow: _Flow, person: _Person, *, as_json: _Json = False) -> None:
    """Show the entries, oldest first, with where their text comes from. Exit codes: 0 = shown, 1 = there are none, 2 = cannot be read."""
    from state.canonical import dumps  # noqa: PLC0415 - as above
    from state.journal.flow_memory import MemoryPlace  # noqa: PLC0415 - as above

    with open_database_reader() as store:
        found = _read(store, MemoryPlace(flow, person))
    if as_json:
        write_json_lines([one._asdict() for one in found])
    elif found:
        rows = [(one.channel, format_time(one.at), one.run, ", ".join(one.origins), dumps(one.data)) for one in found]
        write_table(("channel", "when", "run", "from", "entry"), rows)
    if not found:
        typer.echo(escape_text(f"The flow {flow} remembers nothing of {person}."), err=True)
        raise typer.Exit(NOTHING)


@app.command()
def clear(flow: _Flow, person: _Person) -> None:
    """Make a flow forget a person, also beside a running bot. Runs under way keep what they have read; the sealed records stay.

    To make the records themselves unreadable, erase the person: `sdelka journal erase`. Exit codes: 0 = cleared, 1 = there was nothing,
    2 = the database cannot be used: nothing was changed.
    """
    from state.journal.flow_memory import MemoryPlace  # noqa: PLC0415 - as above

    with open_database_writer() as store:
        was_cleared = _clear(store, MemoryPlace(flow, person))
    told = f"The flow {flow} has forgotten {person}." if was_cleared else f"The flow {flow} remembers nothing of {person}."
    typer.echo(escape_text(told))
    if not was_cleared:
        raise typer.Exit(NOTHING)


def _clear(store: "Store", place: "MemoryPlace") -> bool:
    import time  # noqa: PLC0415 - as above

    from state.clock import SystemClock, read_boottime  # noqa: PLC0415 - as above
    from state.journal.flow_memory import MemoryBusy, clear_entries  # noqa: PLC0415 - as above

    until = read_boottime() + PATIENCE
    while True:
        try:
            return clear_entries(store, place, f"cli:{getpass.getuser()}", SystemClock().now())
        except MemoryBusy:
            if read_boottime() > until:
                raise
            time.sleep(0.05)


def _read(store: "Store", place: "MemoryPlace") -> "list[MemoryEntry]":
    from state.clock import SystemClock  # noqa: PLC0415 - as above
    from state.journal.flow_memory import list_entries  # noqa: PLC0415 - as above
    from state.journal.store import StoreError  # noqa: PLC0415 - as above

    try:
        return list_entries(store, place, SystemClock().now())
    except StoreError as error:
        raise SettingsError(f"the memory cannot be read: {error}") from None

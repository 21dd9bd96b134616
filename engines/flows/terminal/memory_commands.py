import getpass
import time
from typing import Final

import typer

from bot.cli.inputs import format_time
from bot.cli.ops import escape_text, open_database_reader, open_database_writer, write_json_lines, write_table
from orchestrator.domain.errors import SettingsError
from state.canonical import dumps
from state.clock import SystemClock, read_boottime
from state.journal.flow_memory import MemoryBusy, MemoryEntry, MemoryPlace, clear_entries, list_entries, list_places
from state.journal.store import Store, StoreError

NOTHING: Final = 1


PATIENCE: Final = 15.0
"""Seconds to wait for runs that write at the moment."""


def list_(*, flow: str, person: str, as_json: bool) -> None:
    with open_database_reader() as store:
        places = [place for place in list_places(store) if flow in {"", place.flow} and person in {"", place.person}]
        memories = [(one, entries) for one in places if (entries := _read(store, one))]
    if as_json:
        write_json_lines(
            [{"flow": one.flow, "person": one.person, "entries": len(entries), "last": entries[-1].at} for one, entries in memories]
        )
        return
    rows = [(one.flow, one.person, len(entries), format_time(entries[-1].at)) for one, entries in memories]
    write_table(("flow", "person", "entries", "last"), rows)


def show(flow: str, person: str, *, as_json: bool) -> None:
    with open_database_reader() as store:
        entries = _read(store, MemoryPlace(flow, person))
    if as_json:
        write_json_lines([one._asdict() for one in entries])
    elif entries:
        rows = [(one.channel, format_time(one.at), one.run, ", ".join(one.origins), dumps(one.data)) for one in entries]
        write_table(("channel", "when", "run", "from", "entry"), rows)
    if not entries:
        typer.echo(escape_text(f"The flow {flow} remembers nothing of {person}."), err=True)
        raise typer.Exit(NOTHING)


def clear(flow: str, person: str) -> None:
    with open_database_writer() as store:
        was_cleared = _clear(store, MemoryPlace(flow, person))
    sentence = f"The flow {flow} has forgotten {person}." if was_cleared else f"The flow {flow} remembers nothing of {person}."
    typer.echo(escape_text(sentence))
    if not was_cleared:
        raise typer.Exit(NOTHING)


def _clear(store: Store, place: MemoryPlace) -> bool:

    until = read_boottime() + PATIENCE
    while True:
        try:
            return clear_entries(store, place, f"cli:{getpass.getuser()}", SystemClock().now())
        except MemoryBusy:
            if read_boottime() > until:
                raise
            time.sleep(0.05)


def _read(store: Store, place: MemoryPlace) -> list[MemoryEntry]:

    try:
        return list_entries(store, place, SystemClock().now())
    except StoreError as error:
        raise SettingsError(f"the memory cannot be read: {error}") from None

"""Helpers of commands that give the bot an order: they store it as an inbox row, and wait until a bot has carried it out.

Commands import their modules inside functions, so that `--help` and refusals are instant.
"""

import time
from typing import TYPE_CHECKING, Annotated, Final

import typer

from bot.cli.ops import escape_text
from orchestrator.domain.errors import SettingsError

if TYPE_CHECKING:
    from orchestrator.domain.actor import Actor
    from orchestrator.domain.inputs import Input
    from state.journal.store import InboxRow, Lane
    from state.sql.store import SqlStore

_POLL: Final = 0.1
Wait = Annotated[float, typer.Option(min=0, max=600, help="How many seconds to wait until a bot has carried it out.")]
EXIT_CODES: Final = (
    "Exit codes: 0 = done, 1 = the bot refused it, or no bot has taken it yet (then it is carried out as soon as one works), 2 = wrong use."
)


def submit_input(store: "SqlStore", row: "InboxRow", wait: float) -> bool:
    """Store the inbox row and return whether a bot has worked it within `wait` seconds."""
    from state.clock import read_boottime  # noqa: PLC0415 - see the module docstring

    store.put_inbox([row])
    until = read_boottime() + wait
    while True:
        stored = store.find_inbox(row.source)
        if stored is None or stored.status != "new":
            return True
        if read_boottime() >= until:
            return False
        time.sleep(_POLL)


def build_input_row(key: str, given: "Input", actor: "Actor", lane: "Lane" = "express") -> "InboxRow":
    """Return the inbox row that gives the session `key` this input of the actor."""
    from state.clock import SystemClock, generate_id  # noqa: PLC0415 - see the module docstring

    row_id = generate_id()
    return given.to_row(
        key, source=f"cli:{given.KIND}:{row_id}", actor=actor.model_dump(mode="json"), now=SystemClock().now(), lane=lane, row_id=row_id
    )


def parse_arg(text: str, option: str = "--arg") -> tuple[str, object]:
    """Return (name, value) of an option such as deal=481: the value is JSON data, or else the text as it stands."""
    import orjson  # noqa: PLC0415 - see the module docstring

    from state.canonical import to_storable  # noqa: PLC0415 - see the module docstring

    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise SettingsError(escape_text(f"{option} {text!r}: a value such as deal=481 is needed"))
    try:
        return name, to_storable(orjson.loads(value))
    except orjson.JSONDecodeError:
        return name, to_storable(value)


def check_person(person: str) -> str:
    """Return the channel of a person or token such as tg:1007; raises SettingsError for any other text."""
    channel, _, rest = person.partition(":")
    if channel not in {"tg", "http"} or not rest:
        raise SettingsError("--for: a person or token such as tg:1007 or http:site is needed")
    return channel


def format_time(ts: str) -> str:
    """Return a stored time as "2026-11-21 12:00:05Z", "" for an empty one."""
    return f"{ts[:19].replace('T', ' ')}Z" if ts else ""

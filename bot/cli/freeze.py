"""`sdelka freeze`: a switch that every process checks before a write; it works while no bot runs."""

import contextlib
import getpass
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.ops import escape_text, open_database_reader, open_database_writer, write_json_lines
from bot.cli.options import AS_JSON
from orchestrator.domain.errors import SettingsError

if TYPE_CHECKING:
    from state.journal.freeze_switch import FreezeState, SwitchOperator, SwitchResult
    from state.sql.store import SqlStore

FROZEN = 1

app = typer.Typer(add_completion=False, help="Stop all writing to the portal at once, or let it start again.")


@app.command()
def freeze(
    *,
    reason: Annotated[str, typer.Option("--reason", help="Why: everybody who asks for a change reads it.")] = "",
    off: Annotated[bool, typer.Option("--off", help="Let writing start again; what waits still waits for its press.")] = False,
    status: Annotated[bool, typer.Option("--status", help="Only tell how it stands.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help=AS_JSON)] = False,
) -> None:
    """Stop all writing to the portal in every process, or allow it again (--off), or show whether it is stopped (--status).

    Once a stopping command has returned, no new write starts; a call that was already sent is completed. Reading continues, and open
    confirmation cards stay open. The bot notifies the administrators. Exit codes: 0 = done (with --status: writing is allowed), 1 = with
    --status: writing is stopped, 2 = wrong use, or the database cannot be used: nothing was changed.
    """
    if sum((off, status, bool(reason))) > 1:
        raise SettingsError("sdelka freeze takes one of --reason, --off and --status")
    if status:
        _show_status(as_json=as_json)
        return
    with open_database_writer(failed="{why}: try again; nothing was changed") as store:
        turned = _set_switch(store, reason=reason.strip(), off=off)
    if as_json:
        write_json_lines([{"changed": turned.changed, **_to_json(turned.state)}])
    elif off:
        _write_line("Writing may start again. Cards that wait can be approved." if turned.changed else "Writing was not frozen.")
    elif turned.changed:
        _write_line("All writing to the portal is stopped from now on. `sdelka freeze --off` lets it start again.")
    else:
        _write_line(f"It was stopped already. {_format_status(turned.state)}")


def _show_status(*, as_json: bool) -> None:
    from state.journal.freeze_switch import find_freeze  # noqa: PLC0415 - help needs none of it, see bot.cli.ops
    from state.journal.store import StoreError  # noqa: PLC0415 - as above

    with open_database_reader() as store:
        try:
            standing = find_freeze(store)
        except StoreError as error:
            raise SettingsError(f"the database cannot be read, so no write starts: {error}") from None
    if as_json:
        write_json_lines([_to_json(standing)])
    else:
        _write_line(_format_status(standing))
    if standing is not None:
        raise typer.Exit(FROZEN)


def _set_switch(store: "SqlStore", *, reason: str, off: bool) -> "SwitchResult":
    """`off` allows writes again."""
    import asyncio  # noqa: PLC0415 - see _show_status

    from orchestrator.features.freezing.freeze_switch import LiveSwitch  # noqa: PLC0415 - see _show_status
    from state.canonical import to_storable_text  # noqa: PLC0415 - see _show_status
    from state.journal.async_store import AsyncStore  # noqa: PLC0415 - see _show_status
    from state.journal.freeze_switch import LONGEST_REASON  # noqa: PLC0415 - see _show_status

    async def turn() -> "SwitchResult":
        async with contextlib.aclosing(AsyncStore(store)) as opened:
            switch, hand = LiveSwitch(opened), _build_hand()
            return await (switch.release(hand) if off else switch.freeze(hand, to_storable_text(reason)[:LONGEST_REASON]))

    return asyncio.run(turn())


def _build_hand() -> "SwitchOperator":
    from state.clock import SystemClock  # noqa: PLC0415 - see _show_status
    from state.journal.freeze_switch import SwitchOperator  # noqa: PLC0415 - see _show_status

    user = getpass.getuser()
    return SwitchOperator(key=f"cli:{user}", name=user, via="cli", at=SystemClock().now())


def _to_json(standing: "FreezeState | None") -> dict[str, object]:
    if standing is None:
        return {"frozen": False}
    return {"frozen": True, "at": standing.at, "by": standing.by, "name": standing.name, "reason": standing.reason}


def _format_status(standing: "FreezeState | None") -> str:
    if standing is None:
        return "Writing may start: it is not frozen."
    when = f" since {standing.at[:16].replace('T', ' ')}Z" if standing.at else ""
    person = f"{standing.name} ({standing.by})" if standing.name and standing.name != standing.by else standing.by
    why = f": {standing.reason}" if standing.reason else ""
    return f"All writing to the portal is frozen{when}{f' by {person}' if person else ''}{why}."


def _write_line(line: str) -> None:
    typer.echo(escape_text(line))

"""The switch that every process checks before a write."""

import asyncio
import contextlib
import getpass

import typer

from bot.cli.ops import escape_text, open_database_reader, open_database_writer, write_json_lines
from orchestrator.domain.errors import SettingsError
from state.canonical import to_storable_text
from state.clock import SystemClock
from state.journal.async_store import AsyncStore
from state.journal.freeze_switch import LONGEST_REASON, FreezeState, SwitchOperator, SwitchResult, find_freeze
from state.journal.store import StoreError
from state.sql.store import SqlStore

FROZEN = 1


def freeze(*, reason: str, off: bool, status: bool, as_json: bool) -> None:
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


def _set_switch(store: SqlStore, *, reason: str, off: bool) -> SwitchResult:
    """`off` allows writes again."""
    from orchestrator.features.freezing.freeze_switch import LiveSwitch  # noqa: PLC0415 - it brings the gate, which --status needs not

    async def turn() -> SwitchResult:
        async with contextlib.aclosing(AsyncStore(store)) as opened:
            switch, hand = LiveSwitch(opened), _build_hand()
            return await (switch.release(hand) if off else switch.freeze(hand, to_storable_text(reason)[:LONGEST_REASON]))

    return asyncio.run(turn())


def _build_hand() -> SwitchOperator:
    user = getpass.getuser()
    return SwitchOperator(key=f"cli:{user}", name=user, via="cli", at=SystemClock().now())


def _to_json(standing: FreezeState | None) -> dict[str, object]:
    if standing is None:
        return {"frozen": False}
    return {"frozen": True, "at": standing.at, "by": standing.by, "name": standing.name, "reason": standing.reason}


def _format_status(standing: FreezeState | None) -> str:
    if standing is None:
        return "Writing may start: it is not frozen."
    when = f" since {standing.at[:16].replace('T', ' ')}Z" if standing.at else ""
    person = f"{standing.name} ({standing.by})" if standing.name and standing.name != standing.by else standing.by
    why = f": {standing.reason}" if standing.reason else ""
    return f"All writing to the portal is frozen{when}{f' by {person}' if person else ''}{why}."


def _write_line(line: str) -> None:
    typer.echo(escape_text(line))

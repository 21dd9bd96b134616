"""The command `sdelka db`: moves the database between SQLite and PostgreSQL, or reopens one that was moved.

A moved database is one whose content was copied to another; it is marked, so that no bot starts on it by mistake.
"""

import sys
from typing import Annotated

import typer

from bot.cli.backup import build_progress_reporter
from bot.cli.ops import AS_JSON, write_json_lines, write_table
from bot.settings.loading import load_settings
from bot.settings.settings import parse_database_url
from orchestrator.domain.errors import SettingsError

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Move the database, or take a moved one back.")

_TO = """postgresql://user@host/name, the password better in PGPASSWORD or ~/.pgpass, where no list of processes shows it;
or "embedded" for the SQLite file in STATE_DIR."""


@app.callback()
def group() -> None:
    """Move the database, or reopen one that was moved."""


@app.command()
def move(
    to: Annotated[str, typer.Option(help=_TO)],
    *,
    as_json: Annotated[bool, typer.Option("--json", help=AS_JSON)] = False,
) -> None:
    """Copy everything from the present database (DATABASE_URL, or STATE_DIR) into an empty one, compare both, mark the old one as moved.

    Stop every bot first. The content of the old database does not change, but no bot starts on it any more. Exit codes: 0 = moved, and both
    databases are equal, 2 = refused or failed, and the old database is as before.
    """
    from bitrix.masking import mask  # noqa: PLC0415 - `--help` needs none of it
    from state.journal.store import StoreError  # noqa: PLC0415 - see above
    from state.transfer.move import move_database as bring  # noqa: PLC0415 - see above

    settings = load_settings()
    try:
        target = f"sqlite:///{settings.state_dir / 'sdelka.db'}" if to == "embedded" else parse_database_url(to)
        moved = bring(settings.database.get_secret_value(), target, build_progress_reporter())
    except (StoreError, ValueError) as error:
        raise SettingsError(f"not moved: {mask(str(error))}") from None
    total, heads = sum(moved.rows.values()), moved.heads
    if as_json:
        write_json_lines([{"from": moved.source, "to": moved.target, "rows": moved.rows, "streams": heads.streams, "heads": heads.sha256}])
        return
    write_table(["table", "rows"], [(name, f"{count:,}") for name, count in sorted(moved.rows.items())])
    sys.stdout.write(f"{total:,} rows, {heads.streams:,} streams with {heads.records:,} records are the same in {moved.target}\n")
    then = "remove DATABASE_URL" if to == "embedded" else "set DATABASE_URL to the new one"
    sys.stdout.write(f"{moved.source} is marked as moved. Now {then} and start the bot; `sdelka journal verify` checks it once more.\n")


@app.command()
def reopen(
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask; for scripts.")] = False,
) -> None:
    """Remove the mark from a database that was moved, so that bots start on it again.

    The database lacks whatever bots have done with the other database since the move. Exit codes: 0 = the database is open (also if it was
    never marked), 2 = refused.
    """
    from bitrix.masking import mask  # noqa: PLC0415 - see move
    from state.journal.store import StoreError  # noqa: PLC0415 - see move
    from state.transfer.move import clear_moved_mark as take_back  # noqa: PLC0415 - see move
    from state.transfer.move import find_move_target, format_url  # noqa: PLC0415 - see move

    url = load_settings().database.get_secret_value()
    try:
        if find_move_target(url):
            sys.stderr.write(
                "What bots did with the other database since it was moved is not in this one, and may be done a second time.\n"
            )
            if not yes and not typer.confirm(f"Open {format_url(url)} again?", err=True):
                raise SettingsError("nothing was changed")
        was = take_back(url)
    except (StoreError, ValueError) as error:
        raise SettingsError(f"not opened: {mask(str(error))}") from None
    sys.stdout.write(f"{format_url(url)} is open again, it was moved to {was}\n" if was else f"{format_url(url)} was not marked as moved\n")

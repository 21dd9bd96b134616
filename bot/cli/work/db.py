import sys

import typer

from bitrix.masking import mask
from bot.cli.ops import write_json_lines, write_table
from bot.cli.work.backup import build_progress_reporter
from bot.settings.loading import load_settings
from bot.settings.settings import parse_database_url
from orchestrator.domain.errors import SettingsError
from state.journal.store import StoreError
from state.transfer.move import clear_moved_mark as take_back
from state.transfer.move import find_move_target, format_url
from state.transfer.move import move_database as bring


def move(to: str, *, as_json: bool) -> None:
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


def reopen(*, yes: bool) -> None:
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

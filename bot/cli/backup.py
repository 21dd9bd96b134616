"""The command `sdelka backup`: copies the database and the audit logs into one file, also while the bot runs."""

import sys
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.ops import AS_JSON, write_json_lines
from bot.settings.loading import load_settings
from orchestrator.domain.errors import SettingsError

if TYPE_CHECKING:
    from state.transfer.backup import CreatedBackup

app = typer.Typer(add_completion=False)

SUFFIX = ".backup"
TELL_EVERY = 2.0
_TO = "A folder, in which the file is named by the moment (sdelka-20261122T140000Z.backup), or a file whose name ends in .backup."
_KEEP = "Afterwards remove older sdelka-*.backup files of that folder, but for so many. 0 removes none."


@app.command()
def backup(
    to: Annotated[Path, typer.Option(help=_TO)],
    *,
    keep: Annotated[int, typer.Option(min=0, help=_KEEP)] = 0,
    as_json: Annotated[bool, typer.Option("--json", help=AS_JSON)] = False,
) -> None:
    """Copy the database and the audit logs, as they are at this moment, into one file. The bot may run.

    The file holds what people wrote and the keys that decrypt it, so protect it like the database. It does not hold the settings. Exit
    codes: 0 = the file was written, 2 = it was not, and no part of it is left. See docs/backup.md.
    """
    from bitrix.masking import mask  # noqa: PLC0415 - `--help` needs none of it
    from state.clock import SystemClock  # noqa: PLC0415 - see above
    from state.journal.store import StoreError  # noqa: PLC0415 - see above
    from state.transfer.backup import create_backup  # noqa: PLC0415 - see above

    settings, clock = load_settings(), SystemClock()
    path = to if to.suffix == SUFFIX and not to.is_dir() else to / f"sdelka-{clock.now():%Y%m%dT%H%M%SZ}{SUFFIX}"
    try:
        created_backup = create_backup(
            settings.database.get_secret_value(),
            settings.log_dir,
            path,
            now=clock.now,
            program=find_program_version(),
            progress=build_progress_reporter(),
        )
    except StoreError as error:
        raise SettingsError(f"no backup: {mask(str(error))}") from None
    removed = _remove_old(path, keep)
    _write_summary(created_backup, removed, as_json=as_json)


def find_program_version() -> str:
    """Return the version of the installed program, "unknown" when run from its source folder."""
    try:
        return version("sdelka")
    except PackageNotFoundError:  # run from the source folder
        return "unknown"


def build_progress_reporter() -> Callable[[str], None]:
    """Return a function that writes a line to stderr, at most once in `TELL_EVERY` seconds, so that long work does not look stuck."""
    told = time.monotonic()

    def tell(line: str) -> None:
        nonlocal told
        if time.monotonic() - told > TELL_EVERY:
            told = time.monotonic()
            sys.stderr.write(f"{line}\n")

    return tell


def _remove_old(newest: Path, keep: int) -> list[str]:
    if not keep:
        return []
    old = sorted(newest.parent.glob(f"sdelka-[0-9]*T[0-9]*Z{SUFFIX}"))[:-keep]
    gone = [path for path in old if path != newest]
    for path in gone:
        path.unlink(missing_ok=True)
    return [path.name for path in gone]


def _write_summary(made: "CreatedBackup", removed: list[str], *, as_json: bool) -> None:
    manifest, heads = made.manifest, made.manifest.heads
    facts = {"rows": manifest.row_count, "streams": heads.streams, "records": heads.records, "log_files": len(manifest.logs)}
    if as_json:
        told = {"file": str(made.path), "bytes": made.size, "id": manifest.id, "made_at": manifest.made_at, "schema": manifest.revision}
        write_json_lines([{**told, **facts, "removed": removed}])
        return
    counts = ", ".join(f"{number:,} {name.replace('_', ' ')}" for name, number in facts.items())
    sys.stdout.write(f"{made.path}: {counts}, {made.size:,} bytes, as of {manifest.made_at}\n")
    sys.stdout.writelines(f"removed {name}\n" for name in removed)

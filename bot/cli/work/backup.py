import sys
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from bitrix.masking import mask
from bot.cli.ops import write_json_lines
from bot.settings.loading import load_settings
from orchestrator.domain.errors import SettingsError
from state.clock import SystemClock
from state.journal.store import StoreError
from state.transfer.backup import CreatedBackup, create_backup

SUFFIX = ".backup"


TELL_EVERY = 2.0


def backup(to: Path, *, keep: int, as_json: bool) -> None:
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
    """ "unknown" when run from its source folder."""
    try:
        return version("sdelka")
    except PackageNotFoundError:  # run from the source folder
        return "unknown"


def build_progress_reporter() -> Callable[[str], None]:
    """At most once in `TELL_EVERY` seconds, so that long work does not look stuck."""
    last_report = time.monotonic()

    def tell(line: str) -> None:
        nonlocal last_report
        if time.monotonic() - last_report > TELL_EVERY:
            last_report = time.monotonic()
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


def _write_summary(backup: "CreatedBackup", removed: list[str], *, as_json: bool) -> None:
    manifest, heads = backup.manifest, backup.manifest.heads
    facts = {"rows": manifest.row_count, "streams": heads.streams, "records": heads.records, "log_files": len(manifest.logs)}
    if as_json:
        summary = {
            "file": str(backup.path),
            "bytes": backup.size,
            "id": manifest.id,
            "made_at": manifest.made_at,
            "schema": manifest.revision,
        }
        write_json_lines([{**summary, **facts, "removed": removed}])
        return
    counts = ", ".join(f"{number:,} {name.replace('_', ' ')}" for name, number in facts.items())
    sys.stdout.write(f"{backup.path}: {counts}, {backup.size:,} bytes, as of {manifest.made_at}\n")
    sys.stdout.writelines(f"removed {name}\n" for name in removed)

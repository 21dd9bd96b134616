"""Backups, restored and moved databases. None of it calls portal or model, so that a bot can safely start on what was restored."""

import getpass
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import orjson
import typer

from bitrix.masking import mask
from bot.cli.ops import write_json_lines, write_table
from bot.settings.loading import load_settings
from bot.settings.settings import Settings, parse_database_url
from orchestrator.domain.errors import SettingsError
from orchestrator.reports.consistency import EffectChecker
from orchestrator.reports.erasure.erase import ErasureFiles
from orchestrator.reports.restore import RestoreReport, prepare_restored
from state.clock import SystemClock
from state.findings import Finding
from state.journal.store import StoreError
from state.transfer.archive import read_manifest
from state.transfer.backup import CreatedBackup, create_backup
from state.transfer.manifest import BackupHeader, BadBackup, ErasedPerson
from state.transfer.move import clear_moved_mark, find_move_target, format_url, move_database
from state.transfer.restore import UnpackedBackup, open_place, put_into_place, unpack
from state.verify.journal import verify_journal

_SUFFIX = ".backup"
_TELL_EVERY = 2.0


def backup(to: Path, *, keep: int, as_json: bool) -> None:
    settings, clock = load_settings(), SystemClock()
    path = to if to.suffix == _SUFFIX and not to.is_dir() else to / f"sdelka-{clock.now():%Y%m%dT%H%M%SZ}{_SUFFIX}"
    try:
        created_backup = create_backup(
            settings.database.get_secret_value(),
            settings.log_dir,
            path,
            now=clock.now,
            program=_find_program_version(),
            progress=_build_progress_reporter(),
        )
    except StoreError as error:
        raise SettingsError(f"no backup: {mask(str(error))}") from None
    removed = _remove_old(path, keep)
    _write_summary(created_backup, removed, as_json=as_json)


def _find_program_version() -> str:
    """ "unknown" when run from its source folder."""
    try:
        return version("sdelka")
    except PackageNotFoundError:  # run from the source folder
        return "unknown"


def _build_progress_reporter() -> Callable[[str], None]:
    """At most once in `_TELL_EVERY` seconds, so that long work does not look stuck."""
    last_report = time.monotonic()

    def tell(line: str) -> None:
        nonlocal last_report
        if time.monotonic() - last_report > _TELL_EVERY:
            last_report = time.monotonic()
            sys.stderr.write(f"{line}\n")

    return tell


def _remove_old(newest: Path, keep: int) -> list[str]:
    if not keep:
        return []
    old = sorted(newest.parent.glob(f"sdelka-[0-9]*T[0-9]*Z{_SUFFIX}"))[:-keep]
    gone = [path for path in old if path != newest]
    for path in gone:
        path.unlink(missing_ok=True)
    return [path.name for path in gone]


def _write_summary(backup: CreatedBackup, removed: list[str], *, as_json: bool) -> None:
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


def move(to: str, *, as_json: bool) -> None:
    settings = load_settings()
    try:
        target = f"sqlite:///{settings.state_dir / 'sdelka.db'}" if to == "embedded" else parse_database_url(to)
        moved = move_database(settings.database.get_secret_value(), target, _build_progress_reporter())
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
        was = clear_moved_mark(url)
    except (StoreError, ValueError) as error:
        raise SettingsError(f"not opened: {mask(str(error))}") from None
    sys.stdout.write(f"{format_url(url)} is open again, it was moved to {was}\n" if was else f"{format_url(url)} was not marked as moved\n")


def restore(source: Path, *, state_dir: Path | None, log_dir: Path | None, erased: list[Path] | None, drill: bool, as_json: bool) -> None:
    settings = _load_settings(state_dir, log_dir)
    url, tell = settings.database.get_secret_value(), _build_progress_reporter()
    with ExitStack() as stack:
        try:
            if drill:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sdelka-drill-")))
            else:
                folder = stack.enter_context(open_place(url, settings.log_dir))
            unpacked = stack.enter_context(unpack(source, folder, tell))
            gone = [*_find_erased_since(unpacked.header, source), *_read_erased_files(erased or [])]
            report = _prepare(unpacked, gone)
            damage = _find_damage(unpacked)
            if not drill:
                put_into_place(unpacked, url, settings.log_dir, tell)
        except (StoreError, ValueError, TimeoutError) as error:
            raise SettingsError(f"not restored: {mask(str(error))}") from None
    _write_result(unpacked.header, report, damage, as_json=as_json, drill=drill)
    raise typer.Exit(1 if any(finding.kind != "note" for finding in damage) or any(report.erased.values()) else 0)


def _load_settings(state_dir: Path | None, log_dir: Path | None) -> Settings:
    overrides: dict[str, Any] = {"log_dir": log_dir} if log_dir is not None else {}
    if state_dir is not None:
        overrides |= {"state_dir": state_dir, "database_url": None}
    return load_settings(**overrides)


def _prepare(unpacked: UnpackedBackup, gone: Sequence[ErasedPerson]) -> RestoreReport:

    with unpacked.open() as dialect:
        place = ErasureFiles(logs=unpacked.logs, files=tuple(sorted(unpacked.path.parent.glob("sdelka.db*"))))
        return prepare_restored(dialect, unpacked.header, gone, place, by=f"cli:{getpass.getuser()}", clock=SystemClock())


def _find_erased_since(header: BackupHeader, source: Path) -> Iterator[ErasedPerson]:
    """Newer backups beside `source` list them; they must be erased from the restored data too."""
    for path in sorted(source.absolute().parent.glob(f"*{_SUFFIX}")):
        try:
            other = read_manifest(path)
        except (BadBackup, OSError) as error:
            sys.stderr.write(f"{error}: whom it knows as erased is not known\n")
        else:
            yield from other.erased if other.made_at > header.made_at else ()


def _read_erased_files(files: Sequence[Path]) -> Iterator[ErasedPerson]:

    for path in files:
        try:
            lines = [orjson.loads(line) for line in path.read_bytes().splitlines() if line.strip()]
            for line in lines:
                yield ErasedPerson(person=line["person"], key_id=line["key_id"], erased_at=line["erased_at"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path} is no list of erased people: {type(error).__name__}; nothing was written") from None


def _find_damage(unpacked: UnpackedBackup) -> list[Finding]:
    """The audit logs are byte for byte those of the backup."""
    tell = _build_progress_reporter()
    checked = verify_journal(unpacked.url, judge=EffectChecker, anchors={}, progress=lambda count: tell(f"{count:,} records checked"))
    return checked.findings


def _write_result(header: BackupHeader, settled: RestoreReport, findings: Sequence[Finding], *, as_json: bool, drill: bool) -> None:
    rows = [_build_row("unknown call", one.session, f"{one.method} ({one.status} in the backup)", one.at) for one in settled.unknown]
    rows += [_build_row("input set aside", one.session, one.kind, one.received_at) for one in settled.inputs]
    rows += [_build_row("run paused", key, "", "") for key in settled.runs]
    rows += [_build_row("schedule paused", schedule, "", "") for schedule in settled.schedules]
    rows += [_build_row("standing order paused", order, "", "") for order in settled.orders]
    rows += [_build_row("damaged effect", "", effect_id, "") for effect_id in settled.damaged]
    rows += [_build_row("erased again", person, f"{left} places still hold something", "") for person, left in settled.erased.items()]
    rows += [_build_row(finding.kind, finding.place, finding.why, "") for finding in findings if finding.kind != "note"]
    counts = {"rows": header.row_count, "streams": header.heads.streams, "cards": len(settled.cards)}
    if as_json:
        write_json_lines([*rows, {"restored": header.id, "made_at": header.made_at, "drill": drill, **counts, "findings": len(findings)}])
        return
    if rows:
        write_table(["what", "where", "which", "when"], [list(row.values()) for row in rows])
    say = sys.stdout.write
    say(f"{'The drill went well: the' if drill else 'The'} backup of {header.made_at} {'can be' if drill else 'is'} restored: ")
    say(", ".join(f"{number:,} {name}" for name, number in counts.items()) + "\n")
    if drill:
        return
    say(f"What was asked, approved and done after {header.made_at} this journal does not know: look at it in Bitrix24.\n")
    if settled.unknown:
        say("Unknown calls: two minutes after its start the bot has looked in Bitrix24 and tells those who asked.\n")
    if settled.inputs:
        say("Inputs set aside: at its start the bot tells their people to look, and to ask again if need be.\n")
    if settled.runs:
        say(f"{len(settled.runs)} runs are paused: at its start the bot asks their people whether they go on.\n")
    if settled.orders:
        say(f"{len(settled.orders)} standing orders are paused: at its start the bot asks their people which of them go on.\n")
    if settled.schedules:
        say(f"{len(settled.schedules)} schedules are paused: at its start the bot asks their people which of them go on.\n")
    if settled.cards:
        say(f"{len(settled.cards)} cards still wait; before one runs, the bot looks whether it was done already.\n")


def _build_row(what: str, where: str, which: str, when: str) -> dict[str, str]:
    return {"what": what, "where": where, "which": which, "when": when}

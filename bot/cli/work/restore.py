"""Calls neither portal nor model, so that a bot can safely start on it."""

import getpass
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import orjson
import typer

from bitrix.masking import mask
from bot.cli.ops import write_json_lines, write_table
from bot.cli.work.backup import SUFFIX, build_progress_reporter
from bot.settings.loading import load_settings
from bot.settings.settings import Settings
from orchestrator.domain.errors import SettingsError
from orchestrator.reports.consistency import EffectChecker
from orchestrator.reports.erasure.erase import ErasureFiles
from orchestrator.reports.restore import RestoreReport, prepare_restored
from state.clock import SystemClock
from state.findings import Finding
from state.journal.store import StoreError
from state.transfer.archive import read_manifest
from state.transfer.manifest import BackupHeader, BadBackup, ErasedPerson
from state.transfer.restore import UnpackedBackup, open_place, put_into_place, unpack
from state.verify.journal import verify_journal


def restore(source: Path, *, state_dir: Path | None, log_dir: Path | None, erased: list[Path] | None, drill: bool, as_json: bool) -> None:
    settings = _load_settings(state_dir, log_dir)
    url, tell = settings.database.get_secret_value(), build_progress_reporter()
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
    for path in sorted(source.absolute().parent.glob(f"*{SUFFIX}")):
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
    tell = build_progress_reporter()
    checked = verify_journal(unpacked.url, judge=EffectChecker, anchors={}, progress=lambda count: tell(f"{count:,} records checked"))
    return checked.findings


def _write_result(header: BackupHeader, settled: RestoreReport, findings: Sequence[Finding], *, as_json: bool, drill: bool) -> None:
    rows = [_build_row("unknown call", one.session, f"{one.method} ({one.status} in the backup)", one.at) for one in settled.unknown]
    rows += [_build_row("input set aside", one.session, one.kind, one.received_at) for one in settled.inputs]
    rows += [_build_row("run paused", key, "", "") for key in settled.runs]
    rows += [_build_row("schedule paused", schedule, "", "") for schedule in settled.schedules]
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
    if settled.schedules:
        say(f"{len(settled.schedules)} schedules are paused: at its start the bot asks their people which of them go on.\n")
    if settled.cards:
        say(f"{len(settled.cards)} cards still wait; before one runs, the bot looks whether it was done already.\n")


def _build_row(what: str, where: str, which: str, when: str) -> dict[str, str]:
    return {"what": what, "where": where, "which": which, "when": when}

"""`sdelka journal verify`: whether all is as it was written. It only reads and may run beside the bot."""

import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import typer

from bitrix.masking import mask
from bot.cli.ops import open_database_reader, write_json_lines, write_table
from bot.settings.loading import load_settings
from bot.settings.settings import Settings
from orchestrator.domain.errors import SettingsError
from orchestrator.reports.consistency import EffectChecker
from orchestrator.reports.log_rebuild.verify import verify_logs
from state.audit_log.archives import list_logs
from state.findings import Finding
from state.verify.anchors import Anchor, NoAnchor, group_by_stream, read_anchors
from state.verify.journal import JournalReport, verify_journal

WHOLE, DAMAGED, CUT = 0, 1, 3
TELL_EVERY = 2.0


def verify(anchor: str, *, no_logs: bool, as_json: bool) -> None:
    settings = load_settings()
    anchors = _load_anchors(anchor)
    progress = _build_progress_counter()
    try:
        checked = verify_journal(
            settings.database.get_secret_value(), judge=EffectChecker, anchors=group_by_stream(anchors), progress=progress
        )
    except FileNotFoundError as error:
        raise SettingsError(mask(str(error))) from None
    if checked.uncheckable:
        raise SettingsError(f"the database cannot be checked: {checked.uncheckable}")
    logs = 0 if no_logs else _check_logs(settings, checked)
    _write_result(checked, logs, as_json=as_json)
    raise typer.Exit(compute_exit_code(checked.findings))


def compute_exit_code(findings: Sequence[Finding]) -> int:
    """0 without findings (notes aside), 3 if only ends of streams or logs are missing, else 1."""
    kinds = {finding.kind for finding in findings} - {"note"}
    return WHOLE if not kinds else CUT if kinds == {"cut"} else DAMAGED


def _load_anchors(path: str) -> list[Anchor]:
    if not path:
        return []
    try:
        return read_anchors(Path(path).read_text(encoding="utf-8", errors="replace"))
    except (OSError, NoAnchor) as error:
        raise SettingsError(f"the anchor {path} cannot be used: {error}") from None


def _check_logs(settings: Settings, checked: JournalReport) -> int:
    """The number of logs. A damaged journal is not compared: it cannot be read to its end."""
    if compute_exit_code(checked.findings) == WHOLE:
        with open_database_reader(settings) as store:
            checked.findings.extend(verify_logs(store, settings.log_dir, now=datetime.now(UTC)))
    return len(list_logs(settings.log_dir)) if settings.log_dir.is_dir() else 0


def _build_progress_counter() -> Callable[[int], None]:
    """Writes the sum to stderr every few seconds: a long check would look stuck."""
    seen, last_report = 0, time.monotonic()

    def count(records: int) -> None:
        nonlocal seen, last_report
        seen += records
        if time.monotonic() - last_report > TELL_EVERY:
            last_report = time.monotonic()
            sys.stderr.write(f"{seen:,} records checked\n")

    return count


def _write_result(checked: JournalReport, logs: int, *, as_json: bool) -> None:
    counts = {"streams": checked.streams, "records": checked.records, "effects": checked.effects, "logs": logs}
    rows = [_build_row(finding) for finding in checked.findings]
    if as_json:
        write_json_lines([*rows, {"checked": counts, "exit_code": compute_exit_code(checked.findings)}])
        return
    if rows:
        names = ("kind", "place", "seq", "what", "file", "offset")
        write_table(names, [["" if row[name] is None else row[name] for name in names] for row in rows])
    verdict = {WHOLE: "whole", DAMAGED: "NOT whole", CUT: "the end is missing"}[compute_exit_code(checked.findings)]
    sys.stdout.write(", ".join(f"{number:,} {name}" for name, number in counts.items()) + f": {verdict}\n")


def _build_row(finding: Finding) -> dict[str, object]:
    place = {"file": finding.file, "offset": finding.offset}
    return {"kind": finding.kind, "place": finding.place, "seq": finding.seq, "what": mask(finding.why), **place}

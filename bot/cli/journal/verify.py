"""The command `sdelka journal verify`: checks that everything stored is as it was written. It only reads and may run beside the bot."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bot.cli.ops import AS_JSON, open_database_reader, write_json_lines, write_table
from bot.settings.loading import load_settings
from bot.settings.settings import Settings
from orchestrator.domain.errors import SettingsError

if TYPE_CHECKING:
    from bot.cli.logs import LogRecord
    from state.findings import Finding
    from state.journal.store import Store
    from state.verify.anchors import Anchor
    from state.verify.journal import JournalReport

WHOLE, DAMAGED, CUT = 0, 1, 3
TELL_EVERY = 2.0
_RECENT = 50
"""Number of records at the end of an audit log that are searched for its newest turn."""
_PAGE = 1000
HELP = """Check everything that is stored: journal, effects, snapshots, large answers, audit logs and their archives.

Exit codes: 0 everything is whole, 1 something is damaged, missing or contradicts itself, 2 wrong use or no database, 3 only the end of
a stream or log is gone. See docs/verify.md.
"""


def add(app: typer.Typer) -> None:
    """Add the command `verify` to `app`."""
    app.command(name="verify", help=HELP)(verify)


def verify(
    *,
    anchor: str = typer.Option("", help="File with lines of `sdelka journal anchor`: the journal must still hold what they name."),
    no_logs: bool = typer.Option(False, "--no-logs", help="Leave the audit logs out."),
    as_json: bool = typer.Option(False, "--json", help=AS_JSON),
) -> None:
    """Check that nothing stored was changed or lost, show the findings, and exit with their code; `HELP` is the command's help text."""
    from bitrix.masking import mask  # noqa: PLC0415 - `--help` needs none of it
    from orchestrator.reports.consistency import EffectChecker  # noqa: PLC0415 - see above
    from state.verify.anchors import group_by_stream  # noqa: PLC0415 - see above
    from state.verify.journal import verify_journal  # noqa: PLC0415 - see above

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
    logs = 0
    if not no_logs:
        logs = _check_logs(settings, anchors, checked)
    _write_result(checked, logs, as_json=as_json)
    raise typer.Exit(compute_exit_code(checked.findings))


def compute_exit_code(findings: "Sequence[Finding]") -> int:
    """Return the exit code for the findings; those of kind "note" (no fault, but worth knowing) are ignored.

    It is 0 for no finding, 3 if only the ends of streams or logs are missing, and 1 for any other damage.
    """
    kinds = {finding.kind for finding in findings} - {"note"}
    return WHOLE if not kinds else CUT if kinds == {"cut"} else DAMAGED


def _load_anchors(path: str) -> "list[Anchor]":
    from state.verify.anchors import NoAnchor, read_anchors  # noqa: PLC0415 - see verify

    if not path:
        return []
    try:
        return read_anchors(Path(path).read_text(encoding="utf-8", errors="replace"))
    except (OSError, NoAnchor) as error:
        raise SettingsError(f"the anchor {path} cannot be used: {error}") from None


def _check_logs(settings: Settings, anchors: "Sequence[Anchor]", checked: "JournalReport") -> int:
    from state.audit_log.archives import list_logs  # noqa: PLC0415 - see verify
    from state.audit_log.verify import verify_logs  # noqa: PLC0415 - see verify
    from state.verify.anchors import check_logs  # noqa: PLC0415 - see verify

    if settings.log_dir.is_dir():
        checked.findings.extend(verify_logs(settings.log_dir))
    checked.findings.extend(check_logs(anchors, settings.log_dir, _find_erased(settings, checked) if anchors else {}))
    checked.findings.extend(_compare_with_logs(settings, checked))
    return len(list(list_logs(settings.log_dir))) if settings.log_dir.is_dir() else 0


def _find_erased(settings: Settings, checked: "JournalReport") -> dict[str, str]:
    """Return person key → stored time of the last erasure of that person's data.

    Returns an empty dict if the journal is damaged according to `checked`, the report of its check.
    """
    from orchestrator.reports.erasure.trace_search import OPS  # noqa: PLC0415 - see verify
    from orchestrator.reports.reading.journal_reader import read_stream  # noqa: PLC0415 - see verify
    from state.events.people import PersonErased  # noqa: PLC0415 - see verify

    if compute_exit_code(checked.findings) != WHOLE:
        return {}
    with open_database_reader(settings) as store:
        erasures = (event for event in read_stream(store, f"session:{OPS}") if event.type == PersonErased.__name__)
        return {PersonErased.from_data(event.data).person: event.ts for event in erasures}


def _compare_with_logs(settings: Settings, checked: "JournalReport") -> "Iterator[Finding]":
    """Yield contradictions between the journal and the audit logs; none if the journal is damaged according to `checked`.

    A contradiction shows that the journal or the logs are an older copy, or that they belong to different installations.
    """
    if compute_exit_code(checked.findings) != WHOLE:
        return  # a damaged journal cannot be read to its end, and its damage is reported already
    from orchestrator.reports.lost_logs import find_lost_logs  # noqa: PLC0415 - see verify

    erased = _find_erased(settings, checked)
    with open_database_reader(settings) as store:
        yield from find_lost_logs(store, settings.log_dir, erased)
        yield from _find_unknown_turns(settings, store)


def _find_unknown_turns(settings: Settings, store: "Store") -> "Iterator[Finding]":
    """Yield a finding for each audit log whose newest turn (processing of a message) is not in the journal.

    A turn is stored in the journal before it is logged, so the newest events of such a journal were lost.
    """
    from state.audit_log.interaction_log import build_log_path, list_users  # noqa: PLC0415 - see verify
    from state.findings import Finding  # noqa: PLC0415 - see verify
    from state.journal.streams import to_stream  # noqa: PLC0415 - see verify

    for user in list_users(settings.log_dir):
        path = build_log_path(settings.log_dir, user)
        turn = _find_newest_turn(path)
        if turn is not None and not _has_turn(store, to_stream(str(turn.session)), str(turn.turn_id)):
            told = f"the log tells of a turn at {turn.timestamp} (record {turn.n}) that the journal does not know"
            why = f"{told}: an older copy of the database was put back, or these are the logs of another one"
            yield Finding(kind="inconsistent", place=user, seq=turn.n if isinstance(turn.n, int) else None, why=why, file=path.name)


def _find_newest_turn(path: Path) -> "LogRecord | None":
    from bot.cli.logs import LogRecord  # noqa: PLC0415 - see verify
    from state.audit_log.follower import Follower  # noqa: PLC0415 - see verify

    log = Follower(path, last=_RECENT)
    try:
        entries = map(LogRecord.model_validate, log.poll())
        log_records = [entry for entry in entries if entry.type == "iteration" and entry.turn_id and entry.n]
    finally:
        log.close()
    return log_records[-1] if log_records else None


def _has_turn(store: "Store", stream: str, turn_id: str) -> bool:
    """Return whether any record of the event stream belongs to the turn (processing of a message) with this id.

    The search starts at the newest record.
    """
    head, _ = store.read_head(stream)
    pages = (store.read_encrypted(stream, max(0, end - _PAGE), _PAGE) for end in range(head, 0, -_PAGE))
    return any(f'"turn_id":"{turn_id}"' in data for page in pages for _, _, data in page)


def _build_progress_counter() -> Callable[[int], None]:
    """Return a function that adds its argument to the number of checked records and writes the sum to stderr every few seconds.

    Without it a long check would look stuck.
    """
    seen, told = 0, time.monotonic()

    def count(records: int) -> None:
        nonlocal seen, told
        seen += records
        if time.monotonic() - told > TELL_EVERY:
            told = time.monotonic()
            sys.stderr.write(f"{seen:,} records checked\n")

    return count


def _write_result(checked: "JournalReport", logs: int, *, as_json: bool) -> None:
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


def _build_row(finding: "Finding") -> dict[str, object]:
    from bitrix.masking import mask  # noqa: PLC0415 - see verify

    place = {"file": finding.file, "offset": finding.offset}
    return {"kind": finding.kind, "place": finding.place, "seq": finding.seq, "what": mask(finding.why), **place}

"""`sdelka journal export`: one event per line."""

import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Literal

import typer

_TIME_HELP = "A time in UTC: 2026-11-21, '2026-11-21 14:05', '7 days ago'."


def add(app: typer.Typer) -> None:
    app.command(
        epilog="Exit codes: 0 = exported, 1 = exported, but a record cannot be read, 2 = wrong use or the database cannot be read."
    )(export)


def export(
    format_: Literal["jsonl", "cef"] = typer.Option("jsonl", "--format", help="jsonl, or cef for a SIEM; docs/journal.md has the mapping."),
    since: str = typer.Option("", help=f"Only events from then on. {_TIME_HELP}"),
    until: str = typer.Option("", help="Only events before then."),
    types: str = typer.Option("", help="Only events of these types, with commas: CallStarted,CallSucceeded."),
    *,
    redact: bool = typer.Option(
        False, "--redact", help="Without names, words of people and values of the CRM: ids, codes, counts, moments."
    ),
) -> None:
    """Write every event to stdout with all its fields and its hash; secrets are hidden."""
    from bot.cli.journal.common import WRONG_USE, fail_with, open_journal  # noqa: PLC0415 - heavy; `--help` needs none of it
    from orchestrator.reports import export  # noqa: PLC0415 - see above
    from orchestrator.reports.reading.journal_reader import parse_time  # noqa: PLC0415 - see above
    from state.clock import format_iso  # noqa: PLC0415 - see above
    from state.events.base import type_names  # noqa: PLC0415 - see above

    kinds = tuple(name for part in types.split(",") if (name := part.strip()))
    odd = [name for name in kinds if name not in type_names]
    if odd:
        raise fail_with(f"no type of event: {', '.join(odd)}; there are {', '.join(sorted(type_names))}", WRONG_USE)
    with open_journal() as reader:
        start, end = (format_iso(parse_time(text, reader.now)) if text else "" for text in (since, until))
        line: export.FormatLine
        match (format_, redact):
            case ("jsonl", False):
                line = export.format_json_line
            case ("jsonl", True):
                line = export.format_redacted_json_line
            case (_, False):
                line = export.build_cef_formatter(reader.voice, _find_version())
            case _:
                line = export.build_redacted_cef_formatter(_find_version())
        for text in export.export_events(reader.store, export.EventFilter(types=kinds, since=start, until=end), line):
            sys.stdout.write(f"{text}\n")
        sys.stdout.flush()


def _find_version() -> str:
    try:
        return version("sdelka")
    except PackageNotFoundError:  # run from a copy of the sources
        return "0"

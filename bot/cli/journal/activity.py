"""`sdelka journal tail` and `stats`."""

import sys
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.journal.sessions import GroupIdCommand

if TYPE_CHECKING:
    from bot.cli.journal.common import JournalReader
    from orchestrator.reports.stats import Backlog, Counts

_AS_JSON = "One JSON object a line instead of text."
_POLL_INTERVAL = 0.5
"""Seconds."""
_DECISIONS = ("requested", "approved", "denied", "expired", "superseded")


def add(app: typer.Typer) -> None:
    app.command(
        cls=GroupIdCommand,
        epilog="Exit codes: 0 = shown (also after Ctrl-C), 1 = no such session, or a record cannot be read, 2 = wrong use or the database"
        " cannot be read.",
    )(tail)
    app.command(epilog="Exit codes: 0 = shown, 1 = shown, but a record cannot be read, 2 = wrong use or the database cannot be read.")(
        stats
    )


def tail(
    sessions: Annotated[list[str] | None, typer.Argument(metavar="[SESSION]…", help="Only these sessions; all without.")] = None,
    last: int = typer.Option(20, "--last", "-n", min=0, help="How many of the newest events first."),
    *,
    follow: bool = typer.Option(False, "--follow", "-f", help="Go on with new events as they come, until Ctrl-C."),
    as_json: bool = typer.Option(False, "--json", help=_AS_JSON),
) -> None:
    """Show the newest events of all sessions, and with -f each new event once, in the order of its session."""
    from bot.cli.journal.common import format_moment, open_journal  # noqa: PLC0415 - heavy; `--help` needs none of it
    from bot.cli.ops import write_json_lines  # noqa: PLC0415 - see above
    from orchestrator.reports import conversations  # noqa: PLC0415 - see above
    from orchestrator.reports.conversations import render_event  # noqa: PLC0415 - see above
    from orchestrator.reports.reading.journal_reader import find_stream, to_session_name  # noqa: PLC0415 - see above
    from state.journal.store import StoredEvent  # noqa: PLC0415 - see above

    def show(event: StoredEvent) -> None:
        line = render_event(event, reader.voice)
        if as_json:
            write_json_lines([line.to_json()])
        else:
            _write([f"{format_moment(event.ts)} {to_session_name(event.stream)} #{event.seq} {line.words}"])

    with open_journal() as reader:
        streams = [find_stream(reader.store, session) for session in sessions or ()]
        positions = conversations.read_positions(reader.store, streams)
        for event in conversations.read_last_events(reader.store, positions, last):
            show(event)
        if not follow:
            return
        try:
            for event in conversations.watch_events(reader.store, positions, _wait, streams):
                show(event)
        except KeyboardInterrupt:
            return


def _wait() -> bool:
    time.sleep(_POLL_INTERVAL)
    return True


def stats(
    since: str = typer.Option("", help="Count from here: a time in UTC such as 2026-11-21, '2026-11-21 14:05', '7 days ago'."),
    *,
    as_json: bool = typer.Option(False, "--json", help="One JSON object."),
) -> None:
    """Show totals of the journal: messages, calls, decisions, refused calls, model tokens and sizes; most of them also by day.

    Also shown are how long decisions took, how many calls have an unknown outcome, and what waits in the inbox and the outbox.
    """
    from bot.cli.journal.common import open_journal  # noqa: PLC0415 - heavy; `--help` needs none of it
    from bot.cli.ops import write_json_lines  # noqa: PLC0415 - see above
    from orchestrator.reports.reading.journal_reader import parse_time  # noqa: PLC0415 - see above
    from orchestrator.reports.stats import as_report, count_journal  # noqa: PLC0415 - see above

    with open_journal() as reader:
        counts = count_journal(reader.store, parse_time(since, reader.now) if since else None)
        if as_json:
            write_json_lines([as_report(counts, reader.store, reader.voice, reader.now)])
            return
        _write_tables(counts, reader)


def _write_tables(counts: "Counts", reader: "JournalReader") -> None:
    from bot.cli.ops import write_table  # noqa: PLC0415 - heavy; `--help` needs none of it
    from orchestrator.reports.reading.journal_reader import to_session_name  # noqa: PLC0415 - see above
    from orchestrator.reports.reading.sentences import CLASSES  # noqa: PLC0415 - see above

    write_table(("what", "how much"), _build_rows(counts, reader))
    if counts.calls:
        _write([""])
        calls = [
            (", ".join(CLASSES.get(letter, letter) for letter in kinds), method, outcome, number)
            for (kinds, method, outcome), number in counts.calls.most_common()
        ]
        write_table(("class", "method", "outcome", "count"), calls)
    if counts.days:
        names = ("messages", "turns", "calls", "writes", "cards", "approved", "denied", "refused", "tokens")
        _write([""])
        write_table(("day", *names), [(day, *(numbers[name] for name in names)) for day, numbers in sorted(counts.days.items())])
    _write([""])
    largest = [(to_session_name(stream), counts.records[stream], _format_size(size)) for stream, size in counts.bytes.most_common(10)]
    write_table(("largest sessions", "records", "size"), largest)


def _build_rows(counts: "Counts", reader: "JournalReader") -> list[tuple[str, str]]:
    from bot.cli.journal.common import format_moment  # noqa: PLC0415 - heavy; `--help` needs none of it
    from orchestrator.reports.reading.sentences import format_seconds  # noqa: PLC0415 - see above
    from orchestrator.reports.stats import measure_inbox, measure_outbox, name_people  # noqa: PLC0415 - see above

    def format_age(waiting: "Backlog") -> str:
        return "nothing waits" if waiting.oldest_seconds is None else f"the oldest for {format_seconds(waiting.oldest_seconds)}"

    unknown = sorted(counts.unknown_calls)
    size, stream, seq, kind = counts.largest
    decisions = [(name, counts.decisions[name]) for name in _DECISIONS if name in counts.decisions]
    refused = {reader.voice.describe_code(code): number for code, number in counts.refused.most_common()}
    waits = ", ".join(f"{status} after {format_seconds(seconds)}" for status, seconds in counts.median_waits.items())
    oldest = f", the oldest since {format_moment(min(counts.open_cards.values()))}" if counts.open_cards else ""
    return [
        ("counted", f"{counts.events} events {'since ' + format_moment(counts.since) if counts.since else 'from the first'}"),
        ("turns", f"{counts.turns.total()}: {_format_pairs(counts.turns.most_common())}"),
        ("messages", f"{counts.messages.total()}: {_format_pairs(name_people(counts, reader.voice).items())}"),
        ("cards", _format_pairs(decisions)),
        ("median wait", waits or "—"),
        ("open cards", f"{len(counts.open_cards)}{oldest}"),
        ("refused by code", _format_pairs(refused.items())),
        ("unknown outcomes", f"{len(unknown)} open {', '.join(item[:10] for item in unknown[:5])}".strip()),
        ("looked up", _format_pairs(counts.reconciled.items())),
        ("model", f"{counts.models.total()} answers in {round(counts.model_seconds, 1)} s: {_format_pairs(counts.models.most_common())}"),
        ("tokens", f"{counts.prompt_tokens} of prompts, {counts.completion_tokens} of answers"),
        ("model failures", f"{counts.failures.total()}: {_format_pairs(counts.failures.most_common(10))}" if counts.failures else "0"),
        ("journal", f"{counts.records.total()} records, {_format_size(counts.bytes.total())}"),
        ("largest record", f"{_format_size(size)}: {kind}, {stream} #{seq}" if size else "—"),
        ("inbox", format_age(measure_inbox(reader.store, reader.now))),
        ("outbox", format_age(measure_outbox(reader.store, counts, reader.now))),
    ]


def _format_pairs(numbers: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{name} {number}" for name, number in numbers) or "—"


def _format_size(count: int) -> str:
    return f"{count / 1_000_000:.1f} MB" if count >= 1_000_000 else f"{count / 1000:.1f} kB"  # noqa: PLR2004 - a megabyte


def _write(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()

"""The commands `sdelka journal tail` and `stats`: the newest events, and totals."""

import sys
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any

import typer

from bot.cli.journal.sessions import GroupIdCommand

_AS_JSON = "One JSON object a line instead of text."
_POLL_INTERVAL = 0.5
"""Seconds between two polls for new events."""


def add(app: typer.Typer) -> None:
    """Add these commands to `app`."""
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
    """The newest events of all sessions, and with -f each new one as it comes: once, and in the order of its session."""
    from bot.cli.journal.common import format_moment, open_journal  # noqa: PLC0415 - heavy; `--help` needs none of it
    from bot.cli.ops import write_json_lines  # noqa: PLC0415 - see above
    from orchestrator.reports import conversations  # noqa: PLC0415 - see above
    from orchestrator.reports.conversations import render_event  # noqa: PLC0415 - see above
    from orchestrator.reports.reading.journal_reader import find_stream, to_session_name  # noqa: PLC0415 - see above
    from state.journal.store import StoredEvent  # noqa: PLC0415 - see above

    def show(event: StoredEvent) -> None:
        line = render_event(event, reader.voice)
        if as_json:
            write_json_lines([line])
        else:
            _write([f"{format_moment(line['ts'])} {to_session_name(line['stream'])} #{line['seq']} {line['words']}"])

    with open_journal() as reader:
        streams = [find_stream(reader.store, session) for session in sessions or ()]
        shown = conversations.read_positions(reader.store, streams)
        for event in conversations.read_last_events(reader.store, shown, last):
            show(event)
        if not follow:
            return
        try:
            for event in conversations.watch_events(reader.store, shown, _wait, streams):
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
    """Turns, messages by person, calls, decisions and how long they took, refusals, unknown outcomes, tokens, days, sizes."""
    from bot.cli.journal.common import open_journal  # noqa: PLC0415 - heavy; `--help` needs none of it
    from bot.cli.ops import write_json_lines  # noqa: PLC0415 - see above
    from orchestrator.reports.reading.journal_reader import parse_time  # noqa: PLC0415 - see above
    from orchestrator.reports.stats import as_report, count  # noqa: PLC0415 - see above

    with open_journal() as reader:
        counts = count(reader.store, parse_time(since, reader.now) if since else None)
        report = as_report(counts, reader.store, reader.voice, reader.now)
        if as_json:
            write_json_lines([report])
            return
        _write_tables(report, reader.voice.describe_code)


def _write_tables(report: Mapping[str, Any], sentence: Callable[[str], str]) -> None:
    from bot.cli.journal.common import format_moment  # noqa: PLC0415 - heavy; `--help` needs none of it
    from bot.cli.ops import write_table  # noqa: PLC0415 - see above
    from orchestrator.reports.reading.sentences import CLASSES, format_seconds  # noqa: PLC0415 - see above

    def waited(seconds: float | None) -> str:
        return "nothing waits" if seconds is None else f"the oldest for {format_seconds(seconds)}"

    model, cards, journal, unknown = (report[name] for name in ("model", "cards", "journal", "unknown"))
    medians = ", ".join(f"{status} after {format_seconds(seconds)}" for status, seconds in cards["median_wait_seconds"].items())
    kept = ("requested", "approved", "denied", "expired", "superseded")
    largest = journal["largest_record"]
    rows = [
        ("counted", f"{report['events']} events {'since ' + format_moment(report['since']) if report['since'] else 'from the first'}"),
        ("turns", f"{report['turns']['total']}: {_format_pairs(report['turns']['ended'])}"),
        ("messages", f"{report['messages']['total']}: {_format_pairs(report['messages']['by_person'])}"),
        ("cards", _format_pairs({name: cards[name] for name in kept if name in cards})),
        ("median wait", medians or "—"),
        ("open cards", f"{cards['open']}{', the oldest since ' + format_moment(cards['oldest_open']) if cards['open'] else ''}"),
        ("refused by code", _format_pairs({sentence(code): number for code, number in report["refused"].items()})),
        ("unknown outcomes", f"{len(unknown['open'])} open {', '.join(item[:10] for item in unknown['open'][:5])}".strip()),
        ("looked up", _format_pairs(unknown["looks"])),
        ("model", f"{model['answers']} answers in {model['seconds']} s: {_format_pairs(model['by_model'])}"),
        ("tokens", f"{model['prompt_tokens']} of prompts, {model['completion_tokens']} of answers"),
        ("model failures", f"{model['failures']}: {_format_pairs(model['failed_because'])}" if model["failures"] else "0"),
        ("journal", f"{journal['records']} records, {_format_size(journal['bytes'])}"),
        (
            "largest record",
            f"{_format_size(largest['bytes'])}: {largest['type']}, {largest['stream']} #{largest['seq']}" if largest else "—",
        ),
        ("inbox", waited(report["inbox"]["oldest_seconds"])),
        ("outbox", waited(report["outbox"]["oldest_seconds"])),
    ]
    write_table(("what", "how much"), rows)
    if report["calls"]:
        _write([""])
        write_table(("class", "method", "outcome", "count"), [_build_call_row(call, CLASSES) for call in report["calls"]])
    if report["days"]:
        names = ("messages", "turns", "calls", "writes", "cards", "approved", "denied", "refused", "tokens")
        _write([""])
        write_table(("day", *names), [(day, *(numbers.get(name, 0) for name in names)) for day, numbers in report["days"].items()])
    _write([""])
    largest_first = journal["streams"][:10]
    write_table(
        ("largest sessions", "records", "size"), [(one["session"], one["records"], _format_size(one["bytes"])) for one in largest_first]
    )


def _build_call_row(call: Mapping[str, Any], classes: Mapping[str, str]) -> tuple[Any, ...]:
    kinds = ", ".join(classes.get(letter, letter) for letter in call["class"])
    return kinds, call["method"], call["outcome"], call["count"]


def _format_pairs(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {number}" for name, number in numbers.items()) or "—"


def _format_size(count: int) -> str:
    return f"{count / 1_000_000:.1f} MB" if count >= 1_000_000 else f"{count / 1000:.1f} kB"  # noqa: PLR2004 - a megabyte


def _write(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()

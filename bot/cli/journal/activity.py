"""All conversations: their newest events, totals, and the whole journal for other programs."""

import time
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from typing import Literal

from bot.cli.inputs import format_time
from bot.cli.journal.common import WRONG_USE, JournalReader, fail_with, open_journal, write_lines
from bot.cli.ops import write_json_lines, write_table
from orchestrator.reports import conversations
from orchestrator.reports import export as exporting
from orchestrator.reports.conversations import render_event
from orchestrator.reports.reading.journal_reader import find_stream, parse_time, to_session_name
from orchestrator.reports.reading.sentences import CLASSES, format_seconds
from orchestrator.reports.stats import Backlog, Counts, as_report, count_journal, measure_inbox, measure_outbox, name_people
from state.clock import format_iso
from state.events.base import type_names
from state.journal.store import StoredEvent

_POLL_INTERVAL = 0.5
"""Seconds."""
_DECISIONS = ("requested", "approved", "denied", "expired", "superseded")


def tail(sessions: list[str] | None, last: int, *, follow: bool, as_json: bool) -> None:
    def show(event: StoredEvent) -> None:
        line = render_event(event, reader.voice)
        if as_json:
            write_json_lines([line.to_json()])
        else:
            write_lines([f"{format_time(event.ts)} {to_session_name(event.stream)} #{event.seq} {line.words}"])

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


def stats(since: str, *, as_json: bool) -> None:
    with open_journal() as reader:
        counts = count_journal(reader.store, parse_time(since, reader.now) if since else None)
        if as_json:
            write_json_lines([as_report(counts, reader.store, reader.voice, reader.now)])
            return
        _write_tables(counts, reader)


def _write_tables(counts: Counts, reader: JournalReader) -> None:
    write_table(("what", "how much"), _build_rows(counts, reader))
    if counts.calls:
        write_lines([""])
        calls = [
            (", ".join(CLASSES.get(letter, letter) for letter in kinds), method, outcome, number)
            for (kinds, method, outcome), number in counts.calls.most_common()
        ]
        write_table(("class", "method", "outcome", "count"), calls)
    if counts.days:
        names = ("messages", "turns", "calls", "writes", "cards", "approved", "denied", "refused", "tokens")
        write_lines([""])
        write_table(("day", *names), [(day, *(numbers[name] for name in names)) for day, numbers in sorted(counts.days.items())])
    write_lines([""])
    largest = [(to_session_name(stream), counts.records[stream], _format_size(size)) for stream, size in counts.bytes.most_common(10)]
    write_table(("largest sessions", "records", "size"), largest)


def _build_rows(counts: Counts, reader: JournalReader) -> list[tuple[str, str]]:
    def format_age(waiting: Backlog) -> str:
        return "nothing waits" if waiting.oldest_seconds is None else f"the oldest for {format_seconds(waiting.oldest_seconds)}"

    unknown = sorted(counts.unknown_calls)
    size, stream, seq, kind = counts.largest
    decisions = [(name, counts.decisions[name]) for name in _DECISIONS if name in counts.decisions]
    refused = {reader.voice.describe_code(code): number for code, number in counts.refused.most_common()}
    waits = ", ".join(f"{status} after {format_seconds(seconds)}" for status, seconds in counts.median_waits.items())
    oldest = f", the oldest since {format_time(min(counts.open_cards.values()))}" if counts.open_cards else ""
    return [
        ("counted", f"{counts.events} events {'since ' + format_time(counts.since) if counts.since else 'from the first'}"),
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


def export(format_: Literal["jsonl", "cef"], since: str, until: str, types: str, *, redact: bool) -> None:
    kinds = tuple(name for part in types.split(",") if (name := part.strip()))
    odd = [name for name in kinds if name not in type_names]
    if odd:
        raise fail_with(f"no type of event: {', '.join(odd)}; there are {', '.join(sorted(type_names))}", WRONG_USE)
    with open_journal() as reader:
        start, end = (format_iso(parse_time(text, reader.now)) if text else "" for text in (since, until))
        line: exporting.FormatLine
        match (format_, redact):
            case ("jsonl", False):
                line = exporting.format_json_line
            case ("jsonl", True):
                line = exporting.format_redacted_json_line
            case (_, False):
                line = exporting.build_cef_formatter(reader.voice, _find_version())
            case _:
                line = exporting.build_redacted_cef_formatter(_find_version())
        write_lines(exporting.export_events(reader.store, exporting.EventFilter(types=kinds, since=start, until=end), line))


def _find_version() -> str:
    try:
        return version("sdelka")
    except PackageNotFoundError:  # run from a copy of the sources
        return "0"

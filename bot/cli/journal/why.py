"""The command `sdelka journal why`: who changed a record, who approved it, and what exactly was approved."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from bot.cli.journal.common import JournalReader
    from orchestrator.reports.why.story import Story
    from state.journal.store import StoredEvent

_WHAT_HELP = (
    "The id of a call or a card (or its first or last characters), a trace id, or a record: deal 481, contact 12, task 5, item 177 3."
)


def add(app: typer.Typer) -> None:
    """Add the command `why` to `app`."""
    app.command(
        epilog="Exit codes: 0 = shown, 1 = nothing found, or a record cannot be read, 2 = wrong use,"
        " or several calls fit, or the database cannot be read."
    )(why)


def why(
    what: Annotated[list[str], typer.Argument(metavar="WHAT…", help=_WHAT_HELP)],
    field: str = typer.Option("", help="Of a record: only changes of this field, such as OPPORTUNITY."),
    since: str = typer.Option("", help="Only what happened from then on: 2026-11-21, '2026-11-21 14:05', '7 days ago'."),
    *,
    as_json: bool = typer.Option(False, "--json", help="One JSON object a call instead of pages."),
) -> None:
    """Show for each call who asked for it, what the model proposed, whether it was allowed, who approved it and what Bitrix24 answered.

    The newest call is shown first.
    """
    from bot.cli.journal.common import WRONG_USE, fail_with, open_journal  # noqa: PLC0415 - heavy; `--help` needs none of it
    from bot.cli.journal.why_page import render_pages  # noqa: PLC0415 - see above
    from bot.cli.ops import write_json_lines  # noqa: PLC0415 - see above
    from orchestrator.reports.reading.journal_reader import NotFound, parse_time  # noqa: PLC0415 - see above
    from orchestrator.reports.why.call_search import find_by_id, find_by_record  # noqa: PLC0415 - see above
    from orchestrator.reports.why.call_story import build_story  # noqa: PLC0415 - see above
    from orchestrator.reports.why.portal_changes import list_portal_changes  # noqa: PLC0415 - see above
    from orchestrator.reports.why.touched_records import parse_record  # noqa: PLC0415 - see above
    from state.clock import format_iso  # noqa: PLC0415 - see above
    from state.sql.search_encrypted import open_search  # noqa: PLC0415 - see above

    def stories(reader: "JournalReader") -> tuple[str, "list[Story]", str]:
        catalogue = reader.load_catalogue()
        record = parse_record(what, catalogue)
        if not record and len(what) > 1:
            raise fail_with(f"{' '.join(what)!r} names no record: write a kind and a number, such as deal 481", WRONG_USE)
        if record:
            with open_search(reader.settings.database.get_secret_value()) as sift:
                found = find_by_record(reader.store, record, catalogue, field_name=field, sift=sift)
        else:
            found = find_by_id(reader.store, what[0])
        call_stories = [build_story(trail, reader.store, voice=reader.voice, catalogue=catalogue, record=record) for trail in found.trails]
        every: list[Story] = [*call_stories, *list_portal_changes(found, record, call_stories, catalogue, field_name=field)]
        return record, every, _describe_unassigned([event for event in found.unassigned if event.ts >= start])

    with open_journal() as reader:
        start = format_iso(parse_time(since, reader.now)) if since else ""
        record, every, unassigned = stories(reader)
        shown = sorted((story for story in every if story.at >= start), key=lambda story: story.at, reverse=True)
        if not shown:
            raise NotFound(
                _describe_nothing_found(record or what[0], field=field, since=start, streams=len(reader.store.list_streams()))
                + (f"; {unassigned}" if unassigned else "")
            )
        if as_json:
            write_json_lines([story.to_json() for story in shown])
            return
        for line in render_pages(record or what[0], shown, reader.translator, unassigned=unassigned):
            sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


def _describe_unassigned(calls: Sequence["StoredEvent"]) -> str:
    """Return a sentence on how many calls cannot be assigned to a record because their events are erased or unreadable; "" for none."""
    from orchestrator.reports.reading.damaged_records import UNREADABLE_TEXT, UnreadableEvent  # noqa: PLC0415 - heavy; `--help` needs none of it

    damaged = sum(isinstance(call, UnreadableEvent) for call in calls)
    parts = ((len(calls) - damaged, "of erased people"), (damaged, UNREADABLE_TEXT))
    told = [f"{count} call{'' if count == 1 else 's'} {whose}" for count, whose in parts if count]
    return f"{' and '.join(told)} cannot be assigned to a record" if told else ""


def _describe_nothing_found(what: str, *, field: str, since: str, streams: int) -> str:
    limits = [f"of {field}" if field else "", f"since {since}" if since else ""]
    extra = " ".join(limit for limit in limits if limit)
    looked = f"looked through the calls, cards, plans and looks of {streams} sessions"
    return f"nothing in the journal about {what}{' ' + extra if extra else ''}: {looked}"

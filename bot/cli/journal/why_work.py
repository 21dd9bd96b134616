import sys
from collections.abc import Sequence

from bot.cli.journal.common import WRONG_USE, JournalReader, fail_with, open_journal
from bot.cli.journal.why_page import render_pages
from bot.cli.ops import write_json_lines
from orchestrator.reports.reading.damaged_records import UNREADABLE_TEXT, UnreadableEvent
from orchestrator.reports.reading.journal_reader import NotFound, parse_time
from orchestrator.reports.why.call_search import find_by_id, find_by_record
from orchestrator.reports.why.call_story import build_story
from orchestrator.reports.why.portal_changes import list_portal_changes
from orchestrator.reports.why.story import Story
from orchestrator.reports.why.touched_records import parse_record
from state.clock import format_iso
from state.journal.store import StoredEvent
from state.sql.search_encrypted import open_search


def why(what: list[str], field: str, since: str, *, as_json: bool) -> None:
    def stories(reader: JournalReader) -> tuple[str, list[Story], str]:
        catalogue = reader.load_catalogue()
        record = parse_record(what, catalogue)
        if not record and len(what) > 1:
            raise fail_with(f"{' '.join(what)!r} names no record: write a kind and a number, such as deal 481", WRONG_USE)
        if record:
            with open_search(reader.settings.database.get_secret_value()) as sift:
                matches = find_by_record(reader.store, record, catalogue, field_name=field, sift=sift)
        else:
            matches = find_by_id(reader.store, what[0])
        call_stories = [
            build_story(trail, reader.store, voice=reader.voice, catalogue=catalogue, record=record) for trail in matches.trails
        ]
        every: list[Story] = [*call_stories, *list_portal_changes(matches, record, call_stories, catalogue, field_name=field)]
        return record, every, _describe_unassigned([event for event in matches.unassigned if event.ts >= start])

    with open_journal() as reader:
        start = format_iso(parse_time(since, reader.now)) if since else ""
        record, every, unassigned = stories(reader)
        recent = sorted((story for story in every if story.at >= start), key=lambda story: story.at, reverse=True)
        if not recent:
            raise NotFound(
                _describe_nothing_found(record or what[0], field=field, since=start, streams=len(reader.store.list_streams()))
                + (f"; {unassigned}" if unassigned else "")
            )
        if as_json:
            write_json_lines([story.to_json() for story in recent])
            return
        for line in render_pages(record or what[0], recent, reader.translator, unassigned=unassigned):
            sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


def _describe_unassigned(calls: Sequence["StoredEvent"]) -> str:
    """Their events are erased or unreadable; "" for none."""
    damaged = sum(isinstance(call, UnreadableEvent) for call in calls)
    parts = ((len(calls) - damaged, "of erased people"), (damaged, UNREADABLE_TEXT))
    phrases = [f"{count} call{'' if count == 1 else 's'} {whose}" for count, whose in parts if count]
    return f"{' and '.join(phrases)} cannot be assigned to a record" if phrases else ""


def _describe_nothing_found(what: str, *, field: str, since: str, streams: int) -> str:
    limits = [f"of {field}" if field else "", f"since {since}" if since else ""]
    extra = " ".join(limit for limit in limits if limit)
    looked = f"looked through the calls, cards, plans and looks of {streams} sessions"
    return f"nothing in the journal about {what}{' ' + extra if extra else ''}: {looked}"

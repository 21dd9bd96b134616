"""`sdelka journal why`: renders for each call about a record who asked for it, who decided and what came of it."""

from collections.abc import Callable, Iterator, Sequence

from bot.cli.inputs import format_time
from bot.cli.journal.common import WRONG_USE, JournalReader, fail_with, open_journal, write_lines
from bot.cli.ops import write_json_lines
from bot.i18n.translate import Translator
from bot.rendering.cards import render_card
from bot.rendering.spans import to_plain_text
from orchestrator.domain.card_view import CardView
from orchestrator.reports.reading.damaged_records import UNREADABLE_TEXT, UnreadableEvent
from orchestrator.reports.reading.journal_reader import NotFound, parse_time, to_one_line
from orchestrator.reports.reading.sentences import CLASSES, WAYS, describe_call, format_seconds, to_short_id
from orchestrator.reports.why.call_search import find_by_id, find_by_record
from orchestrator.reports.why.call_story import build_story
from orchestrator.reports.why.portal_changes import list_portal_changes
from orchestrator.reports.why.story import CallStory, Change, Doubt, Proposal, Request, Run, SeenChange, Sighting, Story, StoryCard
from orchestrator.reports.why.touched_records import parse_record
from state.clock import format_iso
from state.journal.store import StoredEvent
from state.sql.search_encrypted import open_search

_WIDTH = 11
_MAX_CHANGES = 20
_OUTCOMES = {
    "succeeded": "done",
    "waiting": "waits for a decision",
    "approved": "approved, not started yet",
    "started": "started, no answer yet",
    "unknown": "outcome unknown",
    "refused": "not done",
    "planned": "only planned, nothing was sent",
}
_VERDICTS = {"done": "it was done", "not_done": "it was not done", "unclear": "still unclear"}
_DEEDS = (
    (".add", "New"),
    (".update", "Change of"),
    (".delete", "Deletion of"),
    (".set", "Change of"),
    (".get", "Reading of"),
    (".list", "Reading of"),
)


def render_pages(what: str, stories: Sequence[Story], translator: Translator, *, unassigned: str = "") -> Iterator[str]:
    """A section per story, in order. `what` was searched for; `unassigned` is about calls of no known record."""
    calls = sum(isinstance(story, CallStory) for story in stories)
    others = len(stories) - calls
    seen = f" and {others} look{'' if others == 1 else 's'} or event{'' if others == 1 else 's'} of the portal" if others else ""
    yield f"{what}: {calls} call{'' if calls == 1 else 's'}{seen}, newest first"
    if unassigned:
        yield unassigned
    for number, story in enumerate(stories, start=1):
        yield ""
        if isinstance(story, CallStory):
            yield from _render_call(number, story, translator)
        else:
            yield from _render_sighting(number, story)


def _render_call(number: int, story: CallStory, translator: Translator) -> Iterator[str]:
    outcome = _OUTCOMES.get(story.outcome, story.outcome)
    yield f"{number}. {_describe_deed(story)}: {outcome} · {to_one_line(story.method)} · {format_time(story.at)}"
    parts: tuple[tuple[str, Callable[[], Iterator[str]]], ...] = (
        ("change", lambda: _render_changes(story.changes)),
        ("asked by", lambda: _render_request(story.asked)),
        ("undo of", lambda: iter([f"call {story.undoes}"] if story.undoes else ())),
        ("proposed", lambda: _render_proposal(story.proposed)),
        ("gate", lambda: _render_verdict(story)),
        ("card", lambda: _render_card(story.card, translator)),
        ("decision", lambda: _render_decision(story.card)),
        ("Bitrix24", lambda: _render_run(story.run)),
        ("doubt", lambda: _render_doubt(story.doubt)),
        ("place", lambda: _render_place(story)),
    )
    for title, lines in parts:
        head = title
        for line in lines():
            yield f"   {head:<{_WIDTH}}{line}"
            head = ""


def _describe_deed(story: CallStory) -> str:
    """Such as "Change of deal 481", or "Call about deal 481"."""
    method = story.method.strip().lower()
    records = [to_one_line(record.replace(":", " ")) for record in story.records]
    new_records = dict.fromkeys(change.record.removeprefix("new ") for change in story.changes if change.record.startswith("new "))
    about = ", ".join(records[:3] or [to_one_line(kind) for kind in new_records]) + (" …" if len(records) > 3 else "")  # noqa: PLR2004 - a heading
    if method == "batch":
        return f"Several calls at once{f' about {about}' if about else ''}"
    deed = next((words for ending, words in _DEEDS if method.endswith(ending)), "Call about")
    if deed == "New" and records:  # such as a comment on a deal
        deed = "Addition to"
    return f"{deed} {about}" if about else {"New": "New record"}.get(deed, "Call")


def _render_changes(changes: Sequence[Change]) -> Iterator[str]:
    for change in changes[:_MAX_CHANGES]:
        record = f"{change.record} " if change.record else ""
        name = change.name if change.name == change.field else f"{change.name} ({change.field})"
        if change.before_recorded:
            yield f"{record}{name}: {change.before or '—'} → {change.after or '—'}"
        else:
            yield f"{record}{name}: → {change.after or '—'} (old value not recorded)"
    if len(changes) > _MAX_CHANGES:
        yield f"… and {len(changes) - _MAX_CHANGES} more, see --json"


def _render_request(request: Request | None) -> Iterator[str]:
    if request is None:
        yield "the journal does not say"
        return
    words = f": “{request.words}”" if request.words else ""
    foreign = ", with text of somebody else" if request.with_foreign_text else ""
    run = f", by the run of {request.run}" if request.run else ""
    yield f"{request.person}{', ' + format_time(request.at) if request.at else ''}{run}{words}{foreign}"


def _render_proposal(proposed: Proposal | None) -> Iterator[str]:
    if proposed is None:
        return
    step = proposed.step
    at = f", {format_time(proposed.at)}" if proposed.at else ""
    yield f"by {proposed.model or 'the model'}, iteration {proposed.iteration}{at}"
    if step.method:
        yield f"step: {describe_call(step.method, step.params, limit=300)}"
        if step.comment:
            yield f"comment: {to_one_line(step.comment)}"
    if proposed.thought:
        yield f"thought: {proposed.thought}"


def _render_verdict(story: CallStory) -> Iterator[str]:
    judged = story.judged
    kinds = ", ".join(CLASSES.get(letter, letter) for letter in story.call_class)
    details = "; ".join(part for part in (f"mode {judged.mode}" if judged.mode else "", kinds) if part)
    yield f"{judged.decision}{f' ({details})' if details else ''}: {'; '.join(judged.reasons)}"


def _render_card(story_card: StoryCard | None, translator: Translator) -> Iterator[str]:
    if story_card is None:
        return
    card = story_card.card
    instead = f", instead of card {to_short_id(story_card.replaces)}" if story_card.replaces else ""
    hands = ", a second person must approve" if card.four_eyes else ", two taps" if card.taps > 1 else ""
    head = f"{card.confirmation_id}, shown {format_time(card.requested_at)}{instead}{hands}"
    if story_card.erased:
        yield f"{head}; its words are erased or cannot be read"
        return
    yield f"{head}, here in English and UTC:"
    for line in to_plain_text(render_card(CardView.from_body(story_card.to_json()), translator)).split("\n"):
        if line.strip():
            yield f"│ {to_one_line(line, limit=400)}"


def _render_decision(story_card: StoryCard | None) -> Iterator[str]:
    if story_card is None:
        return
    decided = story_card.decided
    if decided is None:
        yield f"nobody has decided yet; open until {format_time(story_card.card.expires_at)}"
        return
    who = f" by {decided.person}" if decided.person else ""
    via = f" {WAYS.get(decided.via, to_one_line(decided.via))}" if decided.via else ""
    why = f": {decided.reason}" if decided.reason else ""
    yield f"{decided.status}{who}{via}, {format_time(decided.at)}, after {format_seconds(decided.waited_seconds)}{why}"
    if decided.superseded:
        yield f"but not run: {decided.superseded.why}, {format_time(decided.superseded.at)}; a new card took its place"


def _render_run(run: Run | None) -> Iterator[str]:
    if run is None:
        yield "nothing was sent"
        return
    if not run.started_at and run.outcome == "refused":
        yield f"nothing was sent: {run.answer}"
        return
    began = f"called {format_time(run.started_at)}" if run.started_at else "read"
    match run.outcome:
        case "started":
            yield f"{began}; no answer is recorded yet"
        case "unknown":
            yield f"{began}; no answer came: {run.answer}"
        case "refused":
            yield f"{began}; turned down after {format_seconds(run.seconds or 0)}: {run.answer}"
        case _:
            yield f"{began}; answered after {format_seconds(run.seconds or 0)}: {run.answer}"
            if run.unchanged:
                yield f"read back: Bitrix24 said yes and does not hold what was sent: {to_one_line(', '.join(run.unchanged))}"
            for command in run.commands:
                error = f": {to_one_line(command.error)}" if command.error else ""
                yield f"{to_one_line(command.key)} {to_one_line(command.method)} {command.status}{error}"


def _render_doubt(doubt: Doubt | None) -> Iterator[str]:
    if doubt is None:
        return
    yield f"outcome unknown since {format_time(doubt.at)}: {doubt.detail}"
    for look in doubt.looks:
        yield f"looked up {format_time(look.at)}: {_VERDICTS[look.verdict]}{' (' + look.detail + ')' if look.detail else ''}"
    if not doubt.looks:
        yield "no later look has settled it"


def _render_place(story: CallStory) -> Iterator[str]:
    gone = "; its person was erased, so words and values are gone" if story.erased else ""
    gone += f"; some of it {UNREADABLE_TEXT.strip('()')}" if story.unreadable else ""
    yield f"session {to_one_line(story.session)}, call {story.effect_id}{gone}"


def _render_sighting(number: int, story: Sighting) -> Iterator[str]:
    record = ", ".join(story.records)
    match story.kind:
        case "portal_event":
            yield f"{number}. {story.words} · {format_time(story.at)}"
        case "gone":
            yield f"{number}. {record} was not to be seen in the portal any more · {format_time(story.at)}"
        case "first_seen":
            yield f"{number}. {record} seen in the portal for the first time · {format_time(story.at)}"
            yield from (f"   {'':<{_WIDTH}}{change.name} ({change.field}): {change.after}" for change in story.changes)
        case _:
            yield f"{number}. {record} had changed in the portal · {format_time(story.at)}"
            for change in story.changes:
                yield f"   {'change':<{_WIDTH}}{change.name} ({change.field}): {change.before or '—'} → {change.after or '—'}"
                yield f"   {'by':<{_WIDTH}}{_describe_author(change)}"


def _describe_author(change: SeenChange) -> str:
    if change.through:
        return f"{change.by or 'somebody'} through the bot, call {to_short_id(change.through)}"
    if change.perhaps_unreadable:
        return f"perhaps by a call that {UNREADABLE_TEXT.strip('()')}: the bot cannot tell"
    if change.perhaps_erased:
        return "perhaps by a call of an erased person: the bot cannot tell"
    return "no call of the bot wrote this: changed in Bitrix24 itself, whose history knows by whom"


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
        write_lines(render_pages(record or what[0], recent, reader.translator, unassigned=unassigned))


def _describe_unassigned(calls: Sequence[StoredEvent]) -> str:
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

"""Loads the calls that a search finds, as far as the person may see them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bot.console.audit.query import AuditSearch, find_begin, find_end, find_methods
from bot.console.visit import Visit
from bot.console.words import describe_call, find_run_titles
from bot.http_api.approvals.card_models import join_words
from bot.http_api.audit.audit_trail import build_voice, load_run_names
from bot.rendering.headings import render_heading
from orchestrator.domain.card_view import Preview
from orchestrator.features.history.call_audit import AuditedCall, CallAudit, CallFilter
from orchestrator.features.history.record_lookup import parse_record_reference, split_kind
from orchestrator.reports.why.story import CallStory

PAGE: Final = 30
AT_ONCE: Final = 8
"""So many come with the page, more than a screen holds; the others follow."""
_QUOTES: Final = " \"'\u00ab\u00bb\u201c\u201d\u201e"
_SHORTEST_TITLE: Final = 2
_NEW: Final = "new "


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedField:
    record: str
    name: str
    before: str
    after: str

    def format(self) -> str:
        return f"{self.name}: {self.before} → {self.after}" if self.before else f"{self.name}: {self.after}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    effect_id: str
    session: str
    event_id: str
    at: str
    asked_by: str
    asked_by_name: str
    what: str
    method: str
    records: Sequence[str]
    changes: Sequence[ChangedField]
    outcome: str
    decision: str
    """approved, denied, expired, superseded; "" for no card or decision."""
    decided_by: str = ""
    decided_via: str = ""
    reason: str = ""
    """Why it was not done, "" for everything else."""
    run_id: str = ""
    run_name: str = ""


@dataclass(frozen=True, kw_only=True)
class FoundRows:
    """`after` is where the next page begins, "" at the end."""

    rows: Sequence[AuditRow]
    after: str


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """The filter, or why there is nothing to search for."""

    calls: CallFilter
    methods: Sequence[str] = ()
    """What they do, each once."""
    problem: str = ""
    """"record" or "method" if the words for it fit nothing."""


def understand(visit: Visit, search: AuditSearch) -> Wanted:
    catalogue, zone = visit.viewer.deps.catalogue, visit.opened_as.time_zone
    record = parse_record_reference(search.record, catalogue) if search.record else ""
    title = split_kind(search.record)[1].strip(_QUOTES) if search.record and not record else ""
    methods = find_methods(search.method, [method.name for method in catalogue], visit.tr) if search.method else {}
    calls = CallFilter(
        person=search.person,
        record=record,
        title=title,
        since=find_begin(search, zone),
        until=find_end(search, zone),
        methods=frozenset(methods) if methods else frozenset({search.method} if search.method else ()),
        outcome=search.outcome,
    )
    problem = (
        "record"
        if search.record and not record and len(title) < _SHORTEST_TITLE
        else "method"
        if search.method and not methods and "." not in search.method
        else ""
    )
    return Wanted(calls=calls, methods=tuple(dict.fromkeys(filter(None, methods.values()))), problem=problem)


async def load_rows(visit: Visit, meaning: Wanted, after: str = "", *, limit: int = PAGE) -> FoundRows:
    """The newest first; `after` is that of those before."""
    if meaning.problem:
        return FoundRows(rows=(), after="")
    desk, caller = visit.services.desk, visit.caller
    audit = CallAudit(store=desk.store, index=desk.index)
    voice = build_voice(desk, caller)
    locale = visit.tr.locale
    page = await audit.load_page(
        desk.build_viewer(caller), meaning.calls, voice, after=after, limit=limit, newest_first=True, locale=locale
    )
    runs = await load_run_names(page.calls, desk)
    titles = await find_run_titles(visit, ((run.engine, run.definition) for run in runs.values()))
    names = {key: (run.id, titles[run.engine, run.definition]) for key, run in runs.items()}
    return FoundRows(rows=tuple(_to_row(visit, call, *names.get(call.story.session, ("", ""))) for call in page.calls), after=page.after)


def _to_row(visit: Visit, call: AuditedCall, run_id: str, run_name: str) -> AuditRow:
    story = call.story
    decided = story.card.decided if story.card is not None else None
    return AuditRow(
        effect_id=story.effect_id,
        session=story.session,
        event_id=call.event_id,
        at=call.asked_at,
        asked_by=call.asked_by,
        asked_by_name=call.asked_by_name or call.asked_by,
        what=describe_story(visit, story),
        method=story.method,
        records=tuple(story.records),
        changes=list_changes(story),
        outcome=call.outcome,
        decision=("superseded" if decided.superseded else decided.status) if decided is not None else "",
        decided_by=find_name(visit, decided.by) if decided is not None else "",
        decided_via=decided.via if decided is not None else "",
        reason=_find_reason(story),
        run_id=run_id,
        run_name=run_name,
    )


def _find_reason(story: CallStory) -> str:
    if story.judged.decision == "refused":
        return "; ".join(story.judged.reasons)
    return story.run.answer if story.run is not None and story.run.outcome == "refused" else ""


def describe_story(visit: Visit, story: CallStory) -> str:
    """As its card said it."""
    preview = Preview.model_validate(story.card.card.preview or {}) if story.card is not None else Preview()
    if preview.verb or preview.items:
        return join_words(render_heading(preview, story.method, visit.tr))
    return describe_call(visit.tr, story.method, story.records)


def list_changes(story: CallStory) -> Sequence[ChangedField]:
    """With the values before as far as they are known."""
    return tuple(
        ChangedField(
            record="" if change.record.startswith(_NEW) else change.record,
            name=change.name,
            before=change.before if change.before_recorded else "",
            after=change.after,
        )
        for change in story.changes
    )


def find_name(visit: Visit, key: str) -> str:
    """The key if the name is not known."""
    return build_voice(visit.services.desk, visit.caller).find_name(key) or key if key else ""

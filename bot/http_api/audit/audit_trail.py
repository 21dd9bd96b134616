"""`GET /audit`: who asked for which call, who decided, what was sent, the outcome. It only reads."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Final

from fastapi import APIRouter, Query
from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field

from bot.http_api.approvals.card_models import ApiModel, Person, RunName, format_via, to_run_name
from bot.http_api.server.callers import ClientOf, name_operation
from bot.http_api.server.endpoint_context import CursorText, EndpointContext, Moment, build_translator, encode_cursor, parse_cursor
from bot.http_api.server.errors import ApiError, describe_errors
from bot.http_api.server.tokens import Client
from orchestrator.domain.actor import Actor
from orchestrator.features.history.call_audit import AuditedCall, CallAudit, CallFilter
from orchestrator.language.lexicon import load_lexicon
from orchestrator.reports.reading.journal_reader import Narrator
from orchestrator.reports.why.story import Change, Decision
from orchestrator.reports.why.touched_records import parse_record
from state.journal.run_index import PREFIX as RUN
from state.journal.run_index import RunFilter
from state.stored import JsonObject

_EXAMPLES: Final = load_lexicon("api_examples")
_KIND: Final = "a"
_ID: Final = 36
_YEARS: Final = range(2000, 3000)
DEFAULT_PERIOD: Final = timedelta(days=7)
"""When the caller gives no start; with `entity` all calls count, however old."""


def _validate_year(moment: datetime) -> datetime:
    if moment.year not in _YEARS:
        raise ValueError("a year from 2000 to 2999 is needed")
    return moment


When = Annotated[AwareDatetime, AfterValidator(_validate_year)]


class AuditQuery(BaseModel):
    """Without a person, record or time: the calls of the last seven days."""

    model_config = ConfigDict(extra="forbid")
    person: str | None = Field(
        None, pattern=r"^[a-z]{2,10}:[!-~]{1,200}$", description="Asked for or decided by them.", examples=["tg:1007"]
    )
    entity: str | None = Field(None, pattern=r"^[A-Za-z]{1,30}(:[0-9]{1,9}){1,2}$", description="About this record.", examples=["deal:481"])
    since: When | None = Field(None, alias="from", description="Asked for at or after it, with its zone.")
    until: When | None = Field(None, alias="to", description="Asked for before it, with its zone.")
    cursor: CursorText | None = None
    limit: int = Field(50, ge=1, le=200)


class AuditChange(ApiModel):
    """The change of one field of one record."""

    record: str = Field(examples=["deal:481"])
    field: str = Field(examples=["OPPORTUNITY"])
    name: str = Field(examples=[_EXAMPLES.read_text("sum_field")])
    before: str = Field(description="Empty where it is not known.", examples=["1 000 000 ₽"])
    after: str = Field(examples=["1 200 000 ₽"])


class AuditDecision(ApiModel):
    """How a confirmation ended, and who decided."""

    state: str = Field(description="approved, denied, expired or superseded.", examples=["approved"])
    by: Person | None = None
    at: Moment
    via: str = Field("", examples=["api"])
    reason: str = ""


class Attempt(ApiModel):
    """A decision that was sent over the API but refused; `code` stands for the reason."""

    by: Person
    at: Moment
    code: str = Field(examples=["not-your-card"])


class AuditSent(ApiModel):
    """The request that was sent to Bitrix24, with the answer; secrets are hidden."""

    at: Moment
    method: str = Field(examples=["crm.deal.update"])
    params: JsonObject = Field(examples=[{"id": 481, "fields": {"OPPORTUNITY": 1200000}}])
    answered_at: str = ""
    answer: str = Field("", description="What Bitrix24 said, shortened.", examples=["True"])


class AuditRecord(ApiModel):
    """One call to Bitrix24, from the request to the outcome."""

    id: str = Field(description="The effect: the same in the journal and in the logs.")
    at: Moment
    session: str = Field(description="Where it was asked for; run:{id} for a call of a run.", examples=["tg:1007"])
    run: RunName | None = Field(None, description="The run that asked for it; null for a call of a conversation.")
    method: str = Field(examples=["crm.deal.update"])
    call_class: str = Field(description="R read, W write, D destructive, C configuration, M money, N outward message.", examples=["W"])
    records: Sequence[str] = Field(examples=[["deal:481"]])
    changes: Sequence[AuditChange]
    outcome: str = Field(description="waiting, approved, denied, expired, superseded, succeeded, refused, unknown.", examples=["succeeded"])
    asked_by: Person
    reasons: Sequence[str] = Field(description="Why it was asked for or refused.")
    confirmation_id: str = ""
    decision: AuditDecision | None = None
    attempts: Sequence[Attempt] = ()
    sent: AuditSent | None = None
    undoes: str = Field("", description="The call that it took back.")
    erased: bool = False
    complete: bool = Field(True, description="Whether its end was found; of `outcome` that is known even so.")


class Audit(BaseModel):
    """One page of the audit: calls to Bitrix24, in the order in which people asked for them."""

    records: Sequence[AuditRecord]
    next: str | None = Field(description="Where the next page begins; null at the end. A page may be short and have a next one.")


def build_audit_router(desk: EndpointContext) -> APIRouter:
    router = APIRouter(tags=["audit"], generate_unique_id_function=name_operation)
    auditor = CallAudit(store=desk.store, index=desk.index)

    @router.get("/audit", name="list", summary="Who asked, who approved, what was sent", responses=describe_errors(400, 401, 429, 500, 503))
    async def told(client: ClientOf, query: Annotated[AuditQuery, Query()]) -> Audit:
        place = parse_cursor(query.cursor, _KIND, 1)
        after = _validate_event_id(place[0]) if place else ""
        voice = build_voice(desk, client)
        page = await auditor.load_page(desk.build_viewer(client), _build_filter(query, desk), voice, after=after, limit=query.limit)
        runs = await load_run_names(page.calls, desk)
        records = [_to_record(call, voice, runs) for call in page.calls]
        return Audit(records=records, next=encode_cursor(_KIND, page.after) if page.after else None)

    return router


def _build_filter(audit_query: AuditQuery, desk: EndpointContext) -> CallFilter:
    record = ""
    if audit_query.entity:
        record = parse_record([audit_query.entity], desk.orchestrator.tools.gate.deps.catalogue)
        if not record:
            raise ApiError(400, "invalid_entity", "entity is a kind of record and its number, such as deal:481.")
    if audit_query.since and audit_query.until and audit_query.since >= audit_query.until:
        raise ApiError(400, "invalid_time", "from must lie before to.")
    since: datetime | None = audit_query.since
    if since is None and not record:
        since = (audit_query.until or desk.clock.now()) - DEFAULT_PERIOD
    return CallFilter(person=audit_query.person or "", record=record, since=since, until=audit_query.until)


def _validate_event_id(event_id: str) -> str:
    if len(event_id) != _ID or not event_id.isascii() or not event_id.isprintable():
        raise ApiError(400, "invalid_cursor", "The cursor is none of this list.")
    return event_id


def build_voice(desk: EndpointContext, client: Client) -> Narrator:
    """Sentences in the client's language, and the present names of people."""
    tr, deps = build_translator(client), desk.orchestrator.tools.gate.deps

    def name_of(key: str) -> str:
        person = deps.present(Actor(key=key, name=""))
        return person.name if person is not None else ""

    return Narrator(lambda code, args: tr.translate(code, **args), name_of)


async def load_run_names(calls: Sequence[AuditedCall], desk: EndpointContext) -> dict[str, RunName]:
    """Names by session key, of the runs that proposed these calls."""
    keys = {call.story.session for call in calls if call.story.session.startswith(RUN)}
    runs = [await desk.store.list_runs(RunFilter(run_id=key.removeprefix(RUN))) for key in sorted(keys)]
    return {f"{RUN}{row.run_id}": to_run_name(row.run_id, row) for rows in runs for row in rows}


def _to_record(call: AuditedCall, voice: Narrator, runs: Mapping[str, RunName]) -> AuditRecord:
    story, run = call.story, call.story.run
    return AuditRecord(
        id=story.effect_id,
        at=call.asked_at,
        session=story.session,
        run=runs.get(story.session),
        method=story.method,
        call_class=story.call_class,
        records=story.records,
        changes=[_to_change(change) for change in story.changes],
        outcome=call.outcome,
        asked_by=Person(id=call.asked_by, name=call.asked_by_name),
        reasons=story.judged.reasons if story.judged.decision in {"asked", "refused"} else (),
        confirmation_id=story.confirmation_id,
        decision=_to_decision(story.card.decided, voice) if story.card and story.card.decided else None,
        attempts=[Attempt(by=Person(id=one.by, name=voice.find_name(one.by)), at=at, code=one.code) for at, one in call.attempts],
        sent=AuditSent(at=run.started_at, method=story.method, params=story.params, answered_at=run.ended_at, answer=run.answer)
        if run and run.started_at
        else None,
        undoes=story.undoes,
        erased=story.erased,
        complete=call.is_complete,
    )


def _to_change(change: Change) -> AuditChange:
    before = change.before if change.before_recorded else ""
    return AuditChange(record=change.record, field=change.field, name=change.name, before=before, after=change.after)


def _to_decision(decided: Decision, voice: Narrator) -> AuditDecision:
    by = Person(id=decided.by, name=voice.find_name(decided.by)) if decided.by else None
    superseded = decided.superseded
    return AuditDecision(
        state="superseded" if superseded else decided.status,
        by=by,
        at=decided.at,
        via=format_via(decided.via),
        reason=(superseded.why if superseded else "") or decided.reason,
    )

"""The steps that act outside. Each is an effect that the gate decides (S000-A13)."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final
from zoneinfo import ZoneInfo

from pydantic import Field

from engines.scenarios.core.step_types import (
    AUTHOR,
    AnyStepCall,
    AnyStepType,
    Raw,
    StepCall,
    StepMistake,
    StepParams,
    StepResult,
    StepType,
    VariableName,
    WrittenCall,
    list_named,
    mark_author,
)
from engines.scenarios.core.steps.flow import ENGINE
from orchestrator.definitions.kinds import Write
from orchestrator.domain.effect import Outcome
from orchestrator.domain.outputs import Notice, Reply
from orchestrator.domain.taint import NOWHERE, Origin, Origins, Value, split_values
from orchestrator.engines.runs import RunEffect
from orchestrator.engines.shared.left_out import leave_out_fields, list_left_out
from orchestrator.expressions.placeholders import SCENARIO, Template
from orchestrator.language.schedule_terms import TermsError, is_plain_zone, parse_terms
from state.stored import JsonObject

_READ: Final[Mapping[str, Origin]] = {"bitrix": "prose", "mongo": "database", "http": "web", "file": "document"}


_FIELDS: Final = "fields"
_COMMANDS: Final = "cmd"
_CHOOSERS: Final[Origins] = frozenset({"definition", "person"})
"""Who may choose a method: from elsewhere it makes a person be asked."""


class EffectParams(StepParams):
    """What every step has that acts outside."""

    on_refused: str = Field("", description="The id of the step after a refusal by a person or a rule; without it the run fails.")


class BitrixCallParams(EffectParams):
    """A call of the portal."""

    method: str = Field(min_length=1, description="The method, such as crm.deal.update.")
    params: JsonObject = Field(default_factory=dict, description="Its parameters.")
    comment: str = Field("", max_length=500, description="What the card says the call is for.")
    confirm: bool = Field(False, description="Whether a person is asked in any case.")
    output_var: VariableName = Field("bitrix_result", min_length=1, description="The variable that gets the result.")


class ScheduleParams(EffectParams):
    """When another scenario is started."""

    scenario_id: str = Field(min_length=1, description="The key of the scenario.")
    run_in_seconds: int | None = Field(None, ge=0, le=366 * 86_400, description="In how many seconds it starts, once.")
    at: str = Field("", description="The moment at which it starts, once, such as 2026-11-30T09:00; without an offset in the zone.")
    cron: str = Field("", description="A line such as 0 9 * * 1: it starts again and again, and a person is asked.")
    zone: str = Field("", description="The time zone of the moment or the line; without it that of the person.")
    context_to_pass: JsonObject = Field(default_factory=dict, description="Variables for it.")
    note: str = Field("", max_length=200, description="A few words for the list of schedules.")
    task_id_output_var: VariableName = Field("task_id", min_length=1, description="The variable that gets the id of the schedule.")


class MongoParams(EffectParams):
    """What is read or changed in one collection of the database."""

    collection_name: str = Field(min_length=1, description="The collection.")
    query: JsonObject | None = Field(None, description="Which documents.")
    document: JsonObject | None = Field(None, description="The new document.")
    documents: list[JsonObject] | None = Field(None, description="The new documents.")
    update_data: JsonObject | None = Field(None, description="What changes, such as {$set: {status: done}}.")
    sort: list[str] | None = Field(None, description="The order: names of fields, with - downwards.")
    fields: list[str] | None = Field(None, description="The fields to read.")
    limit: int | None = Field(None, ge=1, le=100, description="The most documents that are read.")
    output_var: VariableName = Field("", description="The variable that gets the result; without it the name of the result.")


@dataclass(frozen=True, slots=True)
class _MongoStep:
    name: str
    summary: str
    needs: tuple[str, ...]
    takes: tuple[str, ...]
    result: str


_MONGO: Final = (
    _MongoStep("find_one", "Reads one document.", (), ("query", "sort", "fields"), "found_document"),
    _MongoStep("find_many", "Reads documents.", (), ("query", "sort", "fields", "limit"), "found_documents"),
    _MongoStep("count", "Counts documents.", (), ("query",), "count"),
    _MongoStep("insert_one", "Adds a document.", ("document",), (), "inserted_id"),
    _MongoStep("insert_many", "Adds documents.", ("documents",), (), "inserted_ids"),
    _MongoStep("update_one", "Changes one document.", ("query", "update_data"), (), "update_result"),
    _MongoStep("update_many", "Changes documents.", ("query", "update_data"), (), "update_result"),
    _MongoStep("delete_one", "Deletes one document.", ("query",), (), "delete_result"),
    _MongoStep("delete_many", "Deletes documents.", ("query",), (), "delete_result"),
)


_MONGO_EXAMPLES: Final[JsonObject] = {
    "query": {"client": "{client}"},
    "document": {"client": "{client}", "sum": "{budget}"},
    "documents": [{"client": "{client}"}],
    "update_data": {"$set": {"stage": "done"}},
}
_MONGO_PARTS: Final = (*_MONGO_EXAMPLES, "sort", "fields", "limit")


async def submit(call: AnyStepCall, effect: RunEffect, read: Callable[[Outcome], JsonObject], *, origins: Origins = NOWHERE) -> StepResult:
    """Submit the effect; `read` makes variables of its outcome.

    A refusal leads to `on_refused`, as a decision by text of strangers if `origins` have any. Raises RunFailed without it, or for a wrong
    call.
    """
    outcome = await call.ctx.submit(call.node, effect)
    if outcome.status == "refused" and not outcome.already:
        if outcome.is_form:
            code = "scenario-call-unfit" if call.find_origins() - AUTHOR else "scenario-call-wrong"
            raise call.fail(code, outcome.detail).explain_refusal(outcome)
        if call.params.on_refused:
            await call.ctx.accept_refusal(call.node)
            call.variables.note_decision(Value(None, call.find_origins() | origins))  # other values might not have been refused
            return StepResult(next_step=call.params.on_refused, refused=outcome.detail)
        raise call.fail("scenario-step-refused", outcome.detail).explain_refusal(outcome)
    is_read = outcome.call_class == "R" or outcome.foreign_text
    whence: Origins = frozenset({_READ.get(effect.kind, "prose")}) if is_read else frozenset({"label"})
    return StepResult(changes={name: Value(one, whence) for name, one in read(outcome).items()})


async def _call_bitrix(call: StepCall[BitrixCallParams]) -> StepResult:
    """Omit fields without a value and tell the person; if none is left, make no call."""
    params = call.params
    call_params = call.take("params").get("params", {})
    if call.ctx.find_state(call.node) == "new":
        call_params, notices = _leave_out(call, call_params)
        if notices:
            fields = ", ".join(str(notice.args.get("field", "the batch")) for notice in notices)
            call.surroundings.note(logging.WARNING, f"step {call.node} does not write what no value came for: {fields}")
        if notices and not call.ctx.actor.for_customers:
            await call.ctx.say(Reply(notices=notices), key=f"{call.node}/left-out")
        if call_params is None:
            return StepResult(changes={params.output_var: Value(None, call.find_origins("params"))})
    effect = RunEffect(
        method=params.method,
        params=call_params,
        comment=params.comment,
        requires_confirmation=params.confirm or bool(call.find_origins("method") - _CHOOSERS),
    )
    return await submit(call, effect, lambda outcome: {params.output_var: outcome.result})


def _leave_out(call: StepCall[BitrixCallParams], call_params: Any) -> tuple[Any, tuple[Notice, ...]]:
    """Return (remaining parameters, notices); None if nothing is left.

    A batch is made as a whole or not at all, as its calls build on one another.
    """
    if not isinstance(call_params, Mapping):
        return call_params, ()
    texts = [name for name in call_params if ("params", name) in call.empty and not name.lower().endswith("id")]
    text_values = split_values({name: call_params[name] for name in texts})[0]
    is_unwritable = any(isinstance(text, str) and text.strip() for text in text_values.values())
    if is_unwritable or any(path[:2] == ("params", _COMMANDS) for path in call.empty):
        return None, (Notice(code="run-call-left-out", args={"step": call.step.id or call.node}),)
    name = next((name for name in call_params if name.lower() == _FIELDS), "")
    if not name:
        return call_params, ()
    fields, left_out = leave_out_fields(call_params[name], call.empty, ("params", name))
    is_empty = bool(left_out) and not split_values(fields)[0]
    return None if is_empty else {**call_params, name: fields}, list_left_out(left_out)


async def _schedule(call: StepCall[ScheduleParams]) -> StepResult:
    params, ctx = call.params, call.ctx
    if [params.run_in_seconds is not None, bool(params.at), bool(params.cron)].count(True) != 1:
        raise call.fail("scenario-schedule-when", "exactly one of run_in_seconds, at and cron is needed")
    when: JsonObject = {"cron": Value(params.cron, call.find_origins("cron"))}
    if params.at:
        when = {"at": Value(_add_offset(call), call.find_origins("at"))}
    if params.run_in_seconds is not None:
        later = timedelta(seconds=params.run_in_seconds)
        at = await ctx.memo(f"{call.node}/at", lambda: _add(ctx.now, later), origins=AUTHOR)
        when = {"at": at}
    schedule_params = {
        "engine": Value(ENGINE, AUTHOR),
        "definition": Value(params.scenario_id, call.find_origins("scenario_id")),
        "args": mark_author(call.filled.get("context_to_pass", {})),
        **when,
        **call.take(*(name for name in ("zone", "note") if getattr(params, name))),
    }
    effect = RunEffect(kind="schedule", method="schedule.run.add", params=schedule_params)
    return await submit(call, effect, lambda outcome: {params.task_id_output_var: _read_part(outcome, "schedule")})


def _add_offset(call: StepCall[ScheduleParams]) -> str:
    """Without an offset it is local time in the step's zone, or the person's. Raises RunFailed."""
    zone = call.params.zone or call.ctx.actor.time_zone
    try:
        moment = datetime.fromisoformat(call.params.at)
    except ValueError:
        raise call.fail("scenario-schedule-when", "at is no moment") from None
    if moment.tzinfo is None and is_plain_zone(zone):
        moment = moment.replace(tzinfo=ZoneInfo(zone))
    return moment.isoformat()


async def _add(now: datetime, later: timedelta) -> str:
    return (now + later).isoformat()


async def _use_mongo(call: StepCall[MongoParams], step: _MongoStep) -> StepResult:
    for name in step.needs:
        if getattr(call.params, name) is None:
            raise call.fail("scenario-parameter-missing", f"{name} is missing", name=name)
    effect = RunEffect(kind="mongo", method=f"mongo.{step.name}", params=call.take("collection_name", *step.needs, *step.takes))
    name = call.params.output_var or step.result
    return await submit(call, effect, lambda outcome: {name: _read_part(outcome, step.result)})


def _read_part(outcome: Outcome, name: str) -> Any:
    """None if it was only planned."""
    return outcome.result.get(name) if isinstance(outcome.result, Mapping) else None


def _list_bitrix_writes(raw: Raw) -> Sequence[Write] | None:
    method = raw.get("method")
    if not isinstance(method, str) or Template(method, SCENARIO).placeholders:
        return None
    return (("bitrix", method),)


def _list_calls(raw: Raw) -> Iterable[WrittenCall]:
    return [
        WrittenCall(method=method, method_in="method", params=raw.get("params", {}), params_in="params")
        for _, method in _list_bitrix_writes(raw) or ()
    ]


def _list_schedule_mistakes(raw: Raw) -> Iterator[StepMistake]:
    times = [name for name in ("run_in_seconds", "at", "cron") if raw.get(name) not in (None, "")]
    if len(times) != 1:
        yield StepMistake(path=tuple(times[1:2]), code="finding-schedule-when")
        return
    (name,), zone = times, raw.get("zone") or "UTC"
    when = raw[name]
    if name == "run_in_seconds" or not isinstance(when, str) or not isinstance(zone, str) or "{" in f"{when}{zone}":
        return
    try:
        moment = datetime.fromisoformat(when) if name == "at" else None
        at = (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).isoformat() if moment is not None else None
        parse_terms(at, when if name == "cron" else None, zone)
    except TermsError as error:
        yield StepMistake(
            path=(error.param if error.param in raw else name,), code="finding-schedule-terms", args={"problem": error.detail}
        )
    except ValueError:
        yield StepMistake(path=(name,), code="finding-schedule-terms", args={"problem": "a moment such as 2026-11-30T09:00 is needed"})


def list_refused(raw: Raw) -> Iterable[tuple[tuple[str | int, ...], str]]:
    target = raw.get("on_refused")
    return ((("on_refused",), target),) if isinstance(target, str) and target else ()


def _build_mongo(step: _MongoStep) -> StepType[MongoParams]:
    return StepType(
        name=f"mongo_{step.name}",
        summary=step.summary,
        params=MongoParams,
        perform=partial(_use_mongo, step=step),
        example={"params": {"collection_name": "visits", **{name: _MONGO_EXAMPLES[name] for name in step.needs or step.takes[:1]}}},
        needs=frozenset(step.needs),
        ignores=frozenset(_MONGO_PARTS) - {*step.needs, *step.takes},
        list_outputs=list_named("output_var", step.result),
        list_writes=lambda _raw: (("mongo", f"mongo.{step.name}"),),
        list_targets=list_refused,
        is_action=True,
    )


BITRIX_CALL: Final = StepType(
    name="bitrix_call",
    summary="Calls a method of the portal.",
    params=BitrixCallParams,
    perform=_call_bitrix,
    example={"params": {"method": "crm.deal.get", "params": {"id": "{deal_id}"}, "output_var": "deal"}},
    list_outputs=list_named("output_var", "bitrix_result"),
    list_writes=_list_bitrix_writes,
    list_calls=_list_calls,
    call_at="params",
    spoken=frozenset({"comment"}),
    list_targets=list_refused,
    is_action=True,
)
SCHEDULE: Final = StepType(
    name="schedule_scenario_run",
    summary="Starts another scenario later, once or again and again.",
    params=ScheduleParams,
    perform=_schedule,
    example={"params": {"scenario_id": "follow_up", "run_in_seconds": 86400, "context_to_pass": {"client": "{client}"}}},
    list_outputs=list_named("task_id_output_var", "task_id"),
    list_writes=lambda _raw: (("schedule", "schedule.run.add"),),
    list_mistakes=_list_schedule_mistakes,
    spoken=frozenset({"note"}),
    list_targets=list_refused,
    is_action=True,
)
TYPES: Final[tuple[AnyStepType, ...]] = (BITRIX_CALL, SCHEDULE, *map(_build_mongo, _MONGO))

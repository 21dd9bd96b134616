"""Reads runs as far as each caller may see them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bot.http_api.approvals.card_models import Person
from bot.http_api.audit.run_events import format_question, format_value, list_options
from bot.http_api.runs.run_models import OpenCall, OpenCalls, Run, RunChanges, RunError, RunLine, RunQuery, Runs, Wait
from bot.http_api.server.endpoint_context import EndpointContext, build_translator, encode_cursor, parse_cursor
from bot.http_api.server.errors import ApiError
from bot.http_api.server.tokens import Client
from bot.i18n.translate import Translator
from orchestrator.domain.actor import Actor
from orchestrator.engines.runs import RunFailed
from orchestrator.reports.open_model_calls import list_open_model_calls
from orchestrator.reports.viewer import Viewer
from orchestrator.runs.inputs import may_control
from orchestrator.runs.memo import load_output
from state.events.runs import WHOLE, NodeDone, NodeFailed, RunFinished, RunWaits, RunWoken
from state.journal.async_store import AsyncStore
from state.journal.journal import load_state
from state.journal.run_index import NO_TIME, PREFIX, RunFilter, RunRow
from state.journal.store import StoredEvent
from state.model.run_state import RunState
from state.model.session_state import SessionState


async def load_large_output(event: StoredEvent, store: AsyncStore) -> StoredEvent:
    """Without the output if the blob is gone."""
    if event.type != NodeDone.__name__ or not event.data.get("output_blob"):
        return event
    try:
        output = (await load_output(NodeDone.from_data(event.data), store)).data
    except RunFailed:
        return event._replace(erased=True)
    return event._replace(data={**event.data, "output": output, "output_blob": ""})


_KIND: Final = "r"
_NO_CHANGES: Final = RunChanges()
_PARTS: Final = 2
_SCANNED: Final = 1000
"""Per request of the list; if there are more, the page is short and has a next one."""
_TAIL: Final = 500
"""Last events that are searched for the last error, result and open questions."""
_END: Final = 20
"""Last events that a list searches for the error of a failed run."""
_ID: Final = re.compile(r"[0-9a-f-]{8,64}", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class FoundRun:
    """`seq` is of the last event that the state includes."""

    run_id: str
    run: RunState
    state: SessionState
    seq: int

    @property
    def key(self) -> str:
        """Session key and name of the stream."""
        return f"{PREFIX}{self.run_id}"


@dataclass(frozen=True, kw_only=True)
class RunEnding:
    """Why it failed, if it did, and what became of its proposed changes."""

    failure: RunError | None = None
    changes: RunChanges = _NO_CHANGES


class RunReader:
    """One instance per app; all methods raise StoreError."""

    def __init__(self, desk: EndpointContext) -> None:
        self._desk = desk

    async def find_run(self, client: Client, run_id: str) -> FoundRun:
        """Raises ApiError 404 if it does not exist or may not be seen."""
        state, seq = await self._desk.store.read(load_state, f"{PREFIX}{run_id if _ID.fullmatch(run_id) else '-'}")
        if state.run is None or not self._desk.build_viewer(client).may_see_run(state.run.owner):
            raise build_not_found()
        return FoundRun(run_id=run_id, run=state.run, state=state, seq=seq)

    async def list_runs(self, client: Client, query: RunQuery, *, is_own: bool = False) -> Runs:
        """What the caller may see, with `is_own` only theirs. Raises ApiError 400 for an invalid cursor."""
        place = parse_cursor(query.cursor, _KIND, _PARTS)
        viewer = self._desk.build_viewer(client)
        sees_others = viewer.is_lead and not is_own
        run_filter = RunFilter(
            engine=query.engine or "",
            definition=query.definition or "",
            owner=(query.owner or "") if sees_others else client.actor.key,
            statuses=tuple(query.status),
            after=(place[0], place[1]) if place else (NO_TIME, ""),
            limit=_SCANNED if sees_others else query.limit + 1,
        )
        rows = await self._desk.store.list_runs(run_filter)
        seen = [row for row in rows if viewer.may_see_run(row.owner) and query.owner in {None, row.owner}]
        if len(seen) > query.limit:
            seen = seen[: query.limit]
            last: RunRow | None = seen[-1]
        else:
            last = rows[-1] if len(rows) == run_filter.limit else None
        lines = [_to_line(row.run_id, row, viewer) for row in seen]
        return Runs(runs=lines, next=encode_cursor(_KIND, last.started_at, last.run_id) if last else None)

    async def find_ending(self, line: RunLine) -> RunEnding:
        """Without what is for operations staff. `node` is the last that failed since the run began or was retried."""
        if line.status not in {"failed", "done"}:
            return RunEnding()
        stream = f"{PREFIX}{line.id}"
        seq, _ = await self._desk.store.read_head(stream)
        tail = await self._desk.store.read_events(stream, after=max(0, seq - _END), limit=_END)
        end = next((RunFinished.from_data(one.data) for one in reversed(tail) if one.type == "RunFinished"), None)
        if end is None or line.status == "done":
            return RunEnding(changes=_count_changes(end))
        retried = next((one.seq for one in reversed(tail) if one.type == "RunWoken" and RunWoken.from_data(one.data).node == WHOLE), 0)
        node = _find_failed_node([one for one in tail if one.seq > retried])
        return RunEnding(failure=RunError(code=end.code, node=node.node if node is not None else "", at=line.updated_at))

    async def list_open_calls(self, found_run: FoundRun) -> OpenCalls:
        calls = await self._desk.store.read(list_open_model_calls, found_run.key)
        open_calls = [OpenCall(**call.to_json(), is_lost=call.asked_again or found_run.run.is_over) for call in calls]
        return OpenCalls(model_calls_without_answer=open_calls)

    async def describe_run(self, client: Client, found_run: FoundRun) -> Run:
        run, viewer = found_run.run, self._desk.build_viewer(client)
        shows_words = viewer.may_see_run(run.owner, with_words=True)
        tr = build_translator(client)
        tail = await self._desk.store.read_events(found_run.key, after=max(0, found_run.seq - _TAIL), limit=_TAIL)
        end = next((RunFinished.from_data(one.data) for one in reversed(tail) if one.type == "RunFinished"), None) if run.is_over else None
        return Run(
            **_to_line(found_run.run_id, run, viewer).model_dump(),
            title=run.title,
            mode=run.mode,
            nodes_done=run.done,
            waits=[_to_wait(node, found_run, tail, viewer, tr, shows_words=shows_words) for node in run.waits],
            last_error=_find_last_error(tail, run, end, shows_words=shows_words and not client.actor.for_customers),
            changes=_count_changes(end),
            result=end.result if end is not None and shows_words else None,
            may_control=may_control(client.actor, run),
        )


def _count_changes(end: RunFinished | None) -> RunChanges:
    return RunChanges(made=end.changes_made, left=end.changes_left) if end is not None else _NO_CHANGES


def build_not_found() -> ApiError:
    """The same for a run that does not exist and for one that the caller may not see."""
    return ApiError(404, "run_not_found", "There is no such run.")


def _to_line(run_id: str, run: RunState | RunRow, viewer: Viewer) -> RunLine:
    return RunLine(
        id=run_id,
        engine=run.engine,
        definition=run.definition,
        version=run.version,
        status=run.status,
        owner=_to_person(run.owner, viewer),
        home=run.home,
        parent=run.parent.removeprefix(PREFIX),
        started_at=run.started_at,
        updated_at=run.updated_at,
    )


def _to_person(key: str, viewer: Viewer) -> Person:
    known = viewer.deps.present(Actor(key=key, name=""))
    return Person(id=key, name=known.name if known is not None else "")


def _to_wait(node: str, found_run: FoundRun, tail: Sequence[StoredEvent], viewer: Viewer, tr: Translator, *, shows_words: bool) -> Wait:
    wait = found_run.run.waits[node]
    run_wait = Wait(node=node, waits_for=wait.on, since=wait.since, until=wait.until)
    match wait.on:
        case "input":
            question = _find_question(tail, wait.waits_for) if shows_words else None
            who = [_to_person(key, viewer) for key in wait.answers]
            question_fields = {"text": format_question(question, tr), "options": list_options(question, tr)} if question is not None else {}
            return run_wait.model_copy(update={"question": wait.waits_for, "takes": wait.takes, "answers": who, **question_fields})
        case "effect":
            cards = (card.confirmation_id for card in found_run.state.cards.values() if card.effect_id == wait.waits_for)
            return run_wait.model_copy(update={"confirmation_id": next(cards, "")})
        case "run":
            return run_wait.model_copy(update={"run": wait.waits_for.removeprefix(PREFIX)})
        case _:
            return run_wait


def _find_question(tail: Sequence[StoredEvent], question_id: str) -> RunWaits | None:
    run_waits = (RunWaits.from_data(stored_event.data) for stored_event in reversed(tail) if stored_event.type == "RunWaits")
    return next((run_wait for run_wait in run_waits if run_wait.waits_for == question_id), None)


def _find_failed_node(tail: Sequence[StoredEvent]) -> NodeFailed | None:
    failed = next((stored_event for stored_event in reversed(tail) if stored_event.type == "NodeFailed"), None)
    return NodeFailed.from_data(failed.data) if failed is not None else None


def _find_last_error(tail: Sequence[StoredEvent], run: RunState, end: RunFinished | None, *, shows_words: bool) -> RunError | None:
    """While it works, of the node that failed last; None if nothing has failed."""
    failed = next((stored_event for stored_event in reversed(tail) if stored_event.type == "NodeFailed"), None)
    node = _find_failed_node(tail)
    if run.status == "failed":
        detail = node.detail if node is not None and node.code == run.code else ""
        detail = detail or (end.detail if end is not None else "")
        return RunError(
            code=run.code,
            node=node.node if node is not None and node.code == run.code else "",
            at=run.updated_at,
            detail=format_value(detail) if shows_words else "",
        )
    if failed is None or node is None:
        return None
    return RunError(code=node.code, node=node.node, at=failed.ts, detail=format_value(node.detail) if shows_words else "")

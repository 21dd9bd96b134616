"""Completes a step (what `commit` or `buffer` was given) before it is stored.

A run's step also shows messages, wakes it and updates the index of runs, in one transaction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from orchestrator.domain.address import Address, is_run
from orchestrator.domain.errors import RunOver
from orchestrator.domain.inputs import SYSTEM
from orchestrator.domain.run_inputs import RunMessage, RunPlay
from orchestrator.gate.approve.confirmations import add_card_copies
from orchestrator.sessions.grouped_cards import DescribeCard, group_card_rows, keep_card
from orchestrator.sessions.outbox import split_pulled_rows
from orchestrator.sessions.paused_turns import build_go_on_rows
from state.canonical import dumps, hash_text
from state.clock import format_iso, generate_id
from state.events.base import Event
from state.events.calls import CallRefused, CallSucceeded
from state.events.codec import encode
from state.events.runs import NodeDone, RunFinished, RunStarted, RunWaits, RunWoken, may_change_index, preview_run
from state.journal.blobs import get_blob_prefix
from state.journal.run_index import build_run_row
from state.journal.store import Commit, InboxRow, OutboxRow
from state.model.run_state import RunState
from state.model.session_state import SessionState
from state.trace import get_trace_id

INLINE_RESULT: Final = 2048
"""Characters; longer results are stored in the blob table."""
SETTLED: Final = frozenset({"succeeded", "refused", "denied", "expired", "superseded"})
"""A run that waits for an effect goes on at these; an unknown outcome is waited for."""
_CARD_KINDS: Final = frozenset({"card", "details"})
_WITH_RESULT: Final = (CallSucceeded, NodeDone)


def keep_step(step: Commit, _state: SessionState) -> Commit:
    return step


def prepare_step(step: Commit, key: str, state: SessionState, describe: DescribeCard = keep_card) -> Commit:
    """`state` is that before the step. Raises RunOver if the step belongs to a run that has ended."""
    if state.run is not None and state.run.is_over and _goes_on(step, key):
        raise RunOver
    blobs: dict[str, str] = dict(step.blobs)
    rows: Sequence[OutboxRow] = ()
    events: Sequence[Event] = ()
    woken: Sequence[Event] = ()
    if step.outbox:
        one_by_one = state.run is not None or Address.parse(key).is_pulled  # runs and clients of the API decide card by card
        grouped = step.outbox if one_by_one else group_card_rows(step.outbox, key, state.cards, describe)
        rows = add_card_copies(grouped)
    new = [*step.inbox_new, *build_go_on_rows(step, key, state)]
    run = _find_run(step, state)
    if run is not None:
        rows, sent = _address_to_home(rows, key, run.home)
        woken = _build_wakes(step, run)
        new = [*new, *sent, *([build_play_row(key, step.now)] if woken else [])]
    elif rows and is_run(key):
        rows = [row for row in rows if row.session not in {key, f"{key}:toast"}]  # there is no such run, so it has no chat
    if rows:
        events, rows = split_pulled_rows(rows, key, get_trace_id() or next(iter(step.inbox_done), ""))
    slim = [move_to_blob(one, key, blobs) if isinstance(one, _WITH_RESULT) else one for one in (*step.events, *woken, *events)]
    ready = step._replace(events=slim, encoded_events=[encode(event) for event in slim], outbox=rows, inbox_new=new, blobs=blobs)
    return index_run(ready, state.run) if run is not None else ready


def index_run(step: Commit, run: RunState | None) -> Commit:
    if not [encoded_event for encoded_event in step.encoded_events if may_change_index(run, encoded_event.type, encoded_event.data)]:
        return step
    after = preview_run(run, ((encoded_event.type, encoded_event.data, format_iso(step.now)) for encoded_event in step.encoded_events))
    return step._replace(run=build_run_row(step.stream, after)) if after is not None else step


def build_play_row(key: str, now: datetime) -> InboxRow:
    fresh = generate_id()
    return RunPlay().to_row(key, source=f"play:{key}:{fresh}", actor=SYSTEM, now=now, lane="turn", row_id=fresh)


def _goes_on(step: Commit, key: str) -> bool:
    """Whether the run waits, ends or begins a call here. What people do with its calls is done also after its end."""
    begun = (effect.call for effect in step.effects if "absent" in effect.expect and effect.call is not None)
    return any(isinstance(event, RunWaits | RunFinished) for event in step.events) or any(
        str(call.get("slot", "")).startswith(f"{key}/") for call in begun
    )


def _find_run(step: Commit, state: SessionState) -> RunState | None:
    if state.run is not None:
        return state.run
    for event in step.events:
        if type(event) is RunStarted:
            return RunState.create(engine=event.engine, definition=event.definition, home=event.home)
    return None


def _build_wakes(step: Commit, run: RunState) -> list[RunWoken]:
    settled = {change.effect_id: change.status for change in step.effects if change.status in SETTLED}
    waits = run.waits.items() if settled else ()
    return [RunWoken(node=node, by=settled[wait.waits_for]) for node, wait in waits if wait.on == "effect" and wait.waits_for in settled]


def _address_to_home(rows: Sequence[OutboxRow], key: str, home: str) -> tuple[list[OutboxRow], list[InboxRow]]:
    """Return (messages to deliver, inputs for clients that fetch messages). A card names its run."""
    outbox_rows: list[OutboxRow] = []
    passed: list[InboxRow] = []
    for row in rows:
        if row.session not in {key, f"{key}:toast"}:
            outbox_rows.append(row)
            continue
        body: dict[str, Any] = _mark_card(row.body, key, home) if row.kind in _CARD_KINDS else dict(row.body)
        if Address.parse(home).is_pulled:
            passed.append(build_passed_message(row, home, body))
        else:
            there = home + row.session.removeprefix(key)
            outbox_rows.append(replace(row, session=there, channel=Address.parse(home).channel, body=body))
    return outbox_rows, passed


def _mark_card(body: Mapping[str, Any], key: str, home: str) -> dict[str, Any]:
    opened: Sequence[str] = body.get("opened") or ()
    is_opened = home in opened or (Address.parse(home).is_group and bool(opened))
    return {**body, "home": key, "in_run_chat": True, **({"opened_here": True} if is_opened else {})}


def build_passed_message(row: OutboxRow, home: str, body: dict[str, Any]) -> InboxRow:
    return RunMessage(message=row.kind, key=row.key, body=body).to_row(home, source=f"passed:{row.id}", actor=SYSTEM, now=row.created_at)


def is_reads_only(step: Commit) -> bool:
    """Whether it has only results of reads."""
    only_events = not (step.effects or step.outbox or step.timers or step.inbox_done or step.inbox_new)
    return only_events and all(isinstance(event, CallSucceeded | CallRefused) and event.call_class == "R" for event in step.events)


def move_to_blob(event: Event, key: str, blobs: dict[str, str]) -> Event:
    """The event then holds the blob's checksum."""
    match event:
        case CallSucceeded(result=large) | NodeDone(output=large) if large is not None:
            text = dumps(large)
        case _:
            return event
    if len(text) <= INLINE_RESULT:
        return event
    text = get_blob_prefix(key) + text
    digest = hash_text(text)
    blobs[digest] = text
    name = "result" if isinstance(event, CallSucceeded) else "output"
    return event.model_copy(update={name: None, f"{name}_blob": digest})

"""Prepares a restored database: what may have run after the backup is never repeated by itself.

Such calls become "unknown" and are looked up; cards stay; waiting inputs are set aside for good.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from orchestrator.domain.run_inputs import SchedulesRestored
from orchestrator.domain.standing_orders import OrdersRestored
from orchestrator.gate.execute.recovery import MARK, SETTLED, TIMER
from orchestrator.reports.erasure import erase
from orchestrator.reports.erasure.erase import ErasureFiles
from orchestrator.reports.erasure.trace_search import OPS
from orchestrator.runs.ending import build_restored_row
from orchestrator.runs.limits import RETRY
from orchestrator.sessions.input_filter import build_system_row
from state.clock import Clock, format_iso, generate_id
from state.events.base import Event
from state.events.calls import CallOutcomeUnknown
from state.events.orders import OrderPaused, list_orders
from state.events.runs import WHOLE, RunWaits, RunWoken, preview_run
from state.events.schedules import SchedulePaused, list_schedules
from state.events.transfer import BackupRestored
from state.journal import order_index
from state.journal.journal import load_state, to_lease_key, to_stream
from state.journal.run_index import PREFIX, RunFilter, build_run_row
from state.journal.schedule_index import build_timer, iterate_timers
from state.journal.store import Commit, EffectChange, StoreError, Timer
from state.sql.checksummed_json import DamagedRow
from state.sql.dialect import Dialect
from state.sql.run_index import rebuild_run_index
from state.sql.store import SqlStore
from state.transfer.manifest import BackupHeader, ErasedPerson
from state.transfer.restore import SetAside, expire_leases, list_retries, list_running_calls, mark_cards, record_restore, set_aside

DETAIL = "a backup was restored: whether it was sent after the backup was made nobody here knows"
PAGE = 500
_LEASE = timedelta(seconds=60)


@dataclass(frozen=True, kw_only=True)
class UncertainCall:
    """It may have run after the backup was made."""

    effect_id: str
    session: str
    method: str
    status: str
    """In the backup."""
    at: str


@dataclass(frozen=True, kw_only=True)
class RestoreReport:
    """What was changed, and what operators should look at."""

    cards: Sequence[str]
    unknown: Sequence[UncertainCall]
    inputs: Sequence[SetAside]
    damaged: Sequence[str]
    """Effects with a damaged row, on which the bot never acts."""
    runs: Sequence[str]
    """Paused, by key; each asks its owner whether it goes on."""
    schedules: Sequence[str]
    """Paused, by id; their chats are asked which go on."""
    orders: Sequence[str]
    """Paused, as schedules are."""
    erased: Mapping[str, int]
    """Erased again → places where their text was still found."""


def prepare_restored(
    dialect: Dialect, header: BackupHeader, gone: Sequence[ErasedPerson], place: ErasureFiles, *, by: str, clock: Clock
) -> RestoreReport:
    """Before the database is in its place. Raises StoreError.

    Those of `gone` whom the backup brought back are erased again; `by` restores.
    """
    store, now = SqlStore(dialect), clock.now()
    at = format_iso(now)
    with dialect.engine.begin() as connection:
        expire_leases(connection)
        inputs = set_aside(connection)
        cards, damaged = mark_cards(connection, header.made_at)
        doubtful = list_running_calls(connection)
        retries = list_retries(connection)
        record_restore(connection, made_at=header.made_at, at=at)
    rebuild_run_index(dialect)
    for row_id, key in retries:
        _begin_again(store, row_id, key, clock)
    paused = list(_pause_runs(store, header.made_at, clock))
    schedules, orders = list(_pause_schedules(store, header.made_at, clock)), list(_pause_orders(store, header.made_at, clock))
    unknown = []
    for effect_id, stream in doubtful:
        try:
            unknown.append(_mark_unknown(store, effect_id, stream, clock))
        except DamagedRow:  # the bot never acts on such a row
            damaged.append(effect_id)
    erased = {person: _erase_again(store, person, place, now=now, by=by) for person in _find_revived(store, gone)}
    backup_restored = BackupRestored(
        backup=header.id, made_at=header.made_at, by=by, cards=len(cards), unknown=len(unknown), set_aside=len(inputs)
    )
    _commit(store, f"session:{OPS}", backup_restored, now=now, actor=by)
    return RestoreReport(
        cards=cards, unknown=unknown, inputs=inputs, damaged=damaged, erased=erased, runs=paused, schedules=schedules, orders=orders
    )


def _begin_again(store: SqlStore, row_id: str, key: str, clock: Clock) -> None:
    """As its parent ordered; so it is paused with the others."""
    state, _ = load_state(store, key)
    event, now = RunWoken(node=WHOLE, by=RETRY), clock.now()
    after = preview_run(state.run, [(type(event).__name__, event.model_dump(mode="json"), format_iso(now))])
    if state.run is None or after is None or state.run.status not in {"failed", "cancelled"}:
        return  # it goes on, or is done: the order changes nothing, and is handled when the bot starts
    _commit(store, key, event, now=now, actor="system", run=build_run_row(key, after), inbox_done=[row_id])


def _pause_runs(store: SqlStore, made_at: str, clock: Clock) -> Iterator[str]:
    """By key. Each may have gone on after the backup, so its owner decides."""
    known = RunFilter(statuses=("paused",), limit=PAGE)
    while page := store.list_runs(known):
        store.put_inbox([build_restored_row(PREFIX + row.run_id, made_at, clock.now()) for row in page])
        yield from (PREFIX + row.run_id for row in page)
        known = replace(known, after=(page[-1].started_at, page[-1].run_id))
    place = RunFilter(statuses=("running", "waiting"), limit=PAGE)
    while page := store.list_runs(place):
        for row in page:
            yield _pause_run(store, PREFIX + row.run_id, made_at, clock)


def _pause_run(store: SqlStore, key: str, made_at: str, clock: Clock) -> str:
    now = clock.now()
    state, _ = load_state(store, key)
    event = RunWaits(node=WHOLE, on="pause", by="system")
    after = preview_run(state.run, [(type(event).__name__, event.model_dump(mode="json"), format_iso(now))])
    if after is None:
        raise StoreError(f"{key} is listed and was never begun: the backup is damaged")
    _commit(store, key, event, now=now, actor="system", run=build_run_row(key, after), inbox_new=[build_restored_row(key, made_at, now)])
    return key


def _pause_schedules(store: SqlStore, made_at: str, clock: Clock) -> Iterator[str]:
    """By id. Moments since the backup may have had runs, so chats are asked."""
    homes = sorted({timer.session for timer in iterate_timers(store)})
    for home in homes:
        stream = to_stream(home)
        state, seq = load_state(store, stream)
        for schedule, entry in list_schedules(state).items():
            if entry.status == "paused":
                continue
            now, event = clock.now(), SchedulePaused(schedule=schedule, why="restored")
            timer = build_timer(schedule, entry, [event], home=home, now=now, seq=seq)
            _commit(store, stream, event, now=now, actor="system", timers=[timer])
            seq += 1
            yield schedule
        body = SchedulesRestored(made_at=made_at)
        source = f"{SchedulesRestored.KIND}:{home}:{format_iso(clock.now())}"
        store.put_inbox([build_system_row(SchedulesRestored.KIND, home, source, clock.now(), body=body.to_json())])


def _pause_orders(store: SqlStore, made_at: str, clock: Clock) -> Iterator[str]:
    """By id. What they told since the backup is not known, so their people are asked."""
    for home in sorted({timer.session for timer in order_index.iterate_timers(store)}):
        stream = to_stream(home)
        state, seq = load_state(store, stream)
        for order, entry in list_orders(state).items():
            if entry.status == "paused":
                continue
            now, event = clock.now(), OrderPaused(order=order, why="restored")
            timer = order_index.build_timer(order, entry, [event], home=home, now=now, seq=seq)
            _commit(store, stream, event, now=now, actor="system", timers=[timer])
            seq += 1
            yield order
        source = f"{OrdersRestored.KIND}:{home}:{format_iso(clock.now())}"
        body = OrdersRestored(made_at=made_at).to_json()
        store.put_inbox([build_system_row(OrdersRestored.KIND, home, source, clock.now(), body=body)])


def _mark_unknown(store: SqlStore, effect_id: str, stream: str, clock: Clock) -> UncertainCall:
    row = store.find_effect(effect_id)
    if row is None or "call" not in row.call:
        raise StoreError(f"effect {effect_id} of {stream} is under way and has no call: the backup is damaged")
    stored, call, now = row.call, row.call["call"], clock.now()
    event = CallOutcomeUnknown(
        effect_id=effect_id,
        turn_id=stored["turn_id"],
        slot=stored["slot"],
        method=call["method"],
        call_class="".join(call["classes"]),
        detail=DETAIL,
        confirmation_id=stored["confirmation_id"],
    )
    new_call = {**stored, "started_at": stored.get("started_at") or format_iso(row.updated_at), MARK: clock.mark()}
    change = EffectChange(effect_id=effect_id, expect=("approved", "started"), status="unknown", call=new_call)
    session = to_lease_key(stream)
    look = Timer(id=f"{TIMER}:{effect_id}", due_at=now + SETTLED, session=session, kind=TIMER, body={"effect_id": effect_id})
    _commit(store, stream, event, now=now, actor="system", effects=[change], timers=[look])
    return UncertainCall(effect_id=row.effect_id, session=session, method=call["method"], status=row.status, at=format_iso(row.updated_at))


def _find_revived(store: SqlStore, gone: Sequence[ErasedPerson]) -> list[str]:
    """Their key is in the backup, so their data can be read again."""
    live = {row.key_id: row.person for row in store.open_erasure().list_keys() if not row.erased_at}
    return sorted({live[erased_person.key_id] for erased_person in gone if erased_person.key_id in live})


def _erase_again(store: SqlStore, person: str, place: ErasureFiles, *, now: datetime, by: str) -> int:
    done = erase.erase_person(store, erase.inspect_person(store, person, place), place, now=now, by=by)
    return len(done.remains)


def _commit(store: SqlStore, stream: str, event: Event, *, now: datetime, actor: str, **more: Any) -> None:
    lease = store.acquire(to_lease_key(stream), f"restore {generate_id()}", now, now + _LEASE)
    if lease is None:
        raise StoreError(f"somebody works on {stream} while the backup is restored")
    try:
        store.commit(Commit(stream=stream, epoch=lease.epoch, actor=actor, now=now, events=[event], **more))
    finally:
        store.release(lease)

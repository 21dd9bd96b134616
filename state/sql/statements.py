"""All SQL statements of the store. Parameters `at_…` are compared, all others written."""

from functools import partial
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Integer,
    LargeBinary,
    Table,
    and_,
    bindparam,
    case,
    cast,
    delete,
    exists,
    func,
    literal_column,
    or_,
    select,
    tuple_,
    update,
)

from state.journal.process_lease import PREFIX as PROCESS
from state.journal.run_index import RunRow
from state.journal.store import StaleEpoch
from state.sql.database import Statement, build_insert, compile_statement
from state.sql.definitions import DefinitionStatements
from state.sql.dialect import Dialect
from state.sql.rules import EFFECT, Rules
from state.sql.tables import (
    LIVE,
    blobs,
    deliveries,
    effects,
    events,
    inbox,
    leases,
    mentions,
    outbox,
    person_keys,
    runs,
    snapshots,
    timers,
    values,
)

EVENT = ("stream", "seq", "id", "ts", "type", "v", "actor", "data", "hash")
INBOX = ("id", "source", "session", "lane", "kind", "actor", "body", "received_at", "status", "attempts")
OUTBOX = ("id", "session", "channel", "kind", "body", "key", "created_at", "status", "attempts", "due_at")
MENTION = ("about", "what", "event_id", "effect_id")
TIMER = ("id", "due_at", "session", "kind", "body")
RUN = RunRow._fields
KEY = ("key_id", "person", "secret", "created_at", "erased_at")
NEW: ColumnElement[str] = literal_column("'new'")
REPLACED: ColumnElement[str] = literal_column("'replaced'")
"""Literals: only so a cached plan uses the partial index."""


SWITCH_LOCK = 0x5DE1CF
"""Shared to start a write to the portal, exclusive to stop all."""
_COMPILED: dict[tuple[Any, ...], "Statements"] = {}


def compile_statements(dialect: Dialect) -> "Statements":
    """Compiling takes 30 ms, once per process."""
    spoken = dialect.engine.dialect
    key = (type(spoken), spoken.paramstyle, getattr(spoken, "server_version_info", None))
    if key not in _COMPILED:
        _COMPILED[key] = Statements(dialect)
    return _COMPILED[key]


def _is_owner_dead() -> ColumnElement[bool]:
    """The holder's process let its own lease end by `at_now`; see `process_lease`."""
    process = leases.alias("process")
    its_own = process.c.session == literal_column(f"'{PROCESS}' || leases.owner")  # as text: no table to select from, but the row in hand
    return exists().where(its_own, process.c.until <= bindparam("at_now"))


class Statements:
    def __init__(self, dialect: Dialect) -> None:
        self._compile = partial(compile_statement, dialect.engine.dialect)  # not the engine: they outlive their store
        self._insert = dialect.insert
        self._locks = dialect.batches_commits
        self._scan: dict[tuple[int, bool], Statement] = {}
        self._secrets: dict[int, Statement] = {}
        self._effects_of: dict[int, Statement] = {}
        self._runs: dict[tuple[tuple[str, ...], int], Statement] = {}
        # SQLite accepts any bytes as text; one key that cannot be decoded must not prevent reading with the other keys.
        self._secret = cast(person_keys.c.secret, LargeBinary) if dialect.engine.dialect.name == "sqlite" else person_keys.c.secret
        self._add_journal()
        self._add_inbox()
        self._add_outbox()
        self._add_effects()
        self._add_record_index()
        self._add_leases()
        self._add_small_tables()
        self.rules = Rules(self._compile, self._insert)
        self.definitions = DefinitionStatements(self._compile, self._insert)

    def build_scan(self, types: int, *, back: bool = False) -> Statement:
        """In order of id, or with `back` the newest first; `types` is how many, 0 for all."""
        if (types, back) not in self._scan:
            at_id: ColumnElement[str] = bindparam("at_id")
            query = select(*_list_columns(events, EVENT)).where(events.c.id < at_id if back else events.c.id > at_id)
            if types:
                places: list[ColumnElement[str]] = [bindparam(f"at_{number}") for number in range(types)]
                query = query.where(events.c.type.in_(places))
            order = events.c.id.desc() if back else events.c.id
            self._scan[types, back] = self._compile(query.order_by(order).limit(bindparam("at_most")))
        return self._scan[types, back]

    def build_effects_of(self, ids: int) -> Statement:
        """For so many ids: at_0, at_1 and so on."""
        if ids not in self._effects_of:
            places: list[ColumnElement[str]] = [bindparam(f"at_{number}") for number in range(ids)]
            self._effects_of[ids] = self._compile(select(*_list_columns(effects, EFFECT)).where(effects.c.effect_id.in_(places)))
        return self._effects_of[ids]

    def build_secrets(self, keys: int) -> Statement:
        """Bytes on SQLite, text on PostgreSQL, empty if erased."""
        if keys not in self._secrets:
            places: list[ColumnElement[str]] = [bindparam(f"at_{number}") for number in range(keys)]
            self._secrets[keys] = self._compile(select(person_keys.c.key_id, self._secret).where(person_keys.c.key_id.in_(places)))
        return self._secrets[keys]

    def build_runs(self, names: tuple[str, ...], statuses: int) -> Statement:
        """Filter by the columns `names` and so many statuses."""
        key = names, statuses
        if key not in self._runs:
            query = select(*_list_columns(runs, RUN)).where(runs.c.updated_at < bindparam("at_before"))
            started: ColumnElement[str] = bindparam("at_started")
            run_id: ColumnElement[str] = bindparam("at_after")
            is_older = runs.c.started_at < started
            query = query.where(or_(is_older, and_(runs.c.started_at == started, runs.c.run_id < run_id)))
            query = query.where(*(runs.c[name] == bindparam(f"at_{name}") for name in names))
            if statuses:
                places: list[ColumnElement[str]] = [bindparam(f"at_{number}") for number in range(statuses)]
                query = query.where(runs.c.status.in_(places))
            order = runs.c.started_at.desc(), runs.c.run_id.desc()
            self._runs[key] = self._compile(query.order_by(*order).limit(bindparam("at_most")))
        return self._runs[key]

    def _add_journal(self) -> None:
        self.add_event = self._compile(build_insert(events, EVENT), StaleEpoch)
        self.events_from = self._compile(
            select(*_list_columns(events, EVENT))
            .where(events.c.stream == bindparam("at_stream"), events.c.seq >= bindparam("at_seq"))
            .order_by(events.c.seq)
            .limit(bindparam("at_most"))
        )
        live = and_(person_keys.c.person == bindparam("at_person"), LIVE)
        self.add_key = self._compile(self._insert(person_keys).values({name: bindparam(name) for name in KEY}).on_conflict_do_nothing())
        self.live_key = self._compile(select(person_keys.c.key_id, person_keys.c.secret).where(live))
        self.head = self._compile(select(leases.c.seq, leases.c.hash).where(leases.c.session == bindparam("at_session")))
        self.heads = self._compile(select(leases.c.session, leases.c.seq, leases.c.hash).where(leases.c.seq > 0).order_by(leases.c.session))
        is_run = func.substr(leases.c.session, 1, 4) == literal_column("'run:'")  # see state.journal.journal
        stream: ColumnElement[str] = case((is_run, leases.c.session), else_=literal_column("'session:'").concat(leases.c.session))
        last = and_(events.c.stream == stream, events.c.seq == leases.c.seq)
        self.ends = self._compile(select(events.c.stream, events.c.seq, events.c.ts).select_from(leases.join(events, last)))

    def _add_inbox(self) -> None:
        new = self._insert(inbox).values({name: bindparam(name) for name in (*INBOX, "note")})
        self.add_inbox = self._compile(new.on_conflict_do_nothing(index_elements=["source"]))
        self.set_inbox = self._compile(
            new.on_conflict_do_update(
                index_elements=["source"],
                set_={"body": new.excluded.body, "attempts": new.excluded.attempts},
                where=inbox.c.status == NEW,
            )
        )
        new = select(inbox.c.session, inbox.c.lane).where(inbox.c.status == NEW)
        leased = exists().where(
            leases.c.session == inbox.c.session,
            leases.c.owner.not_in(["", bindparam("at_owner")]),
            leases.c.until > bindparam("at_now"),
            ~_is_owner_dead(),
        )
        self.ready = self._compile(new.group_by(inbox.c.session, inbox.c.lane).order_by(func.min(inbox.c.pos)))
        self.ready_for = self._compile(new.where(~leased).group_by(inbox.c.session, inbox.c.lane).order_by(func.min(inbox.c.pos)))
        oldest = (
            select(func.min(inbox.c.pos))
            .where(inbox.c.session == bindparam("at_session"), inbox.c.lane == bindparam("at_lane"), inbox.c.status == NEW)
            .scalar_subquery()
        )
        self.next_inbox = self._compile(
            update(inbox).where(inbox.c.pos == oldest).values(attempts=inbox.c.attempts + 1).returning(*_list_columns(inbox, INBOX))
        )
        waiting = select(*_list_columns(inbox, INBOX)).where(
            inbox.c.session == bindparam("at_session"), inbox.c.lane == bindparam("at_lane"), inbox.c.status == NEW
        )
        self.waiting_inbox = self._compile(waiting.order_by(inbox.c.pos).limit(bindparam("at_most")))
        self.input_of = self._compile(select(*_list_columns(inbox, INBOX)).where(inbox.c.source == bindparam("at_source")))
        tried = and_(inbox.c.id == bindparam("at_id"), inbox.c.status == "new", inbox.c.attempts > 0)
        self.give_back = self._compile(update(inbox).where(tried).values(attempts=inbox.c.attempts - 1))
        self.finish_inbox = self._compile(
            update(inbox).where(inbox.c.id == bindparam("at_id")).values(status=bindparam("status"), note=bindparam("note"))
        )

    def _add_outbox(self) -> None:
        self.add_outbox = self._compile(build_insert(outbox, (*OUTBOX, "note")))
        waiting = exists().where(outbox.c.session == bindparam("session"), outbox.c.key == bindparam("key"), outbox.c.status == NEW)
        names = (*OUTBOX, "note")
        new = select(*(bindparam(name, type_=outbox.c[name].type) for name in names)).where(~waiting.correlate(None))
        self.add_first_with_key = self._compile(outbox.insert().inline().from_select(names, new))
        mine = and_(outbox.c.session == bindparam("at_session"), outbox.c.key == bindparam("at_key"))
        self.put_with_key = self._compile(_build_replacement(names)) if self._locks else None
        """None on SQLite, which needs several statements."""
        self.unsent_with_key = self._compile(select(outbox.c.pos, outbox.c.id).where(mine, outbox.c.status == NEW).with_for_update())
        self.replace_outbox = self._compile(
            update(outbox).where(outbox.c.pos == bindparam("at_pos")).values({name: bindparam(name) for name in OUTBOX})
        )
        unsent, earlier = outbox.alias("unsent"), outbox.alias("earlier")
        # A row that was never tried is due at once: if the clock was set back, it need not wait until its time comes again.
        made_in_a_future = and_(unsent.c.attempts == 0, unsent.c.created_at > bindparam("at_now"))
        before = exists().where(earlier.c.session == unsent.c.session, earlier.c.status == NEW, earlier.c.pos < unsent.c.pos)
        # The inner query reads an index alone: hundreds may wait for another channel, or for their next attempt.
        due = (
            select(unsent.c.pos)
            .where(unsent.c.status == NEW, unsent.c.channel == bindparam("at_channel"), ~before)
            .where(or_(unsent.c.due_at <= bindparam("at_now"), made_in_a_future))
        )
        self.due_outbox = self._compile(
            select(*_list_columns(outbox, OUTBOX), func.coalesce(deliveries.c.sent_ref, ""))
            .outerjoin(deliveries, and_(deliveries.c.session == outbox.c.session, deliveries.c.key == outbox.c.key))
            .where(outbox.c.pos.in_(due))
            .order_by(outbox.c.pos)
            .limit(bindparam("at_most"))
        )
        self._add_deliveries()

    def _add_deliveries(self) -> None:
        by_id = outbox.c.id == bindparam("at_id")
        self.lock_outbox = self._compile(select(outbox.c.pos).where(by_id).with_for_update()) if self._locks else None
        """Waits for a commit that is replacing the row; None on SQLite."""
        sent = select(outbox.c.session, outbox.c.key, bindparam("sent_ref", type_=outbox.c.id.type)).where(by_id, outbox.c.key != "")
        delivery = self._insert(deliveries).from_select(["session", "key", "sent_ref"], sent)
        self.keep_delivery = self._compile(
            delivery.on_conflict_do_update(index_elements=["session", "key"], set_={"sent_ref": delivery.excluded.sent_ref})
        )
        self.drop_outbox = self._compile(delete(outbox).where(by_id))
        newest = outbox.alias("newest")
        is_newest = and_(newest.c.id == bindparam("at_id"), newest.c.status != REPLACED, newest.c.key != "")
        same_key = tuple_(outbox.c.session, outbox.c.key).in_(select(newest.c.session, newest.c.key).where(is_newest))
        self.drop_replaced = self._compile(delete(outbox).where(outbox.c.status == REPLACED, same_key))
        self.where_sent = self._compile(
            select(deliveries.c.sent_ref).where(deliveries.c.session == bindparam("at_session"), deliveries.c.key == bindparam("at_key"))
        )
        unsent = and_(by_id, outbox.c.status == NEW)
        tried = {"attempts": outbox.c.attempts + 1, "note": bindparam("note")}
        self.outbox_retry = self._compile(update(outbox).where(unsent).values(**tried, due_at=bindparam("due_at")))
        self.outbox_failed = self._compile(update(outbox).where(unsent).values(**tried, status="failed"))

    def _add_effects(self) -> None:
        self.effect = self._compile(select(*_list_columns(effects, EFFECT)).where(effects.c.effect_id == bindparam("at_effect_id")))
        self.effects = self._compile(
            select(*_list_columns(effects, EFFECT))
            .where(effects.c.stream == bindparam("at_stream"), effects.c.status == bindparam("at_status"))
            .order_by(effects.c.updated_at, effects.c.effect_id)
        )
        # the inner query reads an index alone, and not the rows, which are long
        ids = select(effects.c.effect_id).where(effects.c.status == bindparam("at_status")).limit(bindparam("at_most"))
        self.effects_in = self._compile(
            select(*_list_columns(effects, EFFECT)).where(effects.c.effect_id.in_(ids)).order_by(effects.c.updated_at, effects.c.effect_id)
        )

    def _add_record_index(self) -> None:
        self.add_mention = self._compile(build_insert(mentions, MENTION))
        index_entries = select(*_list_columns(mentions, MENTION)).where(
            mentions.c.about == bindparam("at_about"), mentions.c.what == bindparam("at_what")
        )
        later = index_entries.where(mentions.c.event_id > bindparam("at_id")).order_by(mentions.c.event_id)
        self.mentions = self._compile(later.limit(bindparam("at_most")))
        about = and_(mentions.c.about == bindparam("at_about"), mentions.c.what == literal_column("'call'"))
        calls = select(mentions.c.effect_id).where(about, mentions.c.event_id > bindparam("at_id"))
        self.calls_about = self._compile(calls.order_by(mentions.c.event_id.desc()).limit(bindparam("at_most")))
        self.last_mentions = self._compile(index_entries.order_by(mentions.c.event_id.desc()).limit(bindparam("at_most")))

    def _add_leases(self) -> None:
        new = self._insert(leases).values(
            session=bindparam("session"), owner=bindparam("owner"), epoch=1, until=bindparam("until"), seq=0, hash=""
        )
        same = leases.c.owner == new.excluded.owner
        free = or_(leases.c.owner == "", leases.c.until <= bindparam("at_now"), _is_owner_dead())
        self.acquire = self._compile(
            new.on_conflict_do_update(
                index_elements=["session"],
                set_={
                    "owner": new.excluded.owner,
                    "until": new.excluded.until,
                    "epoch": leases.c.epoch + case((same, 0), else_=1),
                },
                where=or_(same, free),
            ).returning(leases.c.epoch)
        )
        self.void_leases = self._compile(update(leases).values(owner=""))
        self.release = self._compile(
            update(leases)
            .where(leases.c.session == bindparam("at_session"))
            .where(leases.c.owner == bindparam("at_owner"), leases.c.epoch == bindparam("at_epoch"))
            .values(owner="")
        )

    def _add_small_tables(self) -> None:
        self.set_timer = self._compile(self._upsert(timers, TIMER))
        self.drop_timer = self._compile(delete(timers).where(timers.c.id == bindparam("at_id")))
        self.due_timers = self._compile(
            select(*_list_columns(timers, TIMER))
            .where(timers.c.due_at <= bindparam("at_now"))
            .order_by(timers.c.due_at, timers.c.id)
            .limit(bindparam("at_most"))
        )
        self.kind_timers = self._compile(
            select(*_list_columns(timers, TIMER))
            .where(timers.c.kind == bindparam("at_kind"), timers.c.id > bindparam("at_after"))
            .order_by(timers.c.id)
            .limit(bindparam("at_most"))
        )
        self.timer = self._compile(select(*_list_columns(timers, TIMER)).where(timers.c.id == bindparam("at_id")))
        self.set_run = self._compile(self._upsert(runs, RUN))
        self.drop_run = self._compile(delete(runs).where(runs.c.run_id == bindparam("at_run")))
        self.drop_snapshot = self._compile(delete(snapshots).where(snapshots.c.stream == bindparam("at_stream")))
        own = func.substr(blobs.c.content, 1, bindparam("at_length", type_=Integer)) == bindparam("at_prefix")
        self.drop_own_blob = self._compile(delete(blobs).where(blobs.c.digest == bindparam("at_digest"), own))
        self.set_snapshot = self._compile(self._upsert(snapshots, ("stream", "seq", "state")))
        self.snapshot = self._compile(select(snapshots.c.seq, snapshots.c.state).where(snapshots.c.stream == bindparam("at_stream")))
        self.add_blob = self._compile(
            self._insert(blobs)
            .values(digest=bindparam("digest"), content=bindparam("content"))
            .on_conflict_do_nothing(index_elements=["digest"])
        )
        self.blob = self._compile(select(blobs.c.content).where(blobs.c.digest == bindparam("at_digest")))
        self.set_value = self._compile(self._upsert(values, ("key", "value")))
        self.value = self._compile(select(values.c.value).where(values.c.key == bindparam("at_key")))
        self.add_value = self._compile(
            self._insert(values).values(key=bindparam("key"), value=bindparam("value")).on_conflict_do_nothing(index_elements=["key"])
        )
        self._add_counts()
        alone, shared = func.pg_advisory_xact_lock(SWITCH_LOCK), func.pg_advisory_xact_lock_shared(SWITCH_LOCK)
        self.lock_switch = self._compile(select(alone)) if self._locks else None
        self.share_switch = self._compile(select(shared)) if self._locks else None
        """None on SQLite, where a writing transaction is exclusive anyway."""
        self.swap_value = self._compile(
            update(values)
            .where(values.c.key == bindparam("at_key"), values.c.value == bindparam("at_value"))
            .values(value=bindparam("value"))
        )

    def _add_counts(self) -> None:
        number: ColumnElement[int] = cast(func.coalesce(func.sum(cast(values.c.value, BigInteger)), 0), BigInteger)
        between = and_(values.c.key >= bindparam("at_first"), values.c.key <= bindparam("at_last"))
        here = select(func.count()).select_from(values)
        is_held = here.where(values.c.key == bindparam("at_key")).scalar_subquery()
        is_other = here.where(values.c.key == bindparam("at_other")).scalar_subquery()
        self.begun = self._compile(select(is_held, is_other, number).where(between))
        older = and_(values.c.key > bindparam("at_first"), values.c.key < bindparam("at_gone"))
        self.drop_values = self._compile(delete(values).where(older))

    def _upsert(self, table: Table, names: tuple[str, ...], keys: int = 1) -> Any:
        new = self._insert(table).values({name: bindparam(name) for name in names})
        return new.on_conflict_do_update(index_elements=names[:keys], set_={name: new.excluded[name] for name in names[keys:]})


def _build_replacement(names: tuple[str, ...]) -> Any:
    """The replaced row gets a new place, with its old id."""
    mine = and_(outbox.c.session == bindparam("session"), outbox.c.key == bindparam("key"), outbox.c.status == NEW)
    old = select(outbox.c.pos, outbox.c.id).where(mine).with_for_update().cte("old")
    changed = update(outbox).where(outbox.c.pos == old.c.pos).values({name: bindparam(name) for name in OUTBOX})
    moved = changed.returning(old.c.id.label("id")).cte("moved")
    new_values = {name: bindparam(name, type_=outbox.c[name].type) for name in names}
    gone = {"id": moved.c.id, "status": REPLACED, "body": literal_column("'{}'")}
    replaced = select(*({**new_values, **gone}[name] for name in names)).select_from(moved)
    added = select(*new_values.values()).where(~exists(select(moved.c.id)))
    return outbox.insert().inline().from_select(names, replaced.union_all(added))


def _list_columns(table: Table, names: tuple[str, ...]) -> list[ColumnElement[Any]]:
    return [table.c[name] for name in names]

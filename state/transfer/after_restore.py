"""Changes a restored database, so that nothing is done twice; without events."""

from dataclasses import dataclass

import orjson
from sqlalchemy import Connection, and_, or_, select, update

from state.events.runs import RunStarted
from state.journal.restored_rows import RESTORED, RESTORED_CARD, SET_ASIDE
from state.sql import row_mapping
from state.sql.checksummed_json import DamagedRow, decode_checksummed, encode_checksummed
from state.sql.tables import effects, events, inbox, leases, values

NOTE = "came back with a backup: it may have been worked on since"


NEWS_OF_RUNS = (
    "run_play",
    "run_child_end",
    "run_message",
    "run_question",
    "run_owner_gone",
    "run_forget",
    "run_engine_back",
    "schedules_restored",
)
ANSWERS_TO_RUNS = ("run_answer", "run_file")
"""A paused run takes none: it has the chat listen again."""
_IS_RETRY = and_(inbox.c.kind == "run_order", inbox.c.source.like("retry:run:%"))


@dataclass(frozen=True, kw_only=True)
class SetAside:
    """Marked by many `attempts`, so that it is not handled again."""

    session: str
    kind: str
    received_at: str


def expire_leases(connection: Connection) -> None:
    connection.execute(update(leases).values(owner=""))


def set_aside(connection: Connection) -> list[SetAside]:
    """Mark waiting inbox rows that may have been handled since; their senders are asked to check.

    What runs need to go on stays.
    """
    begun = and_(inbox.c.kind == "run_start", inbox.c.session.in_(select(events.c.stream).where(events.c.type == RunStarted.__name__)))
    of_runs = or_(inbox.c.kind.in_((*NEWS_OF_RUNS, *ANSWERS_TO_RUNS)), begun, _IS_RETRY)
    harmless = or_(inbox.c.kind == "timer", inbox.c.session.like("portal:%"), of_runs)
    waiting = and_(inbox.c.status == "new", inbox.c.attempts < SET_ASIDE, ~harmless)
    rows = connection.execute(select(inbox.c.session, inbox.c.kind, inbox.c.received_at).where(waiting).order_by(inbox.c.pos))
    rows_set_aside = [SetAside(session=session, kind=kind, received_at=at) for session, kind, at in rows]
    connection.execute(update(inbox).where(waiting).values(attempts=inbox.c.attempts + SET_ASIDE, note=NOTE))
    return rows_set_aside


def list_retries(connection: Connection) -> list[tuple[str, str]]:
    """Return (id, session of the child); the parent then waits for the child."""
    waiting = and_(inbox.c.status == "new", _IS_RETRY)
    return [(row_id, session) for row_id, session in connection.execute(select(inbox.c.id, inbox.c.session).where(waiting))]


def mark_cards(connection: Connection, made_at: str) -> tuple[list[str], list[str]]:
    """Return the effect ids marked and those damaged; `made_at` is ISO."""
    waiting = select(effects.c.effect_id, effects.c.call).where(effects.c.status == "requested").order_by(effects.c.effect_id)
    cards, damaged = [], []
    for effect_id, text in connection.execute(waiting).all():
        place = row_mapping.build_call_place(effect_id)
        try:
            known = decode_checksummed(place, text)  # a card that came back before may have run since the first backup
            call = {
                **known,
                RESTORED_CARD: min(made_at, str(known.get(RESTORED_CARD, made_at))),
            }
        except DamagedRow:  # a damaged call can never run
            damaged.append(effect_id)
            continue
        connection.execute(update(effects).where(effects.c.effect_id == effect_id).values(call=encode_checksummed(place, call)))
        cards.append(effect_id)
    return cards, damaged


def list_running_calls(connection: Connection) -> list[tuple[str, str]]:
    """Return (effect id, stream): nobody knows whether they ran."""
    doubtful = select(effects.c.effect_id, effects.c.stream).where(effects.c.status.in_(("approved", "started")))
    return [(effect_id, stream) for effect_id, stream in connection.execute(doubtful.order_by(effects.c.updated_at))]


def record_restore(connection: Connection, *, made_at: str, at: str) -> None:
    """Channels may deliver old inputs a second time."""
    value = orjson.dumps({"made_at": made_at, "restored_at": at}).decode()
    connection.execute(values.delete().where(values.c.key == RESTORED))
    connection.execute(values.insert().values(key=RESTORED, value=value))

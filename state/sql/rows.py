"""Between the store's records and the database's rows (ring 1): moments and JSON become text and come back."""

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from state import canonical, event_data, sealing
from state.clock import iso, parse_iso
from state.journal import RecordHead, record_text
from state.sealing import DamagedSeal
from state.sql.database import Params, Row
from state.sql.vouched import trusted
from state.store import ClearEvent, EffectRow, InboxRow, OutboxRow, Snapshot, StoredEvent, StoreError, Timer

LONGEST_SOURCE = 500
_SEALED = f'"{sealing.FIELD}":"'


def event_params(event: StoredEvent, data: str) -> Params:
    """An event on its way in; `data` is the text inside its `raw`."""
    return {
        "stream": event.stream,
        "seq": event.seq,
        "id": event.id,
        "ts": event.ts,
        "type": event.type,
        "v": event.v,
        "actor": event.actor,
        "data": data,
        "hash": event.hash,
    }


def place(head: RecordHead) -> str:
    """What the sealed text of a record is bound to, and how an error names it."""
    return f"{head.stream} seq {head.seq} ({head.id})"


def key_ids(found: Iterable[Row]) -> set[str]:
    """The keys that these rows of the journal need to be read."""
    needed = set()
    for row in found:
        # Ours is the only place where the field's name can stand unescaped before a text; a miss would be told, not overlooked.
        _, mark, rest = row[7].partition(_SEALED)
        if mark:
            needed.add(sealing.key_id(rest))
    return needed


def stored_event(row: Row, prev: str, secrets: Mapping[str, str]) -> StoredEvent:
    """An event as it was stored after the hash `prev`, its data in today's shape.

    UnknownEvent for a newer program's, DamagedSeal where its personal part is not as it was sealed. `secrets` by key id: an empty one
    is an erased person's.
    """
    head = RecordHead(*row[:7])
    data, hash_ = row[7:]
    clear, told = canonical.loads(data), {}
    text = clear.pop(sealing.FIELD, "")
    if text:
        secret = secrets.get(sealing.key_id(text))
        if secret is None:
            raise DamagedSeal(f"the sealed text of {place(head)} names a key that was never made")
        if secret != sealing.ERASED:
            told = canonical.loads(sealing.opened(secret, text, place(head)))
    shown = event_data.joined(head.type, head.v, clear, told)
    raw = record_text(head, data)
    return StoredEvent(**head._asdict(), data=shown, raw=raw, prev=prev, hash=hash_, erased=bool(text) and not told)


def clear_event(row: Row) -> ClearEvent:
    """What of a record is readable without a key; StoreError where it is no JSON object."""
    head = RecordHead(*row[:7])
    try:
        data = orjson.loads(row[7])
        data.pop(sealing.FIELD, None)
    except (ValueError, AttributeError) as error:
        raise StoreError(f"the data of {place(head)} cannot be read") from error
    return ClearEvent(head.id, head.ts, head.type, head.actor, data)


def known_as(source: str) -> str:
    """The source as it is stored: a long one by its digest, since an index of PostgreSQL takes rows of some 2.7 KB only."""
    return source if len(source) <= LONGEST_SOURCE else f"{source[:64]}:sha256:{canonical.sha256(source)}"


def inbox_params(row: InboxRow) -> Params:
    """An input on its way in."""
    return {
        "id": row.id,
        "source": known_as(row.source),
        "session": row.session,
        "lane": row.lane,
        "kind": row.kind,
        "actor": canonical.dumps(row.actor),
        "body": canonical.dumps(row.body),
        "received_at": iso(row.received_at),
        "status": row.status,
        "attempts": row.attempts,
        "note": "",
    }


def inbox_row(row: Row) -> InboxRow:
    """An input as it was stored."""
    id_, source, session, lane, kind, actor, body, received_at, status, attempts = row
    return InboxRow(
        id=id_,
        source=source,
        session=session,
        lane=lane,
        kind=kind,
        actor=canonical.loads(actor),
        body=canonical.loads(body),
        received_at=parse_iso(received_at),
        status=status,
        attempts=attempts,
    )


def outbox_params(row: OutboxRow) -> dict[str, Any]:
    """A delivery on its way in."""
    return {
        "id": row.id,
        "session": row.session,
        "channel": row.channel,
        "kind": row.kind,
        "body": canonical.dumps(row.body),
        "key": row.key,
        "created_at": iso(row.created_at),
        "status": row.status,
        "attempts": row.attempts,
        "due_at": iso(row.due_at),
        "note": "",
    }


def outbox_row(row: Row) -> OutboxRow:
    """A delivery as it was stored; `sent_ref` is where its key was delivered last."""
    id_, session, channel, kind, body, key, created_at, status, attempts, due_at, sent_ref = row
    return OutboxRow(
        id=id_,
        session=session,
        channel=channel,
        kind=kind,
        body=canonical.loads(body),
        key=key,
        created_at=parse_iso(created_at),
        status=status,
        attempts=attempts,
        due_at=parse_iso(due_at),
        sent_ref=sent_ref,
    )


def call_of(effect_id: str) -> str:
    """What the digest of an effect's call is bound to, and how an error names it."""
    return f"the call of effect {effect_id}"


def outcome_of(effect_id: str) -> str:
    """The same for its outcome."""
    return f"the outcome of effect {effect_id}"


def effect_row(row: Row) -> EffectRow:
    """Where an effect stands; DamagedRow where its call or outcome is not as it was written."""
    effect_id, stream, status, fingerprint, call, updated_at, outcome = row
    return EffectRow(
        effect_id=effect_id,
        stream=stream,
        status=status,
        fingerprint=fingerprint,
        call=trusted(call_of(effect_id), call),
        updated_at=parse_iso(updated_at),
        outcome=None if outcome is None else trusted(outcome_of(effect_id), outcome),
    )


def timer_params(timer: Timer) -> Params:
    """A timer on its way in."""
    return {
        "id": timer.id,
        "due_at": iso(timer.due_at),
        "session": timer.session,
        "kind": timer.kind,
        "body": canonical.dumps(timer.body),
    }


def timer_row(row: Row) -> Timer:
    """A timer as it was stored."""
    id_, due_at, session, kind, body = row
    return Timer(id=id_, due_at=parse_iso(due_at), session=session, kind=kind, body=canonical.loads(body))


def snapshot_params(snapshot: Snapshot) -> Params:
    """A snapshot on its way in. Not canonical: the order of a state's keys says which of them came first."""
    return {"stream": snapshot.stream, "seq": snapshot.seq, "state": orjson.dumps(snapshot.state).decode()}

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import orjson

from state import canonical
from state.clock import format_iso, parse_iso
from state.events import codec
from state.journal import encryption
from state.journal.encryption import DamagedCiphertext
from state.journal.journal import RecordHead, record_text
from state.journal.store import ClearEvent, EffectRow, InboxRow, OutboxRow, Snapshot, StoredEvent, StoreError, Timer
from state.sql.checksummed_json import decode_checksummed
from state.sql.database import Params, Row

LONGEST_SOURCE = 500
_SEALED = f'"{encryption.FIELD}":"'


def to_event_params(event: StoredEvent, data: str) -> Params:
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


def build_place(head: RecordHead) -> str:
    """Identifies a record; its data is encrypted for this place."""
    return f"{head.stream} seq {head.seq} ({head.id})"


def collect_key_ids(rows: Iterable[Row]) -> set[str]:
    needed = set()
    for row in rows:
        # Stored texts hold this mark only escaped, so an unescaped one was inserted here; a missing key raises an error.
        _, mark, rest = row[7].partition(_SEALED)
        if mark:
            needed.add(encryption.parse_key_id(rest))
    return needed


def to_stored_event(row: Row, secrets: Mapping[str, str]) -> StoredEvent:
    """`secrets` is by key id, "" of an erased person.

    Raises UnknownEvent, DamagedCiphertext.
    """
    *columns, data, hash_ = row
    head = RecordHead._make(columns)
    clear, personal_data = canonical.loads(data), {}
    text = clear.pop(encryption.FIELD, "")
    if text:
        secret = secrets.get(encryption.parse_key_id(text))
        if secret is None:
            raise DamagedCiphertext(f"the sealed text of {build_place(head)} names a key that was never made")
        if secret != encryption.ERASED:
            personal_data = canonical.loads(encryption.decrypt(secret, text, build_place(head)))
    whole = codec.join_parts(head.type, head.v, clear, personal_data)
    return StoredEvent(*head, data=whole, raw=record_text(head, data), hash=hash_, erased=bool(text) and not personal_data)


def to_clear_event(row: Row) -> ClearEvent:
    """Raises StoreError if the data is no JSON object."""
    head = RecordHead(*row[:7])
    try:
        data = orjson.loads(row[7])
        data.pop(encryption.FIELD, None)
    except (ValueError, AttributeError) as error:
        raise StoreError(f"the data of {build_place(head)} cannot be read") from error
    return ClearEvent(head.id, head.ts, head.type, head.actor, data, head.stream)


def to_stored_source(source: str) -> str:
    """A long one is hashed: PostgreSQL's index takes about 2.7 KB."""
    return source if len(source) <= LONGEST_SOURCE else f"{source[:64]}:sha256:{canonical.hash_text(source)}"


def to_inbox_params(row: InboxRow) -> Params:
    return {
        "id": row.id,
        "source": to_stored_source(row.source),
        "session": row.session,
        "lane": row.lane,
        "kind": row.kind,
        "actor": canonical.dumps(row.actor),
        "body": canonical.dumps(row.body),
        "received_at": format_iso(row.received_at),
        "status": row.status,
        "attempts": row.attempts,
        "note": "",
    }


def to_inbox_row(row: Row) -> InboxRow:
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


def to_outbox_params(row: OutboxRow) -> dict[str, Any]:
    created_at = format_iso(row.created_at)
    return {
        "id": row.id,
        "session": row.session,
        "channel": row.channel,
        "kind": row.kind,
        "body": canonical.dumps(row.body),
        "key": row.key,
        "created_at": created_at,
        "status": row.status,
        "attempts": row.attempts,
        "due_at": created_at if row.due_at is row.created_at else format_iso(row.due_at),
        "note": "",
    }


def to_outbox_row(row: Row) -> OutboxRow:
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


def build_call_place(effect_id: str) -> str:
    """Part of the call's checksum, and shown in errors."""
    return f"the call of effect {effect_id}"


def build_outcome_place(effect_id: str) -> str:
    return f"the outcome of effect {effect_id}"


def to_effect_row(row: Row) -> EffectRow:
    """Raises DamagedRow."""
    effect_id, stream, status, fingerprint, call, updated_at, outcome = row
    return EffectRow(
        effect_id=effect_id,
        stream=stream,
        status=status,
        fingerprint=fingerprint,
        call=decode_checksummed(build_call_place(effect_id), call),
        updated_at=parse_iso(updated_at),
        outcome=None if outcome is None else decode_checksummed(build_outcome_place(effect_id), outcome),
    )


def to_timer_params(timer: Timer) -> Params:
    return {
        "id": timer.id,
        "due_at": format_iso(timer.due_at),
        "session": timer.session,
        "kind": timer.kind,
        "body": canonical.dumps(timer.body),
    }


def to_timer(row: Row) -> Timer:
    id_, due_at, session, kind, body = row
    return Timer(id=id_, due_at=parse_iso(due_at), session=session, kind=kind, body=canonical.loads(body))


def to_snapshot_params(snapshot: Snapshot) -> Params:
    """Not canonical: the state's keys keep their order."""
    return {"stream": snapshot.stream, "seq": snapshot.seq, "state": orjson.dumps(snapshot.state).decode()}


def to_readable_rows(claimed: Iterable[Row]) -> list[InboxRow]:
    readable = []
    for row in claimed:
        with suppress(ValueError):
            readable.append(to_inbox_row(row))
    return readable

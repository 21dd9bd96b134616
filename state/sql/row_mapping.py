"""Converts between the store's records and database rows: times and JSON become text and are parsed again."""

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
    """Convert an event to a row; `data` is the JSON text of its data as it is stored, with the personal part encrypted."""
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
    """Return the text that identifies a record by stream, seq and id. Its data is encrypted for this place, and error messages show it."""
    return f"{head.stream} seq {head.seq} ({head.id})"


def collect_key_ids(rows: Iterable[Row]) -> set[str]:
    """Return the ids of the encryption keys that are needed to read these journal rows."""
    needed = set()
    for row in rows:
        # Stored texts hold this mark only escaped, so an unescaped one was inserted here; a missing key raises an error.
        _, mark, rest = row[7].partition(_SEALED)
        if mark:
            needed.add(encryption.parse_key_id(rest))
    return needed


def to_stored_event(row: Row, prev: str, secrets: Mapping[str, str]) -> StoredEvent:
    """Build the event from a row, with its data converted to the newest version; `prev` is the hash of the record before it.

    Raises UnknownEvent for an event of a newer program, DamagedCiphertext if the personal part is damaged. `secrets` maps key ids to
    secrets; an empty one belongs to an erased person.
    """
    *columns, data, hash_ = row
    head = RecordHead._make(columns)
    clear, told = canonical.loads(data), {}
    text = clear.pop(encryption.FIELD, "")
    if text:
        secret = secrets.get(encryption.parse_key_id(text))
        if secret is None:
            raise DamagedCiphertext(f"the sealed text of {build_place(head)} names a key that was never made")
        if secret != encryption.ERASED:
            told = canonical.loads(encryption.decrypt(secret, text, build_place(head)))
    shown = codec.join_parts(head.type, head.v, clear, told)
    return StoredEvent(*head, data=shown, raw=record_text(head, data), prev=prev, hash=hash_, erased=bool(text) and not told)


def to_clear_event(row: Row) -> ClearEvent:
    """Return the part of a record that is readable without an encryption key. Raises StoreError if its data is not a JSON object."""
    head = RecordHead(*row[:7])
    try:
        data = orjson.loads(row[7])
        data.pop(encryption.FIELD, None)
    except (ValueError, AttributeError) as error:
        raise StoreError(f"the data of {build_place(head)} cannot be read") from error
    return ClearEvent(head.id, head.ts, head.type, head.actor, data, head.stream)


def to_stored_source(source: str) -> str:
    """Return the `source` (unique name) of an inbox row as stored: a long one is shortened to its beginning and a SHA-256.

    The reason is that PostgreSQL's index accepts only about 2.7 KB.
    """
    return source if len(source) <= LONGEST_SOURCE else f"{source[:64]}:sha256:{canonical.hash_text(source)}"


def to_inbox_params(row: InboxRow) -> Params:
    """Convert an InboxRow to the parameters of a row of the table `inbox`."""
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
    """Build an InboxRow from a row of the table `inbox`."""
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
    """Convert an OutboxRow to the parameters of a row of the table `outbox`."""
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
    """Build an OutboxRow from a row. Its `sent_ref` is the id of the message last sent for a row with the same key, "" for none."""
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
    """Return the text that identifies the stored call of the effect (proposed call) `effect_id`.

    It is part of the checksum of the stored call, and error messages show it.
    """
    return f"the call of effect {effect_id}"


def build_outcome_place(effect_id: str) -> str:
    """Return the text that identifies the stored outcome of the effect (proposed call) `effect_id`.

    It is part of the checksum of the stored outcome, and error messages show it.
    """
    return f"the outcome of effect {effect_id}"


def to_effect_row(row: Row) -> EffectRow:
    """Build an effect (proposed call) from a row. Raises DamagedRow if the request or the outcome in the row is not as it was written."""
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
    """Convert a timer to a row."""
    return {
        "id": timer.id,
        "due_at": format_iso(timer.due_at),
        "session": timer.session,
        "kind": timer.kind,
        "body": canonical.dumps(timer.body),
    }


def to_timer(row: Row) -> Timer:
    """Build a timer from a row."""
    id_, due_at, session, kind, body = row
    return Timer(id=id_, due_at=parse_iso(due_at), session=session, kind=kind, body=canonical.loads(body))


def to_snapshot_params(snapshot: Snapshot) -> Params:
    """Convert a snapshot to a row. Its JSON is not canonical: the keys of the state stay in the order in which they were added."""
    return {"stream": snapshot.stream, "seq": snapshot.seq, "state": orjson.dumps(snapshot.state).decode()}


def to_readable_rows(claimed: Iterable[Row]) -> list[InboxRow]:
    """Convert the claimed inbox rows, without those that cannot be read: they are stored, and `take_inbox` will raise their error later."""
    found = []
    for row in claimed:
        with suppress(ValueError):
            found.append(to_inbox_row(row))
    return found

"""Defines functions on the PostgreSQL server, each of which does in one round trip what SQLite does with several statements.

The name of each function ends in a hash of its body. The functions do the same as `commit.write_commit`, `commit.record_delivery` and
`commit.put_inbox`, statement for statement; contract tests compare both.
"""

import hashlib
from typing import Any, NamedTuple

from sqlalchemy import Connection

from state.journal.store import SWITCH

STALE, CONFLICT, MOVED, FROZEN, CAP, UNCOUNTED = "SD001", "SD002", "SD003", "SD004", "SD005", "SD006"
"""The error codes of a commit, in order: another process has taken over the session; an effect has another status than expected; another
commit came in between; writes to the portal are stopped; the person's daily cap is reached; nothing is counted for the person yet."""
SWITCH_LOCK = 0x5DE1CF
"""The number of an advisory lock. A transaction takes it shared to start a write to the portal, and exclusively to stop all writes."""

_COMMIT = f"""
DECLARE
    many jsonb;
    one jsonb;
    item jsonb;
    old_pos bigint;
    old_id text;
    held bigint;
BEGIN
    many := p->'leases';
    UPDATE leases SET seq = given.to_seq, hash = given.to_hash
    FROM jsonb_to_recordset(many) AS given(session text, epoch bigint, seq bigint, hash text, to_seq bigint, to_hash text)
    WHERE leases.session = given.session AND leases.owner <> '' AND leases.epoch = given.epoch
        AND leases.seq = given.seq AND leases.hash = given.hash;
    GET DIAGNOSTICS held = ROW_COUNT;
    IF held < jsonb_array_length(many) THEN
        PERFORM FROM jsonb_to_recordset(many) AS given(session text, epoch bigint) WHERE NOT EXISTS (
            SELECT FROM leases WHERE leases.session = given.session AND leases.owner <> '' AND leases.epoch = given.epoch);
        IF FOUND THEN
            RAISE EXCEPTION USING ERRCODE = '{STALE}', MESSAGE = 'the epoch is over';
        END IF;
        RAISE EXCEPTION USING ERRCODE = '{MOVED}', MESSAGE = 'another commit came between';
    END IF;
    -- Only now, with the leases in hand, which an erasure takes away before it touches a key.
    IF EXISTS (SELECT FROM jsonb_array_elements_text(p->'keys') AS used(id)
               WHERE NOT EXISTS (SELECT FROM person_keys WHERE key_id = used.id AND secret <> '')) THEN
        RAISE EXCEPTION USING ERRCODE = '{MOVED}', MESSAGE = 'an erasure came between';
    END IF;
    IF p ? 'switch' THEN
        PERFORM pg_advisory_xact_lock({SWITCH_LOCK});
        INSERT INTO "values" (key, value) VALUES ('{SWITCH}', p->'switch'->>0)
        ON CONFLICT (key) DO UPDATE SET value = excluded.value;
    END IF;
    IF p ? 'starts' THEN
        PERFORM pg_advisory_xact_lock_shared({SWITCH_LOCK});
        IF EXISTS (SELECT FROM "values" WHERE key = '{SWITCH}' AND value <> '') THEN
            RAISE EXCEPTION USING ERRCODE = '{FROZEN}', MESSAGE = 'writes are frozen';
        END IF;
    END IF;
    IF p ? 'events' THEN
        INSERT INTO events (stream, seq, id, ts, type, v, actor, data, hash)
        SELECT stream, seq, id, ts, type, v, actor, data, hash FROM jsonb_to_recordset(p->'events')
            AS x(stream text, seq bigint, id text, ts text, type text, v bigint, actor text, data text, hash text);
    END IF;
    IF p ? 'mentions' THEN
        INSERT INTO mentions (about, what, event_id, effect_id)
        SELECT about, what, event_id, effect_id FROM jsonb_to_recordset(p->'mentions')
            AS x(about text, what text, event_id text, effect_id text);
    END IF;
    IF p ? 'effects' THEN
        many := p->'effects';
        FOR i IN 0..jsonb_array_length(many) - 1 LOOP
            one := many->i;
            IF one ? 'new' THEN
                item := one->'new';
                INSERT INTO effects (effect_id, stream, status, fingerprint, call, updated_at, outcome)
                VALUES (item->>'effect_id', item->>'stream', item->>'status', item->>'fingerprint', item->>'call',
                    item->>'updated_at', item->>'outcome')
                ON CONFLICT (effect_id) DO NOTHING;
                IF FOUND THEN CONTINUE; END IF;
            END IF;
            IF one ? 'old' THEN
                item := one->'old';
                UPDATE effects SET status = item->>'status',
                    fingerprint = COALESCE(NULLIF(item->>'fingerprint', ''), effects.fingerprint),
                    call = COALESCE(item->>'call', effects.call),
                    updated_at = item->>'updated_at',
                    outcome = COALESCE(item->>'outcome', effects.outcome)
                WHERE effect_id = item->>'at_effect_id' AND (one->'expected') ? effects.status;
                IF FOUND THEN CONTINUE; END IF;
            END IF;
            RAISE EXCEPTION USING ERRCODE = '{CONFLICT}', MESSAGE = one->>'told';
        END LOOP;
    END IF;
    IF p ? 'counts' THEN
        many := p->'counts';
        FOR i IN 0..jsonb_array_length(many) - 1 LOOP
            one := many->i;
            IF one ? 'known' THEN
                INSERT INTO "values" (key, value) SELECT key, value FROM jsonb_to_recordset(one->'known') AS x(key text, value text)
                ON CONFLICT (key) DO NOTHING;
            END IF;
            -- Whoever else would start one for this person waits here, and then sees this one.
            PERFORM FROM "values" WHERE key = one->>'held' FOR UPDATE;
            IF NOT FOUND THEN
                RAISE EXCEPTION USING ERRCODE = '{UNCOUNTED}', MESSAGE = 'nobody has counted what was begun for this person';
            END IF;
            IF one ? 'limit' AND (one->>'many')::bigint + (
                SELECT COALESCE(SUM(value::bigint), 0) FROM "values" WHERE key >= one->>'first' AND key <= one->>'last'
            ) > (one->>'limit')::bigint THEN
                RAISE EXCEPTION USING ERRCODE = '{CAP}', MESSAGE = 'as many changes as this person may make within a day were begun';
            END IF;
            INSERT INTO "values" (key, value) VALUES (one->>'key', one->>'many') ON CONFLICT (key) DO NOTHING;
            DELETE FROM "values" WHERE key > one->>'held' AND key < one->>'gone';
        END LOOP;
    END IF;
    IF p ? 'outbox' THEN
        many := p->'outbox';
        FOR i IN 0..jsonb_array_length(many) - 1 LOOP
            one := many->i;
            old_pos := NULL;
            IF one->>'key' <> '' THEN
                SELECT pos, id INTO old_pos, old_id FROM outbox
                WHERE session = one->>'session' AND key = one->>'key' AND status = 'new' FOR UPDATE;
            END IF;
            IF old_pos IS NOT NULL THEN
                UPDATE outbox SET id = one->>'id', session = one->>'session', channel = one->>'channel', kind = one->>'kind',
                    body = one->>'body', key = one->>'key', created_at = one->>'created_at', status = one->>'status',
                    attempts = (one->>'attempts')::bigint, due_at = one->>'due_at'
                WHERE pos = old_pos;
                one := one || jsonb_build_object('id', old_id, 'status', 'replaced', 'body', '{{}}');
            END IF;
            INSERT INTO outbox (id, session, channel, kind, body, key, created_at, status, attempts, due_at, note)
            VALUES (one->>'id', one->>'session', one->>'channel', one->>'kind', one->>'body', one->>'key', one->>'created_at',
                one->>'status', (one->>'attempts')::bigint, one->>'due_at', one->>'note');
        END LOOP;
    END IF;
    IF p ? 'timers' THEN
        many := p->'timers';
        FOR i IN 0..jsonb_array_length(many) - 1 LOOP
            one := many->i;
            IF one ? 'at_id' THEN
                DELETE FROM timers WHERE id = one->>'at_id';
            ELSE
                INSERT INTO timers (id, due_at, session, kind, body)
                VALUES (one->>'id', one->>'due_at', one->>'session', one->>'kind', one->>'body')
                ON CONFLICT (id) DO UPDATE
                SET due_at = excluded.due_at, session = excluded.session, kind = excluded.kind, body = excluded.body;
            END IF;
        END LOOP;
    END IF;
    IF p ? 'done' THEN
        UPDATE inbox SET status = given.status, note = given.note
        FROM jsonb_to_recordset(p->'done') AS given(at_id text, status text, note text) WHERE inbox.id = given.at_id;
    END IF;
    IF p ? 'inbox' THEN
        many := p->'inbox';
        FOR i IN 0..jsonb_array_length(many) - 1 LOOP
            one := many->i;
            INSERT INTO inbox (id, source, session, lane, kind, actor, body, received_at, status, attempts, note)
            VALUES (one->>'id', one->>'source', one->>'session', one->>'lane', one->>'kind', one->>'actor', one->>'body',
                one->>'received_at', one->>'status', (one->>'attempts')::bigint, one->>'note')
            ON CONFLICT (source) DO UPDATE SET body = excluded.body, attempts = excluded.attempts WHERE inbox.status = 'new';
        END LOOP;
    END IF;
    IF p ? 'runs' THEN
        many := p->'runs';
        FOR i IN 0..jsonb_array_length(many) - 1 LOOP
            one := many->i;
            INSERT INTO runs (run_id, engine, definition, version, home, owner, parent, status, started_at, updated_at)
            VALUES (one->>'run_id', one->>'engine', one->>'definition', (one->>'version')::bigint, one->>'home', one->>'owner',
                one->>'parent', one->>'status', one->>'started_at', one->>'updated_at')
            ON CONFLICT (run_id) DO UPDATE SET engine = excluded.engine, definition = excluded.definition, version = excluded.version,
                home = excluded.home, owner = excluded.owner, parent = excluded.parent, status = excluded.status,
                started_at = excluded.started_at, updated_at = excluded.updated_at;
        END LOOP;
    END IF;
    IF p ? 'blobs' THEN
        many := p->'blobs';
        FOR i IN 0..jsonb_array_length(many) - 1 LOOP
            one := many->i;
            INSERT INTO blobs (digest, content) VALUES (one->>'digest', one->>'content') ON CONFLICT (digest) DO NOTHING;
        END LOOP;
    END IF;
    IF p ? 'snapshots' THEN
        many := p->'snapshots';
        FOR i IN 0..jsonb_array_length(many) - 1 LOOP
            one := many->i;
            INSERT INTO snapshots (stream, seq, state) VALUES (one->>'stream', (one->>'seq')::bigint, one->>'state')
            ON CONFLICT (stream) DO UPDATE SET seq = excluded.seq, state = excluded.state;
        END LOOP;
    END IF;
END
"""  # noqa: S608  only our own error codes are put in
_SENT = """
DECLARE
    gone_session text;
    gone_key text;
    gone_status text;
BEGIN
    FOR attempt IN 1..2 LOOP -- one that is replaced in this very moment is found at the second look, under its old id
        DELETE FROM outbox WHERE id = row_id RETURNING session, key, status INTO gone_session, gone_key, gone_status;
        EXIT WHEN gone_key IS NOT NULL;
    END LOOP;
    IF gone_key <> '' AND sent_to <> '' THEN
        INSERT INTO deliveries (session, key, sent_ref) VALUES (gone_session, gone_key, sent_to)
        ON CONFLICT (session, key) DO UPDATE SET sent_ref = excluded.sent_ref;
    END IF;
    IF gone_key <> '' AND gone_status <> 'replaced' THEN
        DELETE FROM outbox WHERE session = gone_session AND key = gone_key AND status = 'replaced';
    END IF;
END
"""


_RECEIVE = """
DECLARE
    fresh json;
    one jsonb;
    item json;
    claimed json[] := '{}';
BEGIN
    WITH added AS (
        INSERT INTO inbox (id, source, session, lane, kind, actor, body, received_at, status, attempts, note)
        SELECT id, source, session, lane, kind, actor, body, received_at, status, attempts, note
        FROM jsonb_to_recordset(p->'rows') AS x(id text, source text, session text, lane text, kind text, actor text, body text,
            received_at text, status text, attempts bigint, note text)
        ON CONFLICT (source) DO NOTHING RETURNING id
    ) SELECT json_agg(id) INTO fresh FROM added;
    FOR one IN SELECT * FROM jsonb_array_elements(p->'claim') LOOP
        UPDATE inbox SET attempts = attempts + 1
        WHERE pos = (SELECT min(pos) FROM inbox WHERE session = one->>0 AND lane = one->>1 AND status = 'new')
        RETURNING json_build_array(id, source, session, lane, kind, actor, body, received_at, status, attempts) INTO item;
        IF FOUND THEN claimed := claimed || item; END IF;
    END LOOP;
    RETURN json_build_object('fresh', COALESCE(fresh, '[]'), 'claimed', array_to_json(claimed));
END
"""


class Function(NamedTuple):
    """A function on the server; its arguments are one JSON text or several texts."""

    name: str
    params: str
    returns: str
    body: str

    @property
    def prepared_name(self) -> bytes:
        """The name of the prepared statement with which a connection calls the function."""
        return self.name.encode()

    @property
    def call(self) -> bytes:
        """The statement that calls the function."""
        places = (f"${number}::{param.split()[1]}" for number, param in enumerate(self.params.split(", "), start=1))
        return f"SELECT {self.name}({', '.join(places)})".encode()


def _build_function(kind: str, params: str, returns: str, body: str) -> Function:
    """Build a function whose name holds the hash of its body: programs of two versions on one database each call their own function."""
    return Function(f"sdelka_{kind}_{hashlib.sha256(body.encode()).hexdigest()[:12]}", params, returns, body)


COMMIT = _build_function("commit", "p jsonb", "void", _COMMIT)
"""Applies the changes of one commit, all or none; raises one of the error codes above if a condition of the commit is not met."""
SENT = _build_function("sent", "row_id text, sent_to text", "void", _SENT)
"""Records a delivered outbox row, as `commit.record_delivery` does."""
RECEIVE = _build_function("receive", "p jsonb", "json", _RECEIVE)
"""Stores several inbox rows, and claims the oldest new row of each given lane; returns the ids of new rows, and the claimed rows."""
_ALL = (COMMIT, SENT, RECEIVE)
_UNKNOWN_NAME = b"26000"
_TUPLES, _SQLSTATE = 2, ord("C")
"""Constants of libpq: PGRES_TUPLES_OK, PG_DIAG_SQLSTATE."""


def create_server_functions(connection: Connection) -> None:
    """Create the functions that are missing."""
    for name, params, returns, body in _ALL:
        if not connection.exec_driver_sql(f"SELECT to_regproc('{name}') IS NOT NULL").scalar():
            text = f"CREATE OR REPLACE FUNCTION {name}({params}) RETURNS {returns} LANGUAGE plpgsql AS $sdelka${body}$sdelka$"
            connection.exec_driver_sql(text.replace("%", "%%"))


def call_function(cursor: Any, function: Function, *given: bytes) -> bytes:
    """Call the function in a transaction of its own and return its answer, b"" if it returns nothing.

    Raises the driver's error if the call failed; if the connection was lost, it is unknown whether it was committed.
    """
    # This calls libpq directly: going through the driver's cursor would cost three times the call itself.
    connection = cursor.connection.pgconn
    result = connection.exec_prepared(function.prepared_name, list(given))
    if result.status != _TUPLES and result.error_field(_SQLSTATE) == _UNKNOWN_NAME:  # the first call on this connection
        connection.prepare(function.prepared_name, function.call)
        result = connection.exec_prepared(function.prepared_name, list(given))
    if result.status != _TUPLES:
        from psycopg.errors import error_from_result  # noqa: PLC0415  who works with SQLite does not load the driver of PostgreSQL

        raise error_from_result(result)
    return result.get_value(0, 0) or b""

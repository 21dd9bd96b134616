"""A commit for PostgreSQL in one round trip (ring 1): the end of the stream is known from the last one, all changes go to one function.

The function holds the row of the lease while it works, and undoes all of it where the stream no longer ends there. It does
what `commit.write` does on SQLite, statement for statement; the contract suite holds the two together.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import orjson
from sqlalchemy import Connection

from state.sql import rows
from state.sql.database import Contended, Params, Row, Sending, Statement, Transaction
from state.sql.statements import Statements
from state.store import EffectConflict, InboxRow, StaleEpoch, StoreError

STALE, CONFLICT, MOVED = "SD001", "SD002", "SD003"
"""What the function raises: the epoch is over; an effect stands elsewhere; another commit came between reading and writing."""

_BODY = f"""
DECLARE
    many jsonb;
    one jsonb;
    item jsonb;
    old_pos bigint;
    old_id text;
BEGIN
    IF p ? 'events' THEN
        UPDATE leases SET seq = (p->>'to_seq')::bigint, hash = p->>'to_hash'
        WHERE session = p->>'session' AND owner <> '' AND epoch = (p->>'epoch')::bigint
            AND seq = (p->>'seq')::bigint AND hash = p->>'hash' AND NOT EXISTS (
                SELECT FROM jsonb_array_elements_text(p->'keys') AS used(id)
                WHERE NOT EXISTS (SELECT FROM person_keys WHERE key_id = used.id AND secret <> ''));
    ELSE
        PERFORM FROM leases
        WHERE session = p->>'session' AND owner <> '' AND epoch = (p->>'epoch')::bigint
            AND seq = (p->>'seq')::bigint AND hash = p->>'hash' FOR NO KEY UPDATE;
    END IF;
    IF NOT FOUND THEN
        PERFORM FROM leases WHERE session = p->>'session' AND owner <> '' AND epoch = (p->>'epoch')::bigint;
        IF NOT FOUND THEN
            RAISE EXCEPTION USING ERRCODE = '{STALE}', MESSAGE = 'the epoch is over';
        END IF;
        RAISE EXCEPTION USING ERRCODE = '{MOVED}', MESSAGE = 'another commit came between, or an erasure';
    END IF;
    IF p ? 'events' THEN
        INSERT INTO events (stream, seq, id, ts, type, v, actor, data, hash)
        SELECT stream, seq, id, ts, type, v, actor, data, hash FROM jsonb_to_recordset(p->'events')
            AS x(stream text, seq bigint, id text, ts text, type text, v bigint, actor text, data text, hash text);
    END IF;
    IF p ? 'effects' THEN
        many := p->'effects';
        FOR i IN 0..jsonb_array_length(many) - 1 LOOP
            one := many->i;
            IF one ? 'new' THEN
                item := one->'new';
                INSERT INTO effects (effect_id, stream, status, fingerprint, call, epoch, updated_at, outcome)
                VALUES (item->>'effect_id', item->>'stream', item->>'status', item->>'fingerprint', item->>'call',
                    (item->>'epoch')::bigint, item->>'updated_at', item->>'outcome')
                ON CONFLICT (effect_id) DO NOTHING;
                IF FOUND THEN CONTINUE; END IF;
            END IF;
            IF one ? 'old' THEN
                item := one->'old';
                UPDATE effects SET status = item->>'status',
                    fingerprint = COALESCE(NULLIF(item->>'fingerprint', ''), effects.fingerprint),
                    call = COALESCE(item->>'call', effects.call),
                    epoch = (item->>'epoch')::bigint,
                    updated_at = item->>'updated_at',
                    outcome = COALESCE(item->>'outcome', effects.outcome)
                WHERE effect_id = item->>'at_effect_id' AND (one->'expected') ? effects.status;
                IF FOUND THEN CONTINUE; END IF;
            END IF;
            RAISE EXCEPTION USING ERRCODE = '{CONFLICT}', MESSAGE = one->>'told';
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
        many := p->'done';
        FOR i IN 0..jsonb_array_length(many) - 1 LOOP
            one := many->i;
            UPDATE inbox SET status = one->>'status', note = one->>'note' WHERE id = one->>'at_id';
        END LOOP;
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


def _named(kind: str, body: str) -> str:
    """By what it does: programs of two versions on one database each call their own."""
    return f"sdelka_{kind}_{hashlib.sha256(body.encode()).hexdigest()[:12]}"


_COMMIT_NAME, _SENT_NAME = _named("commit", _BODY), _named("sent", _SENT)
_FUNCTIONS = {_COMMIT_NAME: ("p jsonb", _BODY), _SENT_NAME: ("row_id text, sent_to text", _SENT)}
_PREPARED = b"sdelka_commit"
_UNKNOWN_NAME = b"26000"
_TUPLES, _SQLSTATE = 2, ord("C")
"""Numbers of libpq: PGRES_TUPLES_OK, PG_DIAG_SQLSTATE."""
SENT = Statement(sql=f"SELECT {_SENT_NAME}(%(id)s, %(ref)s)", fixed={})
"""What `outbox.delivered` does, in one round trip."""
PUT_INBOX = Statement(
    sql="""
        INSERT INTO inbox (id, source, session, lane, kind, actor, body, received_at, status, attempts, note)
        SELECT id, source, session, lane, kind, actor, body, received_at, status, attempts, note
        FROM jsonb_to_recordset(%(rows)s::text::jsonb) AS x(id text, source text, session text, lane text, kind text, actor text, body text,
            received_at text, status text, attempts bigint, note text)
        ON CONFLICT (source) DO NOTHING RETURNING id
    """,
    fixed={},
)
"""Several inputs at once; answers the ids of those that are new."""


def put_inbox(transaction: Transaction, new: Sequence[InboxRow]) -> list[bool]:
    """Add inputs in one statement; False for each whose source is known."""
    wanted = {"rows": orjson.dumps([rows.inbox_params(row) for row in new]).decode()}
    fresh = {found[0] for found in transaction.rows(PUT_INBOX, wanted)}
    answer = []
    for row in new:
        answer.append(row.id in fresh)
        fresh.discard(row.id)  # the same once more in one call is known by then
    return answer


class Known(NamedTuple):
    """Where a stream ended after a commit of this process, and the keys of those who acted; a guess, which the function checks."""

    epoch: int
    seq: int
    hash: str
    keys: Mapping[str, Row]


def create(connection: Connection) -> None:
    """Make the functions where they are missing."""
    for name, (params, body) in _FUNCTIONS.items():
        if not connection.exec_driver_sql(f"SELECT to_regproc('{name}') IS NOT NULL").scalar():
            text = f"CREATE OR REPLACE FUNCTION {name}({params}) RETURNS void LANGUAGE plpgsql AS $sdelka${body}$sdelka$"
            connection.exec_driver_sql(text.replace("%", "%%"))


class Gathering(Sending):
    """Gathers the changes of a commit; `send` makes them all. What it cannot know yet it takes for success: else the function raises."""

    meaning: ClassVar[Mapping[str, type[StoreError]]] = {
        **Transaction.meaning,
        STALE: StaleEpoch,
        CONFLICT: EffectConflict,
        MOVED: Contended,
    }

    def __init__(self, cursor: Any, statements: Statements, known: Known | None = None) -> None:
        super().__init__(cursor)
        self._known = known
        self._keys: dict[str, Row] = {}
        self._statements = statements
        self._fences: dict[str, list[Row]] = {}
        """What was read for each person that the steps of this commit speak of; all steps are of one stream."""
        self._changes: dict[str, Any] = {}
        self._lists = {
            id(statements.add_outbox): "outbox",
            id(statements.set_timer): "timers",
            id(statements.drop_timer): "timers",
            id(statements.finish_inbox): "done",
            id(statements.set_inbox): "inbox",
            id(statements.add_blob): "blobs",
            id(statements.set_snapshot): "snapshots",
        }

    def rows(self, statement: Statement, params: Params) -> list[Row]:
        """Read it now; the end of the stream is where this commit has moved it."""
        if statement is self._statements.unsent_with_key:
            return []  # the function looks for itself
        if statement is self._statements.live_key:
            found = super().rows(statement, params)
            if found:
                self._keep(params["at_person"], found[0])
            return found
        if statement is not self._statements.fence:
            return super().rows(statement, params)
        person = params["at_person"]
        if person not in self._fences:
            self._fences[person] = self._remembered(person) or super().rows(self._statements.look_at_fence, params)
            if self._fences[person] and self._fences[person][0][4] is not None:
                self._keys[person] = self._fences[person][0][4:]
        found = self._fences[person]
        if found and "session" not in self._changes:
            self._changes |= {"session": params["at_session"], "epoch": found[0][1], "seq": found[0][2], "hash": found[0][3]}
        if found and "to_seq" in self._changes:
            return [(*found[0][:2], self._changes["to_seq"], self._changes["to_hash"], *found[0][4:])]
        return found

    def _remembered(self, person: str) -> list[Row]:
        known = self._known
        if known is None or person not in known.keys:
            return []
        key = known.keys[person]
        self._changes.setdefault("keys", []).append(key[0])
        return [("ours", known.epoch, known.seq, known.hash, *key)]

    def _keep(self, person: str, key: Row) -> None:
        self._keys[person] = key
        self._fences[person] = [(*row[:4], *key) for row in self._fences.get(person, [])]

    def run(self, statement: Statement, params: Params) -> int:
        """Gather it; what belongs to no commit is run at once."""
        name = self._lists.get(id(statement))
        if name is not None:
            self._changes.setdefault(name, []).append(params)
        elif statement is self._statements.move_head:
            self._changes |= {"to_seq": params["seq"], "to_hash": params["hash"]}
        else:
            return super().run(statement, params)
        return 1

    def run_many(self, statement: Statement, rows: Iterable[Params]) -> None:
        """Gather events."""
        if statement is not self._statements.add_event:
            super().run_many(statement, rows)
            return
        self._changes.setdefault("events", []).extend(rows)

    def change_effect(self, add: Params | None, change: Params | None, expected: list[str], told: str) -> None:
        """Gather a compare-and-set."""
        one: dict[str, Any] = {"expected": expected, "told": told}
        one |= {"new": add} if add is not None else {}
        one |= {"old": change} if change is not None else {}
        self._changes.setdefault("effects", []).append(one)

    def send(self) -> None:
        """Make all changes, for good, or raise and make none."""
        # Beneath the driver's cursor, whose words around one call cost three times the call itself.
        connection = self._cursor.connection.pgconn
        payload = [orjson.dumps(self._changes)]
        result = connection.exec_prepared(_PREPARED, payload)
        if result.status != _TUPLES and result.error_field(_SQLSTATE) == _UNKNOWN_NAME:  # the first call on this connection
            connection.prepare(_PREPARED, f"SELECT {_COMMIT_NAME}($1::jsonb)".encode())
            result = connection.exec_prepared(_PREPARED, payload)
        if result.status != _TUPLES:
            from psycopg.errors import error_from_result  # noqa: PLC0415  who works with SQLite does not load the driver of PostgreSQL

            raise error_from_result(result)

    def known(self) -> Known:
        """What the next commit need not read, once this one is stored."""
        head = self._changes
        seq, hash_ = (head["to_seq"], head["to_hash"]) if "to_seq" in head else (head["seq"], head["hash"])
        keys = self._keys if self._known is None else {**self._known.keys, **self._keys}
        return Known(head["epoch"], seq, hash_, keys)

"""A commit for PostgreSQL in two round trips (ring 1): what it must know is read, everything it changes goes to one server function.

The function holds the row of the lease while it works, and undoes all of it where the stream no longer ends where it was read. It does
what `commit.write` does on SQLite, statement for statement; the contract suite holds the two together.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import orjson
from sqlalchemy import Connection

from state.sql.database import Contended, Params, Row, Sending, Statement, Transaction
from state.sql.statements import Statements
from state.store import EffectConflict, StaleEpoch, StoreError

STALE, CONFLICT, MOVED = "SD001", "SD002", "SD003"
"""What the function raises: the epoch is over; an effect stands elsewhere; another commit came between reading and writing."""

_BODY = f"""
DECLARE
    one jsonb;
    old_pos bigint;
    old_id text;
BEGIN
    IF p ? 'events' THEN
        UPDATE leases SET seq = (p->>'to_seq')::bigint, hash = p->>'to_hash'
        WHERE session = p->>'session' AND owner <> '' AND epoch = (p->>'epoch')::bigint
            AND seq = (p->>'seq')::bigint AND hash = p->>'hash';
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
        RAISE EXCEPTION USING ERRCODE = '{MOVED}', MESSAGE = 'another commit came between';
    END IF;
    IF p ? 'keys' THEN
        FOR old_id IN SELECT jsonb_array_elements_text(p->'keys') LOOP
            PERFORM FROM person_keys WHERE key_id = old_id AND secret <> '';
            IF NOT FOUND THEN
                RAISE EXCEPTION USING ERRCODE = '{MOVED}', MESSAGE = 'a person was erased';
            END IF;
        END LOOP;
    END IF;
    IF p ? 'events' THEN
        INSERT INTO events (stream, seq, id, ts, type, v, actor, data, hash)
        SELECT stream, seq, id, ts, type, v, actor, data, hash FROM jsonb_to_recordset(p->'events')
            AS x(stream text, seq bigint, id text, ts text, type text, v bigint, actor text, data text, hash text);
    END IF;
    IF p ? 'effects' THEN
        FOR one IN SELECT jsonb_array_elements(p->'effects') LOOP
            IF one ? 'new' THEN
                INSERT INTO effects (effect_id, stream, status, fingerprint, call, epoch, updated_at, outcome)
                SELECT effect_id, stream, status, fingerprint, call, epoch, updated_at, outcome FROM jsonb_to_record(one->'new') AS x(
                    effect_id text, stream text, status text, fingerprint text, call text, epoch bigint, updated_at text, outcome text)
                ON CONFLICT (effect_id) DO NOTHING;
                IF FOUND THEN CONTINUE; END IF;
            END IF;
            IF one ? 'old' THEN
                UPDATE effects SET status = one->'old'->>'status',
                    fingerprint = COALESCE(NULLIF(one->'old'->>'fingerprint', ''), effects.fingerprint),
                    call = COALESCE(one->'old'->>'call', effects.call),
                    epoch = (one->'old'->>'epoch')::bigint,
                    updated_at = one->'old'->>'updated_at',
                    outcome = COALESCE(one->'old'->>'outcome', effects.outcome)
                WHERE effect_id = one->'old'->>'at_effect_id' AND (one->'expected') ? effects.status;
                IF FOUND THEN CONTINUE; END IF;
            END IF;
            RAISE EXCEPTION USING ERRCODE = '{CONFLICT}', MESSAGE = one->>'told';
        END LOOP;
    END IF;
    IF p ? 'outbox' THEN
        FOR one IN SELECT jsonb_array_elements(p->'outbox') LOOP
            SELECT NULL::bigint AS pos, NULL::text AS id INTO place;
            IF one->>'key' <> '' THEN
                SELECT outbox.pos, outbox.id INTO place FROM outbox
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
        FOR one IN SELECT jsonb_array_elements(p->'timers') LOOP
            IF one ? 'at_id' THEN
                DELETE FROM timers WHERE id = one->>'at_id';
            ELSE
                INSERT INTO timers (id, due_at, session, kind, body)
                VALUES (one->>'id', one->>'due_at', one->>'session', one->>'kind', one->>'body')
                ON CONFLICT (id) DO UPDATE SET due_at = excluded.due_at, session = excluded.session, kind = excluded.kind, body = excluded.body;
            END IF;
        END LOOP;
    END IF;
    IF p ? 'done' THEN
        FOR one IN SELECT jsonb_array_elements(p->'done') LOOP
            UPDATE inbox SET status = one->>'status', note = one->>'note' WHERE id = one->>'at_id';
        END LOOP;
    END IF;
    IF p ? 'inbox' THEN
        FOR one IN SELECT jsonb_array_elements(p->'inbox') LOOP
            INSERT INTO inbox (id, source, session, lane, kind, actor, body, received_at, status, attempts, note)
            VALUES (one->>'id', one->>'source', one->>'session', one->>'lane', one->>'kind', one->>'actor', one->>'body',
                one->>'received_at', one->>'status', (one->>'attempts')::bigint, one->>'note')
            ON CONFLICT (source) DO UPDATE SET body = excluded.body, attempts = excluded.attempts WHERE inbox.status = 'new';
        END LOOP;
    END IF;
    IF p ? 'blobs' THEN
        FOR one IN SELECT jsonb_array_elements(p->'blobs') LOOP
            INSERT INTO blobs (digest, content) VALUES (one->>'digest', one->>'content') ON CONFLICT (digest) DO NOTHING;
        END LOOP;
    END IF;
    IF p ? 'snapshots' THEN
        FOR one IN SELECT jsonb_array_elements(p->'snapshots') LOOP
            INSERT INTO snapshots (stream, seq, state) VALUES (one->>'stream', (one->>'seq')::bigint, one->>'state')
            ON CONFLICT (stream) DO UPDATE SET seq = excluded.seq, state = excluded.state;
        END LOOP;
    END IF;
END
"""  # noqa: S608  only our own error codes are put in
FUNCTION = f"sdelka_commit_{hashlib.sha256(_BODY.encode()).hexdigest()[:12]}"
"""Named by what it does: programs of two versions on one database each call their own."""
CREATE = f"CREATE OR REPLACE FUNCTION {FUNCTION}(p jsonb) RETURNS void LANGUAGE plpgsql AS $sdelka${_BODY}$sdelka$"
_CALL = f"SELECT {FUNCTION}(%(p)s::text::jsonb)"


def create(connection: Connection) -> None:
    """Make the function where it is missing."""
    known = connection.exec_driver_sql(f"SELECT to_regproc('{FUNCTION}') IS NOT NULL").scalar()
    if not known:
        connection.exec_driver_sql(CREATE.replace("%", "%%"))


class Gathering(Sending):
    """Gathers the changes of a commit; `send` makes them all. What it cannot know yet it takes for success: else the function raises."""

    meaning: ClassVar[Mapping[str, type[StoreError]]] = {
        **Transaction.meaning,
        STALE: StaleEpoch,
        CONFLICT: EffectConflict,
        MOVED: Contended,
    }

    def __init__(self, cursor: Any, statements: Statements) -> None:
        super().__init__(cursor)
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
        if statement is not self._statements.fence:
            return super().rows(statement, params)
        person = params["at_person"]
        if person not in self._fences:
            self._fences[person] = super().rows(self._statements.look_at_fence, params)
        found = self._fences[person]
        if found and "session" not in self._changes:
            self._changes |= {"session": params["at_session"], "epoch": found[0][1], "seq": found[0][2], "hash": found[0][3]}
        if found and "to_seq" in self._changes:
            return [(*found[0][:2], self._changes["to_seq"], self._changes["to_hash"], *found[0][4:])]
        return found

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
        self._cursor.execute(_CALL, {"p": orjson.dumps(self._changes).decode()})

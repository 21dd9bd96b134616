"""The table `runs`: built anew from the runs' streams, and compared with them.

A damaged run gets no entry.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import orjson
from sqlalchemy import Connection, delete, select

from state.events import codec
from state.events.codec import UnknownEvent
from state.events.runs import RUN_TYPES, RunStarted, preview_run
from state.findings import Finding
from state.journal import encryption
from state.journal.encryption import DamagedCiphertext
from state.journal.run_index import PREFIX, RunRow, build_run_row
from state.model.run_state import RunState
from state.sql import row_mapping as rows
from state.sql.dialect import Dialect
from state.sql.record_index import Ask, build_tolerant_ask, decode_texts, load_by_id
from state.sql.tables import events, leases, person_keys
from state.sql.tables import runs as table

PAGE: Final = 200
EVENTS: Final = 1000
MAX_NAMED: Final = 20
TRIES: Final = 3
_EVENT: Final = tuple(events.c[name] for name in ("stream", "seq", "id", "ts", "type", "v", "actor", "data", "hash"))
_ROW: Final = tuple(table.c[name] for name in RunRow._fields)
_NO_SENSE: Final = (DamagedCiphertext, UnknownEvent, ValueError, LookupError, TypeError, AttributeError)


def rebuild_run_index(dialect: Dialect, tell: Callable[[int], None] = lambda _: None) -> int:
    """Rebuild a page of runs in a transaction, beside a running bot; return the number of entries."""
    with dialect.engine.begin() as connection:
        known = {PREFIX + one for (one,) in connection.execute(select(table.c.run_id))}
        streams = list(_list_streams(build_tolerant_ask(connection)))
        _delete_rows(connection, sorted(known - set(streams)))
    count = 0
    for begin in range(0, len(streams), PAGE):
        page = streams[begin : begin + PAGE]
        with dialect.engine.begin() as connection:
            connection.execute(select(leases.c.session).where(leases.c.session.in_(page)).with_for_update())
            _delete_rows(connection, page)
            ask = build_tolerant_ask(connection)
            run_rows = [row for stream in page if (row := _fold_row(ask, stream)) is not None]
            if run_rows:
                connection.execute(table.insert(), [row._asdict() for row in run_rows])
        count += len(run_rows)
        tell(begin + len(page))
    return count


def find_run_differences(ask: Ask) -> list[Finding]:
    """List at most 20, and the number of others; correct while others commit."""
    streams = set(_list_streams(ask))
    findings = [finding for stream in sorted(streams) for finding in _compare_run(ask, stream)]
    for (run_id,) in decode_texts(ask(select(table.c.run_id))):
        if PREFIX + run_id not in streams and not _has_stream(ask, PREFIX + run_id):
            why = f"its row of the run {run_id} is borne out by no record"
            findings.append(Finding(kind="inconsistent", place="table runs", why=why))
    more = len(findings) - MAX_NAMED
    return findings[:MAX_NAMED] + ([Finding(kind="inconsistent", place="table runs", why=f"{more} more such rows")] if more > 0 else [])


def _delete_rows(connection: Connection, streams: Sequence[str]) -> None:
    for begin in range(0, len(streams), PAGE):
        gone = [stream.removeprefix(PREFIX) for stream in streams[begin : begin + PAGE]]
        connection.execute(delete(table).where(table.c.run_id.in_(gone)))


def _list_streams(ask: Ask) -> Iterator[str]:
    query = select(leases.c.session).where(leases.c.session.startswith(PREFIX), leases.c.seq > 0)
    return (stream for (stream,) in decode_texts(ask(query)))


def _has_stream(ask: Ask, stream: str) -> bool:
    return bool(ask(select(leases.c.seq).where(leases.c.session == stream, leases.c.seq > 0)))


def _compare_run(ask: Ask, stream: str) -> list[Finding]:
    """A difference is looked at again: the run may have changed."""
    why = ""
    for _ in range(TRIES):
        before = ask(select(leases.c.seq).where(leases.c.session == stream))
        expected_row = _fold_row(ask, stream)
        stored = [RunRow(*row) for row in decode_texts(ask(select(*_ROW).where(table.c.run_id == stream.removeprefix(PREFIX))))]
        why = _describe_difference(expected_row, stored[0] if stored else None)
        if not why or ask(select(leases.c.seq).where(leases.c.session == stream)) == before:
            break
    return [Finding(kind="inconsistent", place=stream, why=why)] if why else []


def _describe_difference(expected: RunRow | None, stored: RunRow | None) -> str:
    if expected == stored:
        return ""
    if stored is None:
        return "table runs lacks its row"
    if expected is None:
        return "it has a row in table runs, although its records say that there is none any more"
    columns = zip(RunRow._fields, stored, expected, strict=True)
    wrong = [f"{name} is {there!r}, its records say {right!r}" for name, there, right in columns if there != right]
    return f"its row in table runs is wrong: {'; '.join(wrong)}"


def _fold_row(ask: Ask, stream: str) -> RunRow | None:
    state: RunState | None = None
    after = 0
    while True:
        later = select(*_EVENT).where(events.c.stream == stream, events.c.seq > after, events.c.type.in_(RUN_TYPES))
        page = decode_texts(ask(later.order_by(events.c.seq).limit(EVENTS)))
        if not page or page[-1][1] == after:  # a damaged number would be returned again and again
            return build_run_row(stream, state) if state is not None else None
        after = page[-1][1]
        try:
            state = preview_run(state, _read_page(ask, page))
        except _NO_SENSE:
            return None


def _read_page(ask: Ask, page: Sequence[tuple[Any, ...]]) -> list[tuple[str, dict[str, Any], str]]:
    """Only the first event is decrypted: it names the owner."""
    begun = [row for row in page if row[4] == RunStarted.__name__]
    secrets = load_by_id(ask, person_keys.c.key_id, person_keys.c.secret, rows.collect_key_ids(begun))
    return [(row[4], dict(_read_data(row, secrets)), row[3]) for row in page]


def _read_data(row: tuple[Any, ...], secrets: Mapping[str, str]) -> Mapping[str, Any]:
    if row[4] == RunStarted.__name__:
        return rows.to_stored_event(row, secrets).data
    clear = orjson.loads(row[7])
    clear.pop(encryption.FIELD, None)
    return codec.join_parts(row[4], row[5], clear, {})

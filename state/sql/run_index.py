"""The table `runs` (the index of runs): built anew from the streams of the runs, and compared with them.

A stream is read event by event, so memory use does not grow with it. A run with a damaged record gets no entry; other checks report it.
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
"""How many runs are handled in one transaction."""
EVENTS: Final = 1000
MAX_NAMED: Final = 20
"""The most differences that are listed; further ones are only counted."""
TRIES: Final = 3
_EVENT: Final = tuple(events.c[name] for name in ("stream", "seq", "id", "ts", "type", "v", "actor", "data", "hash"))
_ROW: Final = tuple(table.c[name] for name in RunRow._fields)
_NO_SENSE: Final = (DamagedCiphertext, UnknownEvent, ValueError, LookupError, TypeError, AttributeError)


def rebuild_run_index(dialect: Dialect, tell: Callable[[int], None] = lambda _: None) -> int:
    """Build the index anew from the streams, a page of runs in a transaction, and return how many entries it has.

    `tell` gets the number of runs handled so far. Works beside a running bot: the runs of a page cannot change while it is handled.
    """
    with dialect.engine.begin() as connection:
        known = {PREFIX + one for (one,) in connection.execute(select(table.c.run_id))}
        streams = list(_list_streams(build_tolerant_ask(connection)))
        _delete_rows(connection, sorted(known - set(streams)))
    kept = 0
    for begin in range(0, len(streams), PAGE):
        page = streams[begin : begin + PAGE]
        with dialect.engine.begin() as connection:
            connection.execute(select(leases.c.session).where(leases.c.session.in_(page)).with_for_update())
            _delete_rows(connection, page)
            ask = build_tolerant_ask(connection)
            found = [row for stream in page if (row := _fold_row(ask, stream)) is not None]
            if found:
                connection.execute(table.insert(), [row._asdict() for row in found])
        kept += len(found)
        tell(begin + len(page))
    return kept


def find_run_differences(ask: Ask) -> list[Finding]:
    """Return a finding for each of the first 20 entries that are not what the streams say, and one with the number of further ones.

    The result is correct even while other processes commit.
    """
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
    wanted = select(leases.c.session).where(leases.c.session.startswith(PREFIX), leases.c.seq > 0)
    return (stream for (stream,) in decode_texts(ask(wanted)))


def _has_stream(ask: Ask, stream: str) -> bool:
    return bool(ask(select(leases.c.seq).where(leases.c.session == stream, leases.c.seq > 0)))


def _compare_run(ask: Ask, stream: str) -> list[Finding]:
    """Return what is wrong with the entry of one run. A difference is looked at again, because the run may have changed meanwhile."""
    why = ""
    for _ in range(TRIES):
        before = ask(select(leases.c.seq).where(leases.c.session == stream))
        expected_row = _fold_row(ask, stream)
        stored = [RunRow(*row) for row in decode_texts(ask(select(*_ROW).where(table.c.run_id == stream.removeprefix(PREFIX))))]
        why = _describe_difference(expected_row, stored[0] if stored else None)
        if not why or ask(select(leases.c.seq).where(leases.c.session == stream)) == before:
            break
    return [Finding(kind="inconsistent", place=stream, why=why)] if why else []


def _describe_difference(wanted: RunRow | None, stored: RunRow | None) -> str:
    if wanted == stored:
        return ""
    if stored is None:
        return "table runs lacks its row"
    if wanted is None:
        return "it has a row in table runs, although its records say that there is none any more"
    told = zip(RunRow._fields, stored, wanted, strict=True)
    wrong = [f"{name} is {there!r}, its records say {right!r}" for name, there, right in told if there != right]
    return f"its row in table runs is wrong: {'; '.join(wrong)}"


def _fold_row(ask: Ask, stream: str) -> RunRow | None:
    """Return the entry that follows from the events of the run; None if it should have none."""
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
    """Return (type, data, time) of each event. Only the first event of a run is decrypted, because it names the run's owner."""
    begun = [row for row in page if row[4] == RunStarted.__name__]
    secrets = load_by_id(ask, person_keys.c.key_id, person_keys.c.secret, rows.collect_key_ids(begun))
    return [(row[4], dict(_read_data(row, secrets)), row[3]) for row in page]


def _read_data(row: tuple[Any, ...], secrets: Mapping[str, str]) -> Mapping[str, Any]:
    if row[4] == RunStarted.__name__:
        return rows.to_stored_event(row, "", secrets).data
    clear = orjson.loads(row[7])
    clear.pop(encryption.FIELD, None)
    return codec.join_parts(row[4], row[5], clear, {})

"""Finds the journal records that contain a text, also encrypted; decrypts only if necessary."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Literal, NamedTuple

from sqlalchemy import Connection, and_, bindparam, not_, select

from state.journal import encryption
from state.journal.encryption import DamagedCiphertext
from state.journal.journal import RecordHead
from state.sql.database import translate_errors
from state.sql.dialect import open_read_only
from state.sql.person_rows import SEALED, read_keys
from state.sql.row_mapping import build_place
from state.sql.tables import events

PAGE = 2000
_HEAD = (events.c.stream, events.c.seq, events.c.id, events.c.ts, events.c.type, events.c.v, events.c.actor)


Why = Literal["found", "erased", "damaged"]


class SearchHit(NamedTuple):
    """ "erased" and "damaged" ones cannot be decrypted and may contain it."""

    stream: str
    seq: int
    id: str
    type: str
    why: Why


Holds = Callable[[str], bool]
Search = Callable[[Mapping[str, Holds]], Iterator[SearchHit]]
"""By event type, it takes a function that tells a hit.

Leaves out a CallStarted whose card holds the same call, unless a record (perhaps the card's) is damaged.
"""
_CARDED = re.compile(r'"confirmation_id":"[^"]')
_MAKING = re.compile(r'"method":"(?:batch|[^"]*\.add)"', re.IGNORECASE)


@contextmanager
def open_search(url: str) -> Iterator[Search]:
    """Raises StoreUnwritable."""
    with open_read_only(url) as dialect:
        engine = dialect.engine
    error: type[Exception] = engine.dialect.loaded_dbapi.Error
    # A plan whose steps were all submitted is not searched, because each of its steps has records of its own.
    told_elsewhere = and_(events.c.type == "PlanRecorded", events.c.data.contains('"executed":true', autoescape=True))
    among = events.c.type.in_(bindparam("types", expanding=True))
    query = select(*_HEAD, events.c.data).where(among, not_(told_elsewhere)).execution_options(yield_per=PAGE)

    def looked(
        connection: Connection, holds_by_type: Mapping[str, Holds], secrets: Mapping[str, str], *, carded: bool
    ) -> Iterator[SearchHit]:
        for *head, data in connection.execute(query, {"types": list(holds_by_type)}):
            if carded is not (head[4] == "CallStarted" and _is_in_its_card(data, secrets)):
                continue
            why = _search_record(RecordHead(*head), data, secrets, holds_by_type[head[4]])
            if why is not None:
                yield SearchHit(stream=head[0], seq=head[1], id=head[2], type=head[4], why=why)

    def sift(holds_by_type: Mapping[str, Holds]) -> Iterator[SearchHit]:
        with translate_errors(error), engine.connect() as connection:
            secrets = {row["key_id"]: row["secret"] for row, _ in read_keys(connection)}
            damaged = False
            for place in looked(connection, holds_by_type, secrets, carded=False):
                damaged |= place.why == "damaged"
                yield place
            if damaged and "CallStarted" in holds_by_type:
                yield from looked(connection, {"CallStarted": holds_by_type["CallStarted"]}, secrets, carded=True)

    try:
        yield sift
    finally:
        engine.dispose()


def _is_in_its_card(data: str, secrets: Mapping[str, str]) -> bool:
    """Whether the card's record holds the call too; False if its person was erased."""
    if not _CARDED.search(data) or _MAKING.search(data):
        return False
    return secrets.get(encryption.parse_key_id(data.partition(SEALED)[2])) != encryption.ERASED


def _search_record(head: RecordHead, data: str, secrets: Mapping[str, str], holds: Holds) -> Why | None:
    if holds(data):
        return "found"
    _, mark, rest = data.partition(SEALED)
    if not mark:
        return None
    sealed = rest.partition('"')[0]
    secret = secrets.get(encryption.parse_key_id(sealed))
    if secret == encryption.ERASED:
        return "erased"
    if secret is None:
        return "damaged"
    try:
        return "found" if holds(encryption.decrypt(secret, sealed, build_place(head))) else None
    except DamagedCiphertext:
        return "damaged"

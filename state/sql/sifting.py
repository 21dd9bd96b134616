"""Which records of the journal hold a text, also where it is sealed (ring 1): far quicker than to read them all. Writes nothing.

It opens what it must and takes nothing apart; whoever asked reads the few that are left as always.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Literal, NamedTuple

from sqlalchemy import and_, bindparam, not_, select

from state import sealing
from state.journal import RecordHead
from state.sealing import DamagedSeal
from state.sql.dialect import looking
from state.sql.erasing import SEALED
from state.sql.rows import place
from state.sql.tables import events, person_keys

PAGE = 2000
_HEAD = (events.c.stream, events.c.seq, events.c.id, events.c.ts, events.c.type, events.c.v, events.c.actor)


Why = Literal["found", "erased", "damaged"]


class Sifted(NamedTuple):
    """Where a record stands that holds the text, or may: nobody can open it any more."""

    stream: str
    seq: int
    id: str
    type: str
    why: Why


Holds = Callable[[str], bool]
Sift = Callable[[Mapping[str, Holds]], Iterator[Sifted]]
"""The records of these types whose text holds what is looked for, each type with a question of its own; in no order."""


@contextmanager
def sieve(url: str) -> Iterator[Sift]:
    """Looks through the database behind `url` beside those who work with it; the sieve raises what the driver raises."""
    with looking(url) as dialect:
        engine = dialect.engine
    # A plan whose steps were all handed on is no news: each of them has records of its own.
    told_elsewhere = and_(events.c.type == "PlanRecorded", events.c.data.contains('"executed":true', autoescape=True))
    among = events.c.type.in_(bindparam("types", expanding=True))
    found = select(*_HEAD, events.c.data).where(among, not_(told_elsewhere)).execution_options(yield_per=PAGE)

    def sift(wanted: Mapping[str, Holds]) -> Iterator[Sifted]:
        with engine.connect() as connection:
            secrets = {row[0]: row[1] for row in connection.execute(select(person_keys.c.key_id, person_keys.c.secret))}
            for *head, data in connection.execute(found, {"types": list(wanted)}):
                why = _held(RecordHead(*head), data, secrets, wanted[head[4]])
                if why is not None:
                    yield Sifted(stream=head[0], seq=head[1], id=head[2], type=head[4], why=why)

    try:
        yield sift
    finally:
        engine.dispose()


def _held(head: RecordHead, data: str, secrets: Mapping[str, str], holds: Holds) -> Why | None:
    if holds(data):
        return "found"
    _, mark, rest = data.partition(SEALED)
    if not mark:
        return None
    sealed = rest.partition('"')[0]
    secret = secrets.get(sealing.key_id(sealed))
    if secret == sealing.ERASED:
        return "erased"
    if secret is None:
        return "damaged"
    try:
        return "found" if holds(sealing.opened(secret, sealed, place(head))) else None
    except DamagedSeal:
        return "damaged"

"""Channels that nothing is delivered to: what their sessions are told is kept in the journal, for whoever asks for it. Ring 2, pure."""

from collections.abc import Sequence
from typing import Final

from state.events_telling import AnswerGiven
from state.store import OutboxRow

PULL_CHANNELS: Final = frozenset({"http"})
RELAYED: Final = "retold"
"""Kind of the input by which a session takes in what another one wanted to tell it: {kind, key, body}."""


def is_pulled(session: str) -> bool:
    """Whether the reader of that session asks for what it is told."""
    return session.partition(":")[0] in PULL_CHANNELS


def split_pulled_rows(rows: Sequence[OutboxRow], session: str, cause: str) -> tuple[list[AnswerGiven], Sequence[OutboxRow]]:
    """Of what a step of `session` says: what becomes part of its journal, and what is delivered."""
    if not is_pulled(session):
        return [], rows
    own = {session, f"{session}:toast"}
    kept = [AnswerGiven(cause=cause, kind=row.kind, outbox_key=row.key, body=dict(row.body)) for row in rows if row.session in own]
    return kept, [row for row in rows if row.session not in own]

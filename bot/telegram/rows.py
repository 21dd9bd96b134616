"""Inbox rows of one update, and what else it may come to. Ring 3, pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from orchestrator.messages import Actor, Notice
from state.clock import generate_id
from state.store import InboxRow, Lane


@dataclass(frozen=True, kw_only=True)
class ParsedUpdate:
    """An update as the product understands it: inputs to store, or an answer to give at once."""

    session: str = ""
    rows: tuple[InboxRow, ...] = ()
    say: Notice | None = None
    callback_id: str = ""
    """A press that is answered at once, with `toast` if there is something to say."""
    toast: Notice | None = None


@dataclass(frozen=True, kw_only=True)
class RowBuilder:
    """Builds the inbox rows of one update: of whom, from where, when."""

    source: str
    session: str
    actor: Actor
    now: datetime

    def build(self, kind: str, lane: Lane, body: Mapping[str, Any], *, session: str = "") -> ParsedUpdate:
        """One input, of this conversation or of another one."""
        row = InboxRow(
            id=generate_id(),
            source=self.source,
            session=session or self.session,
            lane=lane,
            kind=kind,
            actor=self.actor.model_dump(mode="json"),
            body=body,
            received_at=self.now,
        )
        return ParsedUpdate(session=self.session, rows=(row,))

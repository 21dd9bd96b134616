"""`GET /sessions/{id}/events`: what happened in a conversation, from a place on, and what comes next. Ring 3; reads only."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from bot.http_api.cursors import CursorText, cursor, place_of
from bot.http_api.desk import SESSION, Desk, words_for
from bot.http_api.errors import ApiError, documented
from bot.http_api.event_models import Eyes, SessionEvent, public
from bot.http_api.identity import ClientOf
from bot.http_api.tokens import Client
from orchestrator.reports.unreadable import PastDamage
from state.store import Store, StoredEvent

_KIND: Final = "e"
_PAGE: Final = 200
_MOST: Final = 2000
"""Stored events that one request looks at; of most of them nothing is told."""
LONGEST_WAIT: Final = 30
WAITING: Final = 200
"""Requests that may wait at once; one more is answered at once."""
_DIGITS: Final = 15


class Asked(BaseModel):
    """From where on, how many, and for how long to wait for the first."""

    model_config = ConfigDict(extra="forbid")
    after: CursorText | None = None
    limit: int = Field(50, ge=1, le=200)
    wait: int = Field(0, ge=0, le=LONGEST_WAIT, description="Seconds to wait when nothing has happened yet.")


class SessionEvents(BaseModel):
    """What happened, the oldest first."""

    events: Sequence[SessionEvent]
    next: str = Field(description="`after` of the next request, also when nothing has happened.")
    more: bool = Field(description="Whether the next request finds more at once.")


@dataclass(frozen=True, kw_only=True)
class _Found:
    events: Sequence[SessionEvent]
    seq: int
    more: bool


class _Reading:
    """Reads conversations for callers, and counts those who wait."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._waiting = 0

    async def events(self, client: Client, session: str, asked: Asked) -> _Found:
        """The next events; ApiError 404 for a session that is not there or not this caller's to read."""
        place = place_of(asked.after, _KIND, 1)
        seq = _number(place[0]) if place else 0
        if not await self._is_there(client, session):
            raise _no_session()
        eyes = Eyes(tr=words_for(client), present=self._desk.viewer(client).means.present)
        last = _Found(events=(), seq=seq, more=False)

        async def some() -> _Found | None:
            nonlocal last
            if not self._sees(client, session):
                raise _no_session()
            last = await self._from(session, last.seq, asked.limit, eyes)
            return last if last.events or last.more else None

        wait = asked.wait if self._waiting < WAITING else 0
        self._waiting += 1
        try:
            return await self._desk.until(some, wait) or last
        finally:
            self._waiting -= 1

    async def _is_there(self, client: Client, session: str) -> bool:
        """Looked up whether or not the caller may see it, so that both take the same time."""
        if SESSION.fullmatch(session) is None:
            return False
        seq, _ = await self._desk.store.head(f"session:{session}")
        return self._sees(client, session) and seq > 0

    def _sees(self, client: Client, session: str) -> bool:
        """Whether the caller may read it by the rights of this moment: whoever waits has them no longer than they hold."""
        actor = self._desk.orchestrator.tools.present(client.actor)
        return actor is not None and self._desk.viewer(replace(client, actor=actor)).sees_session(session)

    async def _from(self, session: str, seq: int, limit: int, eyes: Eyes) -> _Found:
        found: list[SessionEvent] = []
        end = seq + _MOST
        while page := await self._desk.store.read(_page, f"session:{session}", seq):
            for event in page:
                one = public(event, eyes)
                if one is not None and len(found) == limit:
                    return _Found(events=found, seq=seq, more=True)
                found.extend([one] if one is not None else [])
                seq = event.seq
            if seq >= end:
                return _Found(events=found, seq=seq, more=True)
        return _Found(events=found, seq=seq, more=False)


def session_events(desk: Desk) -> APIRouter:
    """The endpoint (S004-58)."""
    router = APIRouter(prefix="/sessions", tags=["sessions"])
    reading = _Reading(desk)

    @router.get("/{session_id}/events", summary="What happened in a session", responses=documented(400, 401, 404, 429, 500, 503))
    async def events(
        client: ClientOf,
        session_id: Annotated[str, Path(description="A session.", examples=["http:site:42"])],
        asked: Annotated[Asked, Query()],
    ) -> SessionEvents:
        found = await reading.events(client, session_id, asked)
        return SessionEvents(events=found.events, next=cursor(_KIND, str(found.seq)), more=found.more)

    return router


def _no_session() -> ApiError:
    return ApiError(404, "session_not_found", "There is no such session.")


def _page(store: Store, stream: str, after: int) -> list[StoredEvent]:
    return list(PastDamage(store).read_events(stream, after, _PAGE))


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= _DIGITS):
        raise ApiError(400, "invalid_cursor", "The cursor is none of this list.")
    return int(text)

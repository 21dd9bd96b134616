"""The endpoint `GET /sessions/{id}/events`: the events of a conversation after a cursor, with long polling. It only reads."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from bot.http_api.audit.event_models import EventReader, SessionEvent, to_session_event
from bot.http_api.server.authentication import ClientOf
from bot.http_api.server.endpoint_context import SESSION, CursorText, EndpointContext, build_translator, encode_cursor, parse_cursor
from bot.http_api.server.errors import ApiError, describe_errors
from bot.http_api.server.tokens import Client
from orchestrator.reports.reading.damaged_records import DamageTolerantStore
from state.journal.store import Store, StoredEvent

_KIND: Final = "e"
_PAGE: Final = 200
_MAX_SCANNED: Final = 2000
"""Maximum number of stored events read per request; most of them are not shown."""
LONGEST_WAIT: Final = 30
MAX_WAITING: Final = 200
"""Maximum number of requests that wait at once; any further one is answered without waiting."""
_DIGITS: Final = 15


class EventsQuery(BaseModel):
    """The query of a session's events: the cursor to begin after, the page size, and how many seconds to wait if there is no event yet."""

    model_config = ConfigDict(extra="forbid")
    after: CursorText | None = None
    limit: int = Field(50, ge=1, le=200)
    wait: int = Field(0, ge=0, le=LONGEST_WAIT, description="Seconds to wait when nothing has happened yet.")


class SessionEvents(BaseModel):
    """One page of events, the oldest first."""

    events: Sequence[SessionEvent]
    next: str = Field(description="`after` of the next request, also when nothing has happened.")
    more: bool = Field(description="Whether the next request finds more at once.")


@dataclass(frozen=True, kw_only=True)
class _EventPage:
    events: Sequence[SessionEvent]
    seq: int
    more: bool


class _SessionReader:
    """Reads the events of conversations for callers, and limits how many requests wait at once."""

    def __init__(self, desk: EndpointContext) -> None:
        self._desk = desk
        self._waiting = 0

    async def read_events(self, client: Client, session: str, asked: EventsQuery) -> _EventPage:
        """Return the next page of events after the cursor; if there are none, wait for some as long as the query allows.

        The page is empty if nothing happened in that time. Raises ApiError 404 if the session does not exist or the caller may not read it,
        and 400 for an invalid cursor.
        """
        place = parse_cursor(asked.after, _KIND, 1)
        seq = _parse_seq(place[0]) if place else 0
        if not await self._is_readable(client, session):
            raise _build_not_found()
        eyes = EventReader(tr=build_translator(client), refresh_actor=self._desk.build_viewer(client).deps.present)
        last = _EventPage(events=(), seq=seq, more=False)

        async def some() -> _EventPage | None:
            nonlocal last
            if not self._may_read(client, session):
                raise _build_not_found()
            last = await self._read_page(session, last.seq, asked.limit, eyes)
            return last if last.events or last.more else None

        wait = asked.wait if self._waiting < MAX_WAITING else 0
        self._waiting += 1
        try:
            return await self._desk.wait_until(some, wait) or last
        finally:
            self._waiting -= 1

    async def _is_readable(self, client: Client, session: str) -> bool:
        """Return whether the session exists and the caller may read it.

        The session is looked up even if the caller may not read it, so that timing does not reveal whether it exists.
        """
        if SESSION.fullmatch(session) is None:
            return False
        seq, _ = await self._desk.store.read_head(f"session:{session}")
        return self._may_read(client, session) and seq > 0

    def _may_read(self, client: Client, session: str) -> bool:
        """Return whether the caller may read the session now; rights may be revoked while the request waits."""
        actor = self._desk.orchestrator.tools.refresh_actor(client.actor)
        return actor is not None and self._desk.build_viewer(replace(client, actor=actor)).may_see_session(session)

    async def _read_page(self, session: str, seq: int, limit: int, eyes: EventReader) -> _EventPage:
        found: list[SessionEvent] = []
        end = seq + _MAX_SCANNED
        while page := await self._desk.store.read(_read_stored, f"session:{session}", seq):
            for event in page:
                one = to_session_event(event, eyes)
                if one is not None and len(found) == limit:
                    return _EventPage(events=found, seq=seq, more=True)
                found.extend([one] if one is not None else [])
                seq = event.seq
            if seq >= end:
                return _EventPage(events=found, seq=seq, more=True)
        return _EventPage(events=found, seq=seq, more=False)


def build_session_events_router(desk: EndpointContext) -> APIRouter:
    """Return the router with the endpoint `GET /sessions/{id}/events` (S004-58)."""
    router = APIRouter(prefix="/sessions", tags=["sessions"])
    reading = _SessionReader(desk)

    @router.get("/{session_id}/events", summary="What happened in a session", responses=describe_errors(400, 401, 404, 429, 500, 503))
    async def events(
        client: ClientOf,
        session_id: Annotated[str, Path(description="A session.", examples=["http:site:42"])],
        asked: Annotated[EventsQuery, Query()],
    ) -> SessionEvents:
        found = await reading.read_events(client, session_id, asked)
        return SessionEvents(events=found.events, next=encode_cursor(_KIND, str(found.seq)), more=found.more)

    return router


def _build_not_found() -> ApiError:
    return ApiError(404, "session_not_found", "There is no such session.")


def _read_stored(store: Store, stream: str, after: int) -> list[StoredEvent]:
    return list(DamageTolerantStore(store).read_events(stream, after, _PAGE))


def _parse_seq(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= _DIGITS):
        raise ApiError(400, "invalid_cursor", "The cursor is none of this list.")
    return int(text)

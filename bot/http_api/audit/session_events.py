"""Events after a cursor, with long polling, and `GET /sessions/{id}/events`."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final, TypeVar

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from bot.http_api.audit.event_models import SessionEvent, to_session_event
from bot.http_api.audit.run_events import EventReader
from bot.http_api.server.callers import ClientOf, name_operation
from bot.http_api.server.endpoint_context import SESSION, CursorText, EndpointContext, build_translator, encode_cursor, parse_cursor
from bot.http_api.server.errors import ApiError, describe_errors
from bot.http_api.server.tokens import Client
from orchestrator.reports.reading.damaged_records import DamageTolerantStore
from state.journal.store import Store, StoredEvent

T = TypeVar("T")
_KIND: Final = "e"
_PAGE: Final = 200
_MAX_SCANNED: Final = 2000
"""Per request; most are not shown."""
LONGEST_WAIT: Final = 30
MAX_WAITING: Final = 200
"""Any further request is answered without waiting."""
_DIGITS: Final = 15


class EventsQuery(BaseModel):
    """`wait` is in seconds, if there is no event yet."""

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
class EventPage:
    """Each event with its number, and the number of the last stored event that was read."""

    events: Sequence[tuple[int, SessionEvent]]
    seq: int
    more: bool

    def to_answer(self) -> SessionEvents:
        return SessionEvents(events=[event for _, event in self.events], next=format_place(self.seq), more=self.more)


@dataclass(frozen=True, kw_only=True)
class ReadableStream:
    """A conversation's or a run's, as far as the caller may read it."""

    name: str
    missing: ApiError
    """For a stream that does not exist or may not be read."""
    is_readable: Callable[[Client], bool]
    """With the client's present rights; asked again before each page."""
    shows_words: Callable[[Client], bool] = lambda _client: True
    """What people wrote and what the run made."""


class StreamReader:
    """Limits how many requests wait at once."""

    def __init__(self, desk: EndpointContext) -> None:
        self._desk = desk
        self._waiting = 0

    async def read_events(self, client: Client, stream: ReadableStream, query: EventsQuery) -> EventPage:
        """Empty if nothing happened in time. Raises `stream.missing`, and ApiError 400 for an invalid cursor."""
        seq = parse_place(query.after)
        head, _ = await self._desk.store.read_head(stream.name)  # also for a caller without rights, so that timing reveals nothing
        if not head:
            raise stream.missing
        self._require_reader(client, stream)
        if seq > head:
            raise build_invalid_cursor()
        return await self.wait_for_page(client, stream, seq, limit=query.limit, wait=query.wait)

    async def wait_for_page(
        self, client: Client, stream: ReadableStream, seq: int, *, limit: int, wait: float, until: Callable[[], bool] = lambda: False
    ) -> EventPage:
        """Waits up to `wait` seconds for events, or until `until` returns True."""
        last = EventPage(events=(), seq=seq, more=False)

        async def some(present: Client) -> EventPage | None:
            nonlocal last
            eyes = EventReader(
                tr=build_translator(client),
                refresh_actor=self._desk.build_viewer(client).deps.present,
                shows_words=stream.shows_words(present),
            )
            last = await self._read_page(stream.name, last.seq, limit, eyes)
            return last if last.events or last.more or until() else None

        return await self.wait_for(client, stream, some, wait) or last

    async def wait_for(
        self, client: Client, stream: ReadableStream, look: Callable[[Client], Awaitable[T | None]], wait: float
    ) -> T | None:
        """Looks at once and after every change; None after `wait` seconds. Raises `stream.missing` when rights are gone."""

        async def look_if_allowed() -> T | None:
            observed = await look(self._require_reader(client, stream))
            self._require_reader(client, stream)  # what was found is told now, and the rights may have gone while it was read
            return observed

        within = wait if self._waiting < MAX_WAITING else 0
        self._waiting += 1
        try:
            return await self._desk.wait_until(look_if_allowed, within)
        finally:
            self._waiting -= 1

    def shows_words(self, client: Client, stream: ReadableStream) -> bool:
        """With the client's present rights."""
        present = self._refresh(client)
        return present is not None and stream.is_readable(present) and stream.shows_words(present)

    def _require_reader(self, client: Client, stream: ReadableStream) -> Client:
        present = self._refresh(client)
        if present is None or not stream.is_readable(present):
            raise stream.missing
        return present

    def _refresh(self, client: Client) -> Client | None:
        """None without access: rights may be revoked while a request waits."""
        actor = self._desk.orchestrator.tools.refresh_actor(client.actor)
        return replace(client, actor=actor) if actor is not None else None

    async def _read_page(self, stream: str, seq: int, limit: int, eyes: EventReader) -> EventPage:
        events: list[tuple[int, SessionEvent]] = []
        end = seq + _MAX_SCANNED
        while page := await self._desk.store.read(_read_stored, stream, seq):
            for event in page:
                session_event = to_session_event(event, eyes)
                if session_event is not None and len(events) == limit:
                    return EventPage(events=events, seq=seq, more=True)
                events.extend([(event.seq, session_event)] if session_event is not None else [])
                seq = event.seq
            if seq >= end:
                return EventPage(events=events, seq=seq, more=True)
        return EventPage(events=events, seq=seq, more=False)


def build_session_events_router(desk: EndpointContext, reading: StreamReader) -> APIRouter:
    router = APIRouter(prefix="/sessions", tags=["sessions"], generate_unique_id_function=name_operation)

    @router.get("/{session_id}/events", summary="What happened in a session", responses=describe_errors(400, 401, 404, 429, 500, 503))
    async def events(
        client: ClientOf,
        session_id: Annotated[str, Path(description="A session.", examples=["http:site:42"])],
        query: Annotated[EventsQuery, Query()],
    ) -> SessionEvents:
        missing = ApiError(404, "session_not_found", "There is no such session.")
        if SESSION.fullmatch(session_id) is None:
            parse_place(query.after)
            raise missing
        readable_stream = ReadableStream(
            name=f"session:{session_id}",
            missing=missing,
            is_readable=lambda present: desk.build_viewer(present).may_see_session(session_id),
        )
        return (await reading.read_events(client, readable_stream, query)).to_answer()

    return router


def format_place(seq: int) -> str:
    """The cursor after the event with this number."""
    return encode_cursor(_KIND, str(seq))


def parse_place(cursor: str | None) -> int:
    """0 without one. Raises ApiError 400 for an invalid cursor."""
    place = parse_cursor(cursor, _KIND, 1)
    return _parse_seq(place[0]) if place else 0


def _read_stored(store: Store, stream: str, after: int) -> list[StoredEvent]:
    return list(DamageTolerantStore(store).read_events(stream, after, _PAGE))


def _parse_seq(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= _DIGITS):
        raise build_invalid_cursor()
    return int(text)


def build_invalid_cursor(name: str = "after") -> ApiError:
    """`name` is what the caller called it."""
    return ApiError(400, "invalid_cursor", f"{name}: the cursor is none of this list; use one that a page or an event of it gave.")

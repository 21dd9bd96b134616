"""`POST /bitrix/events` stores an event and answers at once. Without a token the answer tells nothing; tokens are never logged."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta

from fastapi import APIRouter, Request, Response
from pydantic import SecretStr
from starlette.requests import ClientDisconnect

from bitrix.client.portal_events import MAX_BYTES, EventError, PortalEvent, is_authentic, parse
from state.clock import Clock, generate_id
from state.journal.store import InboxRow, StoreError, StoreUnwritable

log = logging.getLogger(__name__)

PATH = "/bitrix/events"
READ_WITHIN = 10.0
READ_AT_ONCE = 100
"""Further requests wait; their timeout starts when their turn comes."""
LOG_INTERVAL = timedelta(minutes=1)
"""With their count, so that a flood cannot fill the log."""

Receive = Callable[[Sequence[InboxRow]], Awaitable[list[bool]]]


class _TooLong(Exception):
    pass


class RefusedEvents:
    """Without a valid token or event."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._silent_until: datetime | None = None
        self.count = 0

    def record(self, why: str) -> None:
        """At most one is logged in each `LOG_INTERVAL`."""
        self.count += 1
        now = self._clock.now()
        if self._silent_until is None or now >= self._silent_until:
            self._silent_until = now + LOG_INTERVAL
            log.warning("an event was turned away: %s (%d so far)", why, self.count, extra={"action": "event_refused", "count": self.count})


def build_portal_events_router(receive: Receive, tokens: Sequence[SecretStr], session: str, clock: Clock) -> APIRouter:
    """200 also for an event stored before, 400 no event, 403 no token, 408 too slow, 413 too long, 503 nothing can be stored."""
    router = APIRouter()
    strangers = RefusedEvents(clock)
    reading = asyncio.Semaphore(READ_AT_ONCE)

    @router.post(PATH, include_in_schema=False)
    async def receive_event(request: Request) -> Response:
        try:
            async with reading, asyncio.timeout(READ_WITHIN):
                body = await _read_body(request)
            event = parse(body, request.headers.get("content-type", ""))
        except EventError as error:
            strangers.record(error.why)
            return Response(status_code=400)
        except _TooLong:
            strangers.record("it is too long")
            return Response(status_code=413, headers={"connection": "close"})
        except (TimeoutError, ClientDisconnect):
            return Response(status_code=408, headers={"connection": "close"})
        if not is_authentic(event, tokens):
            strangers.record("its token is not ours" if tokens else "BITRIX_EVENT_TOKEN is not set")
            return Response(status_code=403)
        return await _stored(event)

    async def _stored(event: PortalEvent) -> Response:
        try:
            await receive([_build_row(event, session, clock.now())])
        except StoreError as error:
            log.error("an event cannot be stored: %s", error, extra={"action": "store_trouble"})  # noqa: TRY400 - no stack needed
            return Response(status_code=503)
        return Response(status_code=200)

    return router


def build_closed_portal_events_router(clock: Clock) -> APIRouter:
    """Answers as the working endpoint does, so that it does not reveal whether events are set up."""

    async def nowhere(rows: Sequence[InboxRow]) -> list[bool]:
        raise StoreUnwritable(f"{len(rows)} events, and no portal is listened to")

    return build_portal_events_router(nowhere, (), "", clock)


async def _read_body(request: Request) -> bytes:
    """Raises _TooLong."""
    announced = request.headers.get("content-length", "")
    if announced.isascii() and announced.isdecimal() and int(announced[:20]) > MAX_BYTES:
        raise _TooLong
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MAX_BYTES:
            raise _TooLong
    return bytes(body)


def _build_row(event: PortalEvent, session: str, now: datetime) -> InboxRow:
    """`source` identifies the event: the portal may send it again."""
    return InboxRow(
        id=generate_id(),
        source=f"bitrix:{event.identity}",
        session=session,
        lane="express",
        kind="portal_event",
        actor={"key": "portal", "name": event.domain},
        body={"event": event.event, "target": event.target, "action": event.action, "ts": event.ts, "member_id": event.member_id},
        received_at=now,
    )

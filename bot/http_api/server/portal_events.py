"""The endpoint `POST /bitrix/events`: checks and stores an event of the portal and answers at once; it is processed later.

Answers nothing useful to a caller without a token, and never logs a token.
"""

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
"""Maximum number of bodies read at once; others wait, and their timeout starts when they are read."""
LOG_INTERVAL = timedelta(minutes=1)
"""Refused events are logged once per interval with their count, so that a flood cannot fill the log."""

Receive = Callable[[Sequence[InboxRow]], Awaitable[list[bool]]]


class _TooLong(Exception):
    """The body is longer than any event."""


class RefusedEvents:
    """Counts requests without a valid token or without a valid event."""

    def __init__(self, clock: Clock) -> None:
        """Create a counter at zero."""
        self._clock = clock
        self._silent_until: datetime | None = None
        self.count = 0

    def record(self, why: str) -> None:
        """Count one refused event, and log it unless one was logged within `LOG_INTERVAL`."""
        self.count += 1
        now = self._clock.now()
        if self._silent_until is None or now >= self._silent_until:
            self._silent_until = now + LOG_INTERVAL
            log.warning("an event was turned away: %s (%d so far)", why, self.count, extra={"action": "event_refused", "count": self.count})


def build_portal_events_router(receive: Receive, tokens: Sequence[SecretStr], session: str, clock: Clock) -> APIRouter:
    """Return the router that stores portal events in `session`.

    Answers 200 stored or already known, 400 no event, 403 no valid token, 408 too slow, 413 too long, 503 not stored.
    """
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
    """Return the same endpoint for an installation without events: every token is refused, and the answers do not reveal why."""

    async def nowhere(rows: Sequence[InboxRow]) -> list[bool]:
        raise StoreUnwritable(f"{len(rows)} events, and no portal is listened to")

    return build_portal_events_router(nowhere, (), "", clock)


async def _read_body(request: Request) -> bytes:
    """Return the body; raises _TooLong above an event's maximum length."""
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
    """Build the input for the portal's session; a repeated delivery has the same source and is stored once."""
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

"""Whether the portal's events are wanted here is nobody's business: the address answers alike with and without BITRIX_EVENT_TOKEN."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import httpx
import pytest
from fastapi import APIRouter
from pydantic import SecretStr

from bitrix.client.portal_events import FORM, MAX_BYTES
from bot.http_api.server.app import build_app
from bot.http_api.server.portal_events import PATH, build_portal_events_router
from bot.http_api.server.serving import bind_socket, serve
from state.journal.store import InboxRow
from tests.contract.test_http_events import NOW, SESSION, TOKEN, form
from tests.fixed_clock import FixedClock

ASKED: Sequence[tuple[str, bytes, str]] = (
    ("GET", b"", ""),
    ("HEAD", b"", ""),
    ("OPTIONS", b"", ""),
    ("PUT", b"x", FORM),
    ("DELETE", b"", ""),
    ("POST", b"", FORM),
    ("POST", form(**{"auth[application_token]": "wrong"}), FORM),
    ("POST", form(**{"auth[application_token]": ""}), FORM),
    ("POST", form(ts="soon"), FORM),
    ("POST", form(), "application/json"),
    ("POST", b"x" * (MAX_BYTES + 1), FORM),
)


async def _stored(rows: Sequence[InboxRow]) -> list[bool]:
    raise AssertionError(rows)


@asynccontextmanager
async def _served(*routers: APIRouter) -> AsyncIterator[httpx.AsyncClient]:
    listener = bind_socket("127.0.0.1", 0)
    port = listener.getsockname()[1]
    serving = asyncio.ensure_future(serve(build_app(*routers), listener))
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as http:
            yield http
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)


async def _answers(http: httpx.AsyncClient) -> list[tuple[int, bytes, list[tuple[str, str]]]]:
    found = []
    for method, content, kind in ASKED:
        answer = await http.request(method, PATH, content=content, headers={"content-type": kind} if kind else {})
        told = [(name, value) for name, value in answer.headers.multi_items() if name not in {"date", "x-trace-id"}]
        found.append((answer.status_code, answer.content, sorted(told)))
    return found


async def test_a_stranger_cannot_tell_whether_events_are_wanted() -> None:
    """Statuses, words and headers of every method and of every event without a valid token."""
    wanted = build_portal_events_router(_stored, [SecretStr(TOKEN)], SESSION, FixedClock(NOW))
    async with _served(wanted) as opened, _served() as closed:
        assert await _answers(opened) == await _answers(closed)


async def test_ops_read_why_an_event_was_turned_away(caplog: pytest.LogCaptureFixture) -> None:
    """A portal that posts where nothing is set up is a mistake of theirs, and the log names it; the event goes nowhere."""
    async with _served() as http:
        with caplog.at_level(logging.WARNING):
            answer = await http.post(PATH, content=form(), headers={"content-type": FORM})
    assert (answer.status_code, answer.content) == (403, b"")
    assert "BITRIX_EVENT_TOKEN is not set" in caplog.text
    assert TOKEN not in caplog.text

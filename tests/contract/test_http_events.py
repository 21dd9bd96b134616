"""The receiver of the portal's events: what it answers, what it stores, what it never says, and nothing of whether events are wanted."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from fastapi import APIRouter, FastAPI
from pydantic import SecretStr

from bitrix.client.portal_events import FORM, MAX_BYTES
from bot.http_api.server import portal_events as receiver
from bot.http_api.server.app import build_app
from bot.http_api.server.portal_events import PATH, build_portal_events_router
from bot.http_api.server.serving import bind_socket, serve
from orchestrator.domain.errors import SettingsError
from state.journal.async_store import AsyncStore
from state.journal.store import InboxRow, StoreUnwritable
from state.sql import open_store
from tests.fixed_clock import FixedClock

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
TOKEN, OTHER = "51856fefc120afa4b628cc82d3935cce", "0123456789abcdef0123456789abcdef"
ACCESS = "s6p6eclrvim6da22ft9ch94ekreb52lv"
SESSION = "portal:romashka.bitrix24.ru"


class Door:
    """The receiver over a real store in memory."""

    def __init__(self) -> None:
        self.store = AsyncStore(open_store("sqlite://"))
        self.clock = FixedClock(NOW)
        self.broken = False
        router = build_portal_events_router(self._receive, [SecretStr(TOKEN), SecretStr(OTHER)], SESSION, self.clock)
        self.app: FastAPI = build_app(router)
        self.http = httpx.AsyncClient(transport=httpx.ASGITransport(app=self.app), base_url="http://bot")

    async def _receive(self, rows: Sequence[InboxRow]) -> list[bool]:
        if self.broken:
            raise StoreUnwritable("disk full")
        return (await self.store.put_inbox(rows)).fresh

    async def post(self, content: Any = None, content_type: str = FORM, **over: str) -> httpx.Response:
        """Deliver an event, or whatever `content` is."""
        body = content if content is not None else form(**over)
        return await self.http.post(PATH, content=body, headers={"content-type": content_type})

    async def stored(self) -> list[InboxRow]:
        """What waits in the inbox, taken off."""
        found = []
        while row := await self.store.take_inbox(SESSION, "express"):
            found.append(row)
            await self.store.finish_inbox(row.id, "done")
        return found


def form(**over: str) -> bytes:
    fields = {
        "event": "ONCRMDEALUPDATE",
        "event_handler_id": "1",
        "data[FIELDS][ID]": "410",
        "ts": "1790000000",
        "auth[domain]": "romashka.bitrix24.ru",
    }
    secrets = {"auth[member_id]": "a223", "auth[application_token]": TOKEN, "auth[access_token]": ACCESS}
    return urlencode({**fields, **secrets, **over}).encode()


@pytest.fixture
async def door() -> AsyncIterator[Door]:
    made = Door()
    yield made
    await made.http.aclose()
    await made.store.aclose()


async def test_an_event_is_stored_and_answered_and_a_second_delivery_is_stored_once(door: Door) -> None:
    """200 both times: a portal that delivers again must not be told that something is wrong."""
    answers = [await door.post() for _ in range(3)] + [await door.post(**{"auth[application_token]": OTHER, "ts": "1790000001"})]
    assert [(answer.status_code, answer.content) for answer in answers] == [(200, b"")] * 4
    first, second = await door.stored()
    assert first.source == "bitrix:a223:ONCRMDEALUPDATE:deal:410:1790000000"
    assert (first.kind, first.lane, first.session) == ("portal_event", "express", SESSION)
    assert first.body == {"event": "ONCRMDEALUPDATE", "target": "deal:410", "action": "update", "ts": 1790000000, "member_id": "a223"}
    assert second.body["ts"] == 1790000001
    assert TOKEN not in repr(first)
    assert ACCESS not in repr(first)


@pytest.mark.parametrize(
    ("status", "content", "content_type"),
    [
        (403, form(**{"auth[application_token]": "wrong"}), FORM),
        (403, form(**{"auth[application_token]": ""}), FORM),
        (403, b"event=ONCRMDEALUPDATE&ts=1", FORM),
        (400, b"", FORM),
        (400, form(ts="soon"), FORM),
        (400, form(), "application/json"),
        (413, b"x" * (MAX_BYTES + 1), FORM),
    ],
)
async def test_strangers_are_told_nothing(door: Door, status: int, content: bytes, content_type: str) -> None:
    """A status and not a word; nothing is stored."""
    answer = await door.post(content, content_type)
    assert (answer.status_code, answer.content) == (status, b"")
    assert await door.stored() == []


async def raw(door: Door, pieces: AsyncIterator[bytes]) -> int:
    """Post piece by piece without a length, as far as the receiver reads; the status of the answer."""
    scope = {"type": "http", "method": "POST", "path": PATH, "headers": [(b"content-type", FORM.encode())], "query_string": b""}
    scope |= {
        "http_version": "1.1",
        "scheme": "http",
        "server": ("bot", 80),
        "client": ("x", 1),
        "root_path": "",
        "raw_path": PATH.encode(),
    }
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": await anext(pieces), "more_body": True}

    async def send(message: Any) -> None:
        sent.append(message)

    await door.app(scope, receive, send)
    return int(sent[0]["status"])


async def test_a_body_without_a_length_is_read_no_further_than_an_event_goes(door: Door) -> None:
    given = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal given
        while True:
            given += 4096
            yield b"a" * 4096

    assert await raw(door, endless()) == 413
    assert given <= MAX_BYTES + 4096


async def test_who_is_slow_is_sent_away(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receiver, "READ_WITHIN", 0.01)

    async def slow() -> AsyncIterator[bytes]:
        yield b"event="
        await asyncio.Event().wait()

    assert await raw(door, slow()) == 408


async def test_a_store_that_cannot_be_written_is_503_and_the_next_delivery_is_kept(door: Door) -> None:
    door.broken = True
    assert (await door.post()).status_code == 503
    door.broken = False
    assert (await door.post()).status_code == 200
    assert len(await door.stored()) == 1


async def test_strangers_are_counted_and_logged_once_a_minute_without_their_token(door: Door, caplog: pytest.LogCaptureFixture) -> None:
    """A flood does not fill the log."""
    caplog.set_level(logging.INFO)
    for _ in range(50):
        await door.post(**{"auth[application_token]": "guessed-token"})
    door.clock.advance(timedelta(minutes=2))
    await door.post(**{"auth[application_token]": "guessed-token"})
    lines = [record.getMessage() for record in caplog.records if getattr(record, "action", "") == "event_refused"]
    assert lines == [
        "an event was turned away: its token is not ours (1 so far)",
        "an event was turned away: its token is not ours (51 so far)",
    ]
    assert "guessed-token" not in caplog.text


async def test_there_is_nothing_else_to_be_found(door: Door) -> None:
    """No schema, no pages; the receiver takes posts only, and /healthz says that the program lives."""
    assert (await door.http.get("/healthz")).json() == {"ok": True}
    assert [(await door.http.get(path)).status_code for path in ("/", "/docs", "/openapi.json", "/redoc", PATH)] == [
        404,
        404,
        404,
        404,
        405,
    ]


async def test_it_is_served_until_cancelled_and_a_busy_port_is_one_sentence(door: Door) -> None:
    """Over a real socket; the port is taken before anything else begins, and given back."""
    listener = bind_socket("127.0.0.1", 0)
    port = listener.getsockname()[1]
    with pytest.raises(SettingsError, match=rf"HTTP_HOST and HTTP_PORT: 127\.0\.0\.1:{port} cannot be listened on"):
        bind_socket("127.0.0.1", port)
    serving = asyncio.ensure_future(serve(door.app, listener))
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as http:
        answer = await http.post(PATH, content=form(), headers={"content-type": FORM})
        assert (answer.status_code, "server" in answer.headers) == (200, False)
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await serving
    bind_socket("127.0.0.1", port).close()


async def test_a_storm_of_events_is_taken_whole(door: Door) -> None:
    """Three hundred connections at once, as an import makes them: the portal does not post again what is answered 503."""
    listener = bind_socket("127.0.0.1", 0)
    port = listener.getsockname()[1]
    serving = asyncio.ensure_future(serve(door.app, listener))
    streams = [await asyncio.open_connection("127.0.0.1", port) for _ in range(300)]
    for number, (_, writer) in enumerate(streams):
        body = form(**{"data[FIELDS][ID]": str(number + 1)})
        head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: {FORM}\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
    answers = {(await reader.readline()).split()[1] for reader, _ in streams}
    for _, writer in streams:
        writer.close()
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await serving
    assert answers == {b"200"}
    assert len(await door.stored()) == 300


async def test_so_many_bodies_are_read_at_once_and_who_waits_is_not_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """What strangers can fill of the memory stays small; the time to read begins with the reading."""
    monkeypatch.setattr(receiver, "READ_AT_ONCE", 2)
    door, begun, go = Door(), 0, asyncio.Event()

    async def body() -> AsyncIterator[bytes]:
        nonlocal begun
        begun += 1
        await go.wait()
        yield b"a" * (MAX_BYTES + 1)

    posts = [asyncio.ensure_future(raw(door, body())) for _ in range(5)]
    for _ in range(20):
        await asyncio.sleep(0)
    assert begun == 2
    go.set()
    assert await asyncio.gather(*posts) == [413] * 5
    await door.http.aclose()
    await door.store.aclose()


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

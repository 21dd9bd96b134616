"""The start: the app that is built after it, the receiver of events, and a database that belongs to one process."""

import asyncio
import socket
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest
from filelock import FileLock
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from bot.access.access import Access, Person
from bot.composition import database
from bot.composition.http_port import HttpParts, open_http_port
from bot.composition.late_app import BuiltApp, LateApp
from bot.settings.settings import Settings
from orchestrator.domain.errors import SettingsError
from orchestrator.runs.registry import Engines
from tests.unit.spine_kit import World


class _Building:
    """Builds an app with two addresses as soon as it is let."""

    def __init__(self) -> None:
        self.threads: list[threading.Thread] = []
        self.begun = threading.Event()
        self.may = threading.Event()
        self.worked = asyncio.Event()

    def build(self) -> BuiltApp:
        self.threads.append(threading.current_thread())
        self.begun.set()
        assert self.may.wait(20)

        async def answer(request: Request) -> PlainTextResponse:
            return PlainTextResponse(f"built {request.url.path}")

        async def work() -> None:
            self.worked.set()

        return BuiltApp(Starlette(routes=[Route("/healthz", answer), Route("/page", answer)]), work)


def _call(app: LateApp) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://late")


async def test_what_is_asked_early_waits_for_the_app_and_health_does_not() -> None:
    building = _Building()
    app = LateApp(building.build, early={"/healthz": {"ok": True}})
    async with _call(app) as http:
        waiting = [asyncio.ensure_future(http.get("/page")) for _ in range(3)]
        early = await http.get("/healthz")
        assert (early.json(), early.headers["cache-control"]) == ({"ok": True}, "no-store")
        assert not any(one.done() for one in waiting)
        building.may.set()
        assert {(await one).text for one in waiting} == {"built /page"}
        assert (await http.get("/healthz")).text == "built /healthz"
    assert len(building.threads) == 1
    assert building.threads[0] is not threading.main_thread()
    assert not building.worked.is_set()


async def test_the_app_is_built_and_its_work_done_although_nobody_asks() -> None:
    building = _Building()
    building.may.set()
    await asyncio.wait_for(LateApp(building.build).run(after=0), 20)
    assert len(building.threads) == 1
    assert building.worked.is_set()


async def test_who_gives_up_waiting_does_not_have_it_built_twice() -> None:
    building = _Building()
    app = LateApp(building.build)
    async with _call(app) as http:
        first = asyncio.ensure_future(http.get("/page"))
        await asyncio.to_thread(building.begun.wait, 20)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        second = asyncio.ensure_future(http.get("/page"))
        await asyncio.sleep(0)
        building.may.set()
        assert (await second).text == "built /page"
    assert len(building.threads) == 1


async def test_an_app_that_cannot_be_built_ends_its_work_and_fails_who_asks() -> None:
    def build() -> BuiltApp:
        raise ImportError("no such module")

    app = LateApp(build)
    with pytest.raises(ImportError):
        await app.run(after=0)
    async with _call(app) as http:
        with pytest.raises(ImportError):
            await http.get("/page")


class _Polling:
    """A door that Telegram posts nothing to."""

    def build_router(self) -> None:
        """Nothing."""


NO_POSTS: Any = _Polling()


def settings(**over: Any) -> Settings:
    return Settings(_env_file=None, **over)


def _parts(of: Settings, world: World) -> HttpParts:
    return HttpParts(settings=of, orchestrator=world.orchestrator, clock=world.clock, engines=Engines(), telegram=NO_POSTS)


async def test_without_a_token_no_port_is_opened_and_nothing_is_asked(world: World) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        busy = settings(http_port=taken.getsockname()[1], bitrix_event_token=" , ")
        async with open_http_port(_parts(busy, world)) as events:
            assert events is None
    assert world.portal.requests == []


async def test_a_busy_port_is_one_sentence_before_anything_begins(world: World) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        busy = settings(http_port=taken.getsockname()[1], bitrix_event_token="secret-token")
        with pytest.raises(SettingsError, match="HTTP_HOST and HTTP_PORT") as caught:
            async with open_http_port(_parts(busy, world)):
                pass
    assert "secret-token" not in str(caught.value)
    assert await world.orchestrator.is_idle()


def test_who_listens_for_an_employee() -> None:
    """Everybody who has that number and does not say no; a stranger's number is nobody's."""
    quiet = Person(telegram_id=3, name="Глеб", bitrix_user_id=7, notify="none")
    access = Access(
        [Person(telegram_id=1, name="Анна", bitrix_user_id=7), Person(telegram_id=2, name="Анна дома", bitrix_user_id=7), quiet]
    )
    assert [actor.key for actor in access.find_subscribers(7)] == ["tg:1", "tg:2"]
    assert access.find_subscribers(8) == []
    assert access.list_watched_users() == [7]
    assert Access([quiet, Person(telegram_id=4, name="Без номера")]).list_watched_users() == []


def build_settings(folder: Path) -> Settings:
    return Settings(_env_file=None, state_dir=folder)


@pytest.mark.req("G1")
async def test_the_lock_of_a_process_that_was_just_killed_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the dead one was starting, such as the process of a script, held its lock for some milliseconds: the next one refused to start."""
    monkeypatch.setattr(database, "LOCK_PATIENCE", 30.0)
    lock = FileLock(tmp_path / "sdelka.lock", thread_local=False)
    lock.acquire()
    threading.Timer(0.02, lock.release).start()
    async with database.open_async_store(build_settings(tmp_path)) as store:
        assert await store.list_ready_sessions() == []


async def test_a_second_process_reads_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two bots on one file would both answer."""
    monkeypatch.setattr(database, "LOCK_PATIENCE", 0.0)
    with FileLock(tmp_path / "sdelka.lock"), pytest.raises(SettingsError, match="stop it first, or set DATABASE_URL"):
        async with database.open_async_store(build_settings(tmp_path)):
            pass

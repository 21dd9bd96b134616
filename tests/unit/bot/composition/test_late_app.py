"""The app that is built after the start: built once, in a thread, for whoever comes first; its failure ends who serves it."""

import asyncio
import threading

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from bot.composition.late_app import BuiltApp, LateApp


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

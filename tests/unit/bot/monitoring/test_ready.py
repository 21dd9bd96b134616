"""`/healthz`, `/readyz`, `/metrics`: what each tells to whom, and that a silent party holds up nobody."""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiogram.exceptions import TelegramBadRequest, TelegramNetworkError
from aiogram.methods import GetMe
from fastapi import FastAPI
from pydantic import SecretStr

from bitrix.errors import NoAccess, NotSent, OutcomeUnknown, Refused
from bot.http_api.server.authentication import Authenticator, build_monitoring_check
from bot.http_api.server.error_handlers import explain_errors
from bot.http_api.server.health import RequestCounter, build_health_router, build_metrics_router
from bot.http_api.server.tokens import Tokens, read_tokens
from bot.monitoring import health_checks
from bot.monitoring.gauges import Scrape
from bot.monitoring.health_checks import Check, HealthChecks
from bot.monitoring.meters import Meters
from bot.monitoring.monitor import watch_loop_lag
from bot.monitoring.reachability import Reachability, ReachabilityTracker
from bot.monitoring.telegram_reachability import ReachabilityMiddleware
from orchestrator.domain.errors import ModelClientError
from state.clock import SystemClock, read_boottime

WATCH = "a-token-for-prometheus"
ADMIN, MANAGER = "admin-token-0123456789", "manager-token-0123456789"


def saying(why: str) -> Check:
    async def check() -> str:
        return why

    return check


async def hanging() -> str:
    await asyncio.sleep(60)
    return ""


@asynccontextmanager
async def door(checks: dict[str, Check], *, token: str | None = WATCH) -> AsyncIterator[tuple[httpx.AsyncClient, Meters]]:
    """The routers in an app as `bot.composition.process` puts them there."""
    meters = Meters()
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    app.state.identity = Authenticator(Tokens(read_tokens(SecretStr(f"ops={ADMIN}:admin:full,site={MANAGER}:manager:full"), "full")))
    may = build_monitoring_check(SecretStr(token) if token else None)
    app.include_router(build_health_router(HealthChecks(checks, SystemClock()), may))
    app.include_router(build_metrics_router(Scrape(meters.registry, None), may))
    explain_errors(app)
    app.add_middleware(RequestCounter, meters=meters)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://bot") as http:
        yield http, meters


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.req("S004-58")
async def test_ready_tells_strangers_names_and_those_with_a_token_since_when_and_why() -> None:
    """503 while one party is not well; alive is not asked of any party."""
    async with door({"database": saying(""), "portal": saying("no access")}) as (http, _):
        alive, told = await http.get("/healthz"), await http.get("/readyz")
        seen = await http.get("/readyz", headers=bearer(WATCH))
        manager = await http.get("/readyz", headers={"X-API-Key": MANAGER})
    assert (alive.status_code, alive.json()) == (200, {"ok": True})
    assert (told.status_code, told.json()) == (503, {"ready": False, "parties": {"database": "ok", "portal": "not"}})
    assert {name: (one["state"], one["why"], one["since"][-1]) for name, one in seen.json()["parties"].items()} == {
        "database": ("ok", "", "Z"),
        "portal": ("not", "no access", "Z"),
    }
    assert manager.status_code == 403

    async with door({"database": saying("")}) as (http, _):
        assert (await http.get("/readyz")).status_code == 200


async def test_a_party_that_hangs_is_not_well_and_holds_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """However often one looks, it is looked at once."""
    monkeypatch.setattr(health_checks, "PATIENCE", 0.05)
    monkeypatch.setattr(health_checks, "LOOK_AGAIN", 0.0)
    async with door({"database": hanging, "model": saying("")}) as (http, _):
        begun = read_boottime()
        answers = [(await http.get("/readyz", headers=bearer(WATCH))).json()["parties"] for _ in range(3)]
    assert read_boottime() - begun < 2
    assert [(one["database"]["why"], one["model"]["state"]) for one in answers] == [("no answer in time", "ok")] * 3
    assert answers[0]["database"]["since"] == answers[2]["database"]["since"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        (bearer(WATCH), 200),
        (bearer(ADMIN), 200),
        ({"X-API-Key": ADMIN}, 200),
        ({"X-API-Key": MANAGER}, 403),
        (bearer("wrong-token-0123456"), 401),
        ({"X-Forwarded-For": "127.0.0.1"}, 401),
    ],
)
async def test_nobody_scrapes_without_a_token(headers: dict[str, str], status: int) -> None:
    """Wherever the request comes from; and the refusal is in the form of the API."""
    async with door({}) as (http, _):
        answer = await http.get("/metrics", headers=headers)
    assert answer.status_code == status
    assert answer.headers["content-type"].startswith("application/json" if status != 200 else "text/plain")


async def test_without_metrics_token_and_identity_nobody_scrapes() -> None:
    """Not even with an empty bearer."""
    for headers in ({}, bearer(""), bearer("None"), bearer(WATCH)):
        async with door({}, token=None) as (http, _):
            assert (await http.get("/metrics", headers=headers)).status_code == 401


async def test_requests_are_counted_by_route_and_those_turned_away_by_reason() -> None:
    """An address nobody knows is "none", whatever stands in it; wrong tokens lock out here as elsewhere."""
    async with door({}) as (http, _):
        for number in range(7):
            await http.get(f"/Иван/{number}?phone=+79001234567")
        statuses = [(await http.get("/metrics", headers=bearer(f"wrong-{n:020}"))).status_code for n in range(7)]
        text = (await http.get("/metrics", headers=bearer(WATCH))).text
    assert statuses == [401] * 5 + [429] * 2
    assert 'sdelka_http_requests_total{method="GET",route="none",status="404"} 7.0' in text
    assert 'sdelka_http_refused_total{reason="unauthorized"} 5.0' in text
    assert 'sdelka_http_refused_total{reason="too_many_requests"} 2.0' in text
    assert "Иван" not in text
    assert "9001234567" not in text


async def test_a_party_is_asked_once_a_minute_and_only_when_it_was_silent() -> None:
    """What the work heard counts first; a probe that fails is an answer too."""
    asked: list[int] = []
    now = [1000.0]
    ear = Reachability(clock=lambda: now[0])

    async def probe() -> None:
        asked.append(1)
        raise TimeoutError

    check = health_checks.build_reachability_check(ear, probe)
    found = [await check() for _ in range(5)]
    assert (found, len(asked)) == (["no answer"] * 5, 1)
    ear.record(answers=True)
    assert (await check(), len(asked)) == ("", 1)


CASES: Sequence[tuple[Exception | None, str]] = [
    (None, ""),
    (Refused("ERROR_CORE", "текст клиента"), ""),
    (Refused("INVALID_CREDENTIALS", "", 401), "no access"),
    (NoAccess("BITRIX_OAUTH_REFRESH_TOKEN: текст"), "no access"),
    (NotSent("no connection to the portal: x"), "no connection"),
    (NotSent("slow down", code="QUERY_LIMIT_EXCEEDED", status=503), ""),
    (OutcomeUnknown("the answer was lost"), "no answer"),
]


@pytest.mark.parametrize(("error", "why"), CASES)
def test_a_refusal_of_the_portal_is_an_answer(error: Exception | None, why: str) -> None:
    """Only silence and lost access are not; and nothing that it wrote is repeated."""
    ears = ReachabilityTracker()
    ears.record_portal_call(error)
    assert (ears.portal.answers, ears.portal.why) == (not why, why)
    ears.record_model_call(ModelClientError("Иван") if why else None)
    assert ears.model.why == ("no answer" if why else "")


async def test_telegram_is_heard_through_every_call() -> None:
    """A refused message is an answer, a broken wire is none; the error goes on as it was."""
    ear = Reachability()
    listening: Any = ReachabilityMiddleware(ear)
    method = GetMe()

    async def made(error: Exception | None) -> bool | None:
        async def make(_: Any, __: Any) -> str:
            if error is not None:
                raise error
            return "ok"

        if error is None:
            assert await listening(make, None, method) == "ok"
        else:
            with pytest.raises(type(error)):
                await listening(make, None, method)
        return ear.answers

    assert await made(None) is True
    assert await made(TelegramNetworkError(method=method, message="x")) is False
    assert await made(TelegramBadRequest(method=method, message="chat not found")) is True


async def test_the_disk_and_the_loop_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that is not made yet counts as the one it will be made in; a late loop is noticed."""
    check = health_checks.build_disks_check({"STATE_DIR": tmp_path / "not" / "there"})
    assert await check() == ""
    monkeypatch.setattr(health_checks, "FREE_BYTES", 1 << 62)
    assert (await check()).endswith("free: STATE_DIR")
    monkeypatch.setattr(health_checks.os, "access", lambda place, mode: mode == os.F_OK)
    assert await check() == "no files can be made: STATE_DIR"

    late: asyncio.Queue[float] = asyncio.Queue()
    task = asyncio.ensure_future(watch_loop_lag(late.put_nowait, every=0.001))
    assert min([await late.get() for _ in range(3)]) > -0.001
    task.cancel()

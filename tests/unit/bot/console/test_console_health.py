"""The page of health: parties, limits, what waits, who works on what, and charts with their values beside them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from bitrix.limits.limiter import Limiter
from bitrix.limits.plan import OperatingTime
from bot.console.services import ConsoleServices
from bot.monitoring import figures
from bot.monitoring.health_checks import HealthChecks
from bot.monitoring.monitor import open_monitor
from bot.monitoring.reachability import PortalLimits
from orchestrator.model_client.router import CircuitBreaker
from state.sql.dialect import build_sqlite_url
from state.sql.store import open_store
from tests.unit.bot.console.console_kit import ANNA, OLGA, VERA, ConsoleWorld, OpenPage, a_console
from tests.unit.spine_kit import CHAT, card, message, press, raise_sum, reply

HOSTILE = "<img src=x onerror=alert(1)> **x** \u202e"


@asynccontextmanager
async def a_watched_console(folder: Path, *, why: str = "", **more: Any) -> AsyncIterator[ConsoleWorld]:
    """The product with its monitor; the portal does not answer if `why` says so."""
    url = build_sqlite_url(folder / "sdelka.db")
    async with a_console(folder, store=open_store(url), **more) as made:
        old = made.console.services
        settings = old.settings.model_copy(update={"database_url": SecretStr(url)})

        async def look() -> str:
            return why

        async with open_monitor(settings, made.world.store, made.world.clock) as monitor:
            made.console.services = ConsoleServices(
                settings=settings,
                orchestrator=old.orchestrator,
                access=old.access,
                engines=old.engines,
                clock=old.clock,
                monitor=monitor,
                health=HealthChecks({"portal": look}, made.world.clock),
            )
            yield made


async def approve_a_sum(made: ConsoleWorld) -> None:
    """Let Anna raise a sum and approve her card three minutes later."""
    made.world.model.will(reply(raise_sum()))
    await made.world.work(message("подними сумму сделки 481 до 1200000"))
    made.world.clock.advance(timedelta(minutes=3))
    [asked] = made.world.events("ConfirmationRequested")
    session = await made.world.session(CHAT)
    entry = card(session, str(asked.data["confirmation_id"]))
    await session.close()
    await made.world.work(press(entry))


@pytest.mark.req("C-37")
async def test_parties_limits_queue_leases_and_providers_stand_there(tmp_path: Path) -> None:
    """What does not work says why; the counter, a suspended method, waiting cards and a held session are named in words."""
    async with a_watched_console(tmp_path, why="no answer") as made:
        monitor = made.console.services.monitor
        assert monitor is not None
        limiter = Limiter(clock=lambda: 100.0)
        await limiter.acquire()
        spent = OperatingTime(480, clock=lambda: 100.0, now=made.world.clock.now)
        spent.suspend("crm.deal.list", None)
        monitor.reachability.limits = lambda: PortalLimits(requests=limiter.describe(), methods=spent.list_spent(), seconds=480)
        broken = CircuitBreaker(failures=1)
        admission = broken.admit()
        assert admission is not None
        admission.record(works=False)
        monitor.reachability.breakers = {"openai": broken}
        made.world.model.will(reply(raise_sum()))
        await made.world.work(message("подними сумму сделки 481 до 1200000"))
        held = await made.world.session(CHAT)
        assert (await made.open("/health")).has("Диалоги и запуски в обработке: 0"), "a lease is kept for a while after the work"
        await made.world.put(message("и ещё"))
        page = await made.open("/health")

        for words in ("Битрикс24", "не работает", "не отвечает", "Счётчик запросов: 1 из 50", "отправлены и ждут ответа: 1"):
            assert page.has(words), words
        for words in ("Битрикс24 пока не принимает", "Диалоги и запуски в обработке: 1", "Анна", "отключён после ошибок"):
            assert page.has(words), words
        texts = page.read_texts()
        assert texts[texts.index("Карточки ждут решения") + 1] == "1"
        await held.close()


@pytest.mark.req("C-38")
async def test_charts_show_calls_waits_and_usage_with_values_beside(tmp_path: Path) -> None:
    """One change was done, its card waited 1-5 minutes, and the tokens of the person are counted; each stands in a table too."""
    async with a_watched_console(tmp_path) as made:
        await approve_a_sum(made)
        page = await made.open("/health")
        assert not page.has("Графики")
        await page.connect()

        series = [one for one in page.elements if type(one).__name__ == "EChart"]
        calls, waits, *_ = [chart.options["series"][0]["data"] for chart in series]  # type: ignore[attr-defined]
        assert (sum(calls), calls[-1]) == (1, 1)
        assert waits == [0, 1, 0, 0, 0, 0, 0]
        texts = page.read_texts()
        assert texts[texts.index("1–5 мин") + 1] == "1"
        assert page.has("15:03. Обновляется раз в минуту")


@pytest.mark.req("C-38")
async def test_figures_are_read_once_a_minute_for_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second page a moment later reads nothing; after a minute it does."""
    now = 0.0
    monkeypatch.setattr(figures, "read_boottime", lambda: now)
    async with a_watched_console(tmp_path) as made:
        await _open_charts(made)
        await approve_a_sum(made)
        assert (await _open_charts(made)).has("За эти дни изменений не было")
        now = figures.FRESH + 1
        later = await _open_charts(made)
        assert later.has("15:03")
        assert not later.has("За эти дни изменений не было")


@pytest.mark.req("C-37")
async def test_a_check_that_takes_long_keeps_nobody_waiting(tmp_path: Path) -> None:
    """The page is there before the portal has answered, and shows how it is as soon as it has, once its browser has connected."""
    answers = asyncio.Event()

    async def wait_for_answer() -> str:
        await answers.wait()
        return "late answer"

    async with a_watched_console(tmp_path) as made:
        made.console.services = replace(made.console.services, health=HealthChecks({"portal": wait_for_answer}, made.world.clock))
        page, first = await made.open("/health"), await made.open("/")
        assert not page.has("late answer")
        assert not first.has("Битрикс24: не работает")
        answers.set()
        await page.connect()
        await first.connect()

        assert page.has("late answer")
        assert first.has("Битрикс24: не работает с")


async def _open_charts(made: ConsoleWorld) -> OpenPage:
    page = await made.open("/health")
    await page.connect()
    return page


@pytest.mark.req("C-37", "C-10")
async def test_only_administrators_see_health(tmp_path: Path) -> None:
    """A lead and a manager are led to the first page."""
    async with a_watched_console(tmp_path) as made:
        for person in (VERA, ANNA):
            assert "Что нужно боту" not in (await made.get("/health", person)).text


@pytest.mark.long
@pytest.mark.req("C-39")
async def test_hostile_names_in_charts_are_data_of_a_picture(tmp_path: Path) -> None:
    """A name of markup is a category of the chart and text of the table, cut; no tooltip makes HTML of it."""
    strange = ANNA.model_copy(update={"name": HOSTILE + "y" * 1_000_000})
    async with a_watched_console(tmp_path, people=(OLGA, strange)) as made:
        await approve_a_sum(made)
        page = await _open_charts(made)

        charts = [one.options for one in page.elements if type(one).__name__ == "EChart"]  # type: ignore[attr-defined]
        assert charts
        assert all(chart["tooltip"]["renderMode"] == "richText" for chart in charts)
        assert max(len(text) for text in page.read_texts()) < 500
        assert "<img src=x" not in page.html
        assert not [one for one in page.elements if one.tag == "img" or type(one).__name__ in {"Html", "Markdown"}]

"""The first page: what waits, what is unknown, what failed, how much is used, what is wrong, and where each line leads."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bitrix.limits.limiter import Limiter
from bitrix.limits.plan import OperatingTime
from bot.console import live
from bot.monitoring.health_checks import HealthChecks
from bot.monitoring.monitor import Monitor
from bot.monitoring.reachability import PortalLimits, ReachabilityTracker
from orchestrator.reports import unknown_calls
from state.clock import format_iso
from state.journal.freeze_switch import SwitchOperator, find_freeze
from state.sql.backlog import Backlog, Waiting
from tests.unit.bot.console.console_kit import ANNA, BORIS, OLGA, VERA, ConsoleWorld, OpenPage, a_console
from tests.unit.bot.console.test_console_approvals import HOSTILE, a_desk, ask
from tests.unit.runs.runs_kit import RUN, build_engines, start, steps
from tests.unit.spine_kit import press, raise_sum, until
from tests.unit.spine_portal import lost

DOCUMENTS = {("steps", "plan"): steps({"ask": "Какой тариф?", "options": ["А", "Б"]}), ("steps", "broken"): steps({"child": "nowhere"})}


def find_tile(page: OpenPage, code: str) -> tuple[str, str]:
    """The number of the tile with this title, and the tone in which it stands ("" for none)."""
    title = page.visit.say(code)
    [label] = [one for one in page.elements if getattr(one, "text", "") == title and "small" in one.classes]
    tile = next(one for one in label.ancestors() if "tile" in one.classes)
    [value] = [one for one in tile.descendants() if "tile-value" in one.classes]
    return str(getattr(value, "text", "")), next((name for name in tile.classes if name.startswith("tile-")), "").removeprefix("tile-")


def find_targets(page: OpenPage) -> list[str]:
    """The addresses to which the page's lines and tiles lead."""
    return [str(one.props["href"]) for one in page.elements if "href" in one.props]


@pytest.mark.req("C-13")
async def test_a_quiet_day_is_calm(made: ConsoleWorld) -> None:
    """With nothing to do the page says so, and shows no empty lists."""
    page = await made.open("/", OLGA)

    assert page.has(page.visit.say("console-today-calm"))
    assert find_tile(page, "console-today-waiting") == ("0", "")
    assert not page.has(page.visit.say("console-today-others"))


@pytest.mark.req("C-13")
async def test_what_waits_for_the_person_stands_apart_from_what_waits_for_others(tmp_path: Path) -> None:
    """A card that two people must decide waits for the lead, and for whoever asked it waits for others; a line leads to the card."""
    pair = {"rules": [{"entity": "deal", "above": 1_100_000, "then": "two_people", "why": "Решают двое"}]}
    async with a_desk(tmp_path, policy=pair) as made:
        card = await ask(made)
        own, lead, stranger = await made.open("/", ANNA), await made.open("/", VERA), await made.open("/", BORIS)

        assert find_tile(own, "console-today-waiting") == ("0", "")
        assert own.has(own.visit.say("console-today-others"))
        assert find_tile(lead, "console-today-waiting") == ("1", "live")
        assert all(f"/approvals/{card.confirmation_id}" in find_targets(page) for page in (own, lead))
        assert not stranger.has("Ромашка")


@pytest.mark.req("C-13", "C-17")
async def test_the_page_is_current(tmp_path: Path) -> None:
    """A new card appears on the open page, and goes when it was decided in Telegram."""
    async with a_desk(tmp_path) as made:
        page = await made.open("/", VERA)
        card = await ask(made)
        await made.tell_change()
        assert page.has("Ромашка")
        await made.world.orchestrator.receive([press(card, actor=ANNA.to_actor())])
        await made.world.idle()
        await made.tell_change()

        assert not page.has("Ромашка")


@pytest.mark.req("C-13")
async def test_a_call_of_unknown_outcome_is_there_until_it_is_known(tmp_path: Path) -> None:
    """Those who may see the call see it, with the page that says why; another manager does not."""
    async with a_desk(tmp_path) as made:
        card = await ask(made)
        made.world.portal.will("crm.deal.update", lost)
        await made.world.orchestrator.receive([press(card, actor=ANNA.to_actor())])
        await made.world.idle()

        for person in (ANNA, VERA, OLGA):
            page = await made.open("/", person)
            assert find_tile(page, "console-today-unknown") == ("1", "warn")
            assert f"/audit/{card.effect_id}" in find_targets(page)
        assert find_tile(await made.open("/", BORIS), "console-today-unknown") == ("0", "")


@pytest.mark.req("C-13")
async def test_unknown_calls_behind_those_of_others_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Older calls that somebody may not see do not stand before the own ones."""
    monkeypatch.setattr(unknown_calls, "_READ", (1, 2, 4))
    async with a_desk(tmp_path) as made:
        for person, deal in ((VERA, 500), (VERA, 501), (ANNA, 481)):
            made.world.clock.advance(timedelta(seconds=1))
            one = {"ID": str(deal), "ASSIGNED_BY_ID": str(person.bitrix_user_id)}
            made.world.portal.records["deal", deal] = {**made.world.portal.records["deal", 481], **one}
            card = await ask(made, raise_sum(1_200_000, deal), person=person, text=f"подними сумму сделки {deal}")
            made.world.portal.will("crm.deal.update", lost)
            await made.world.orchestrator.receive([press(card, actor=person.to_actor(), key=f"tg:{person.telegram_id}")])
            await made.world.idle()

        assert find_tile(await made.open("/", OLGA), "console-today-unknown") == ("3", "warn")
        assert find_tile(await made.open("/", ANNA), "console-today-unknown") == ("1", "warn")


@pytest.mark.req("C-10", "C-13")
async def test_a_call_about_records_of_others_is_hidden_from_who_may_not_see_them(tmp_path: Path) -> None:
    """A head of sales who may see the records of whoever asked sees no call of theirs about somebody else's deal, nor its name."""
    wide, narrow = BORIS.model_copy(update={"sees": "all"}), VERA.model_copy(update={"sees": (8,)})
    async with a_desk(tmp_path, people=(OLGA, narrow, ANNA, wide)) as made:
        card = await ask(made, person=wide)
        made.world.portal.will("crm.deal.update", lost)
        await made.world.orchestrator.receive([press(card, actor=wide.to_actor(), key="tg:1008")])
        await made.world.idle()
        assert find_tile(await made.open("/", OLGA), "console-today-unknown") == ("1", "warn")

        page = await made.open("/", narrow)

        assert find_tile(page, "console-today-unknown") == ("0", "")
        assert not page.has("Ромашка")


@pytest.mark.req("C-13")
async def test_runs_are_there_and_lead_to_their_pages(tmp_path: Path) -> None:
    """A run that waits and one that failed, each for its owner and for leads, and for nobody else."""
    async with a_desk(tmp_path, engines=build_engines(DOCUMENTS)) as made:
        other = f"{RUN[:-1]}2"
        await made.world.orchestrator.receive([start("plan", actor=ANNA.to_actor()), start("broken", actor=ANNA.to_actor(), key=other)])
        await made.world.idle()

        for person in (ANNA, VERA):
            page = await made.open("/", person)
            assert find_tile(page, "console-today-runs") == ("1", "bad")
            assert page.has("ждут: 1, с ошибкой: 1")
            assert {f"/runs/{key.removeprefix('run:')}" for key in (RUN, other)} <= set(find_targets(page))
        assert find_tile(await made.open("/", BORIS), "console-today-runs") == ("0", "")


@pytest.mark.req("C-13")
async def test_limits_and_cost_are_said(tmp_path: Path) -> None:
    """The day's changes against their limit, and what the model cost, of the person, and for an administrator of all people."""
    rules: dict[str, Any] = {
        "caps": {"writes_per_day": 1},
        "budget": {"prices": {"scripted": {"input": 1_000_000, "output": 1_000_000}}, "money_per_month": 20},
    }
    async with a_desk(tmp_path, policy=rules) as made:
        card = await ask(made)
        await made.world.orchestrator.receive([press(card, actor=ANNA.to_actor())])
        await made.world.idle()
        own, admin = await made.open("/", ANNA), await made.open("/", OLGA)

        assert find_tile(own, "console-today-changes") == ("1", "bad")
        assert own.has(own.visit.say("console-today-of", limit="1"))
        assert find_tile(own, "console-today-model")[1] == "bad"
        assert find_tile(own, "console-today-model")[0] == find_tile(admin, "console-today-model-all")[0] != "0\u00a0₽"
        assert find_tile(admin, "console-today-changes") == ("0", "")
        assert find_tile(await made.open("/", BORIS), "console-today-model")[0] == "0\u00a0₽"


@pytest.mark.req("C-13")
async def test_an_administrator_stops_all_writing_and_allows_it_again(tmp_path: Path) -> None:
    """The reason stands on everybody's page, the events say that it was done in the console, and nothing is written meanwhile."""
    async with a_desk(tmp_path) as made:
        page = await made.open("/", OLGA)
        await page.press(page.visit.say("console-today-freeze"))
        await page.enter(page.visit.say("console-today-freeze-reason"), "переезд портала")
        await page.press(page.visit.say("console-today-freeze-now"))
        standing = find_freeze(made.world.sql)
        assert standing is not None
        assert (standing.name, standing.reason) == ("Ольга", "переезд портала")
        seen = await made.open("/", BORIS)
        assert seen.has("переезд портала")
        assert not [one for one in seen.elements if getattr(one, "text", "") == seen.visit.say("console-today-release")]
        await page.press(page.visit.say("console-today-release"))
        await page.press(page.visit.say("console-today-release-now"))

        assert find_freeze(made.world.sql) is None
        events = made.world.sql.read_events("session:freeze")
        assert [(event.type, event.data["via"]) for event in events] == [("WritesFrozen", "console"), ("WritesReleased", "console")]


@pytest.mark.req("C-13", "C-17")
async def test_a_freeze_of_this_process_is_on_open_pages_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It waits for no poll of the database: nothing else works here that could tell of it."""
    monkeypatch.setattr(live, "AT_LEAST", 3_600)
    async with a_console(tmp_path) as made:
        page = await made.open("/", BORIS)
        following = asyncio.create_task(made.console.feed.run())
        await asyncio.sleep(0)
        hand = SwitchOperator(key="tg:1001", name="Ольга", via="http", at=made.world.clock.now())
        await made.console.services.desk.switch.freeze(hand, "переезд портала")

        await until(lambda: page.has("переезд портала"))

        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


@pytest.mark.req("C-10", "C-13")
async def test_an_old_dialog_does_not_end_a_later_freeze(tmp_path: Path) -> None:
    """Whoever confirms the release of a freeze that was released and set again meanwhile ends nothing."""
    async with a_desk(tmp_path) as made:
        first, second = await made.open("/", OLGA), await made.open("/", OLGA)
        await first.press(first.visit.say("console-today-freeze"))
        await first.press(first.visit.say("console-today-freeze-now"))
        await made.tell_change()
        await second.press(second.visit.say("console-today-release"))
        for words in ("console-today-release", "console-today-release-now", "console-today-freeze", "console-today-freeze-now"):
            await first.press(first.visit.say(words))
        await second.press(second.visit.say("console-today-release-now"))

        assert find_freeze(made.world.sql) is not None


@pytest.mark.req("C-13")
async def test_administrators_alone_are_told_what_does_not_work(tmp_path: Path) -> None:
    """A party that does not answer and messages that were given up are alerts that lead to the page of the health."""

    async def fails() -> str:
        return "no answer"

    async with a_console(tmp_path) as made:
        clock, oldest = made.world.clock, format_iso(made.world.clock.now() - timedelta(minutes=6))
        outbox = {("tg", "failed"): Waiting(count=3), ("tg", "new"): Waiting(count=1, oldest=oldest)}

        async def read_backlog() -> Backlog:
            return Backlog(outbox=outbox)

        health = HealthChecks({"portal": fails}, clock)
        made.console.services = replace(
            made.console.services,
            health=health,
            monitor=cast("Monitor", SimpleNamespace(read_backlog=read_backlog, reachability=ReachabilityTracker())),
        )
        admin, lead = await made.open("/", OLGA), await made.open("/", VERA)

        assert admin.has("Битрикс24: не работает с")
        assert admin.has(admin.visit.say("console-today-undelivered", count=3))
        assert admin.has(admin.visit.say("console-today-late"))
        assert "/health" in find_targets(admin)
        assert not lead.has("не работает")
        assert not lead.has(lead.visit.say("console-today-undelivered", count=3))


@pytest.mark.req("C-13")
async def test_administrators_see_how_much_of_the_limits_of_the_portal_is_used(tmp_path: Path) -> None:
    """The nearest limit counts, in steps of ten; a method that the portal takes no calls of is named, in words; others see nothing of it."""

    async def read_backlog() -> Backlog:
        return Backlog()

    async with a_console(tmp_path) as made:
        limiter = Limiter(clock=lambda: 100.0)
        spent = OperatingTime(480, clock=lambda: 100.0, now=made.world.clock.now)
        limits = lambda: PortalLimits(requests=limiter.describe(), methods=spent.list_spent(), seconds=480)  # noqa: E731 - what a client gives
        monitor = SimpleNamespace(read_backlog=read_backlog, reachability=ReachabilityTracker(limits=limits))
        made.console.services = replace(made.console.services, monitor=cast("Monitor", monitor))
        page, lead = await made.open("/", OLGA), await made.open("/", VERA)
        assert find_tile(page, "console-today-portal") == ("0 %", "")
        assert page.has(page.visit.say("console-today-calm"))
        assert not lead.has(lead.visit.say("console-today-portal"))

        for _ in range(42):
            await limiter.acquire()
        await made.tell_change()
        assert find_tile(page, "console-today-portal") == ("90 %", "warn")

        spent.suspend("crm.deal.update", None)
        await made.tell_change()
        assert find_tile(page, "console-today-portal") == ("90 %", "bad")
        assert page.has("Битрикс24 пока не принимает: Изменить сделку")
        assert not page.has(page.visit.say("console-today-calm"))


@pytest.mark.req("C-39")
async def test_hostile_text_stays_text(tmp_path: Path) -> None:
    """The title of a record stands in its line as it is, cut."""
    async with a_desk(tmp_path) as made:
        made.world.portal.records["deal", 481]["TITLE"] = HOSTILE + "я" * 100_000
        await ask(made)
        page = await made.open("/", ANNA)

        assert page.has("<img src=x onerror=alert(1)>")
        assert "<img src=x" not in page.html
        assert max(map(len, page.read_texts())) < 1_000

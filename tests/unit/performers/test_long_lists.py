"""A list that is too long to be kept is still added up whole, by code, over the sandbox portal; who waits sees how far it is."""

import asyncio
import gc
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from bot.i18n.translate import Translator
from orchestrator.domain.effect import Outcome
from orchestrator.domain.outputs import Notice
from orchestrator.engines.base import TurnInput
from orchestrator.performers import bitrix
from orchestrator.performers.bitrix import MAX_ROWS
from orchestrator.performers.read_progress import EVERY, ReadProgress
from orchestrator.sessions.recorded_turn import RecordedTurn
from orchestrator.sessions.turn_context import Context, TurnServices
from sandbox.portal.app import create_app
from sandbox.portal.portal import Settings
from tests.unit.spine_kit import NOW, VERA, World, a_world, effect, until
from tests.unit.spine_portal import CODE, Portal

BULK = 2600
DEALS = ("crm.deal.list", {"select": ["ID", "TITLE", "OPPORTUNITY", "CURRENCY_ID"], "order": {"TITLE": "DESC"}})
ITEMS = ("crm.item.list", {"entityTypeId": 2, "select": ["id", "title", "opportunity"], "order": {"title": "desc"}})
EITHER = {"logic": "OR", "0": {"<opportunity": 200_000}, "1": {">opportunity": 400_000}}
EITHER_ITEMS = ("crm.item.list", {"entityTypeId": 2, "filter": EITHER, "select": ["id", "opportunity"]})
PART = ("crm.deal.list", {"filter": {">OPPORTUNITY": 300_000}, "select": ["ID", "OPPORTUNITY"]})


@dataclass
class Wire:
    """Carries requests to the sandbox; `before` runs ahead of each, and may answer itself."""

    transport: httpx.ASGITransport
    sent: list[str] = field(default_factory=list)
    before: Callable[[str], Awaitable[httpx.Response | None]] | None = None

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        method = request.url.path.rpartition("/")[2]
        self.sent.append(method)
        await asyncio.sleep(0)  # as a real wire, which lets others go on
        if self.before is not None and (answer := await self.before(method)) is not None:
            return answer
        return await self.carry(method, json.loads(request.content))

    async def carry(self, method: str, params: dict[str, Any]) -> httpx.Response:
        asked = httpx.Request("POST", f"https://portal.example/rest/1/sandbox/{method}", json=params)
        answer = await self.transport.handle_async_request(asked)
        return httpx.Response(answer.status_code, content=await answer.aread(), headers={"Content-Type": "application/json"})


@dataclass
class Desk:
    """The product over a sandbox with many deals."""

    world: World
    wire: Wire
    shown: list[str | Notice] = field(default_factory=list)

    async def context(self) -> Context:
        """A turn of somebody who sees all."""

        async def partial(text: str | Notice) -> None:
            self.shown.append(text)

        tools = self.world.tools
        reach = TurnServices(gate=tools.gate, model=tools.model, queries=tools.queries, show_partial=partial)
        turn = TurnInput(turn_id="t1", text="сколько сделок и на сколько?")
        return Context(await self.world.session(), turn, actor=VERA, mode="full", reach=reach, recorded=RecordedTurn())

    async def read(self, method: str, params: dict[str, Any]) -> Outcome:
        context = await self.context()
        found = await context.submit(effect(method, params))
        await context._session.flush()
        assert found.status == "succeeded", found
        return found

    async def by_hand(self, method: str, params: dict[str, Any]) -> tuple[int, dict[str, Decimal]]:
        """Number and sums by plain pages, as somebody would check them."""
        sums: dict[str, Decimal] = {}
        count = 0
        start: int | None = 0
        names = ("opportunity", "currencyId") if "entityTypeId" in params else ("OPPORTUNITY", "CURRENCY_ID")
        while start is not None:
            answer = (await self.wire.carry(method, {**params, "select": list(names), "start": start})).json()
            rows = answer["result"]["items"] if "entityTypeId" in params else answer["result"]
            for row in rows:
                count += 1
                sums[row[names[1]]] = sums.get(row[names[1]], Decimal(0)) + Decimal(str(row[names[0]]))
            start = answer.get("next")
        return count, sums

    async def add_a_deal(self) -> None:
        fields = {"TITLE": "Новая", "OPPORTUNITY": "7000000", "CURRENCY_ID": "RUB"}
        assert (await self.wire.carry("crm.deal.add", {"fields": fields})).status_code == 200


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """A fresh sandbox behind the product."""
    app = create_app(Settings(bucket=None, clock=lambda: NOW, bulk_deals=BULK))
    wire = Wire(httpx.ASGITransport(app))
    async with a_world(tmp_path, portal=cast("Portal", wire)) as world:
        yield Desk(world, wire)
    await app.state.portal.events.aclose()
    app.state.portal.close()


def exact(sums: Any) -> dict[str, Decimal]:
    return {currency: Decimal(amount) for currency, amount in (sums or {}).items()}


@pytest.mark.long
@pytest.mark.req("S004-33")
@pytest.mark.parametrize("what", [DEALS, ITEMS, EITHER_ITEMS, PART])
async def test_a_long_list_is_added_up_whole(desk: Desk, what: tuple[str, dict[str, Any]]) -> None:
    """Number and sums are those of all rows under the filter, the rows kept are few, and so are the requests; the journal has the numbers only."""
    found = await desk.read(*what)
    sent = list(desk.wire.sent)
    count, sums = await desk.by_hand(*what)
    assert count > MAX_ROWS
    assert (found.total, exact(found.sums)) == (count, sums)
    assert found.reason is None
    assert sent.count("batch") <= 4
    event = desk.world.events("CallSucceeded")[-1].data
    kept = json.loads(await desk.world.store.load_blob(event["result_blob"]) or "")
    assert (len(kept), event["total"], exact(event["sums"])) == (MAX_ROWS, count, sums)
    seen = await desk.world.tools.queries["present"](outcome=found, actor=VERA)
    assert seen.total == seen.table.total == count
    assert "₽" in seen.sum_text
    assert CODE not in str(event)


@pytest.mark.parametrize(
    "what",
    [
        ("crm.deal.list", {"filter": {"<ID": 482}, "select": ["ID", "OPPORTUNITY"]}),
        ("crm.deal.list", {"select": ["ID", "TITLE"]}),
        ("crm.deal.list", {"select": ["ID", "OPPORTUNITY"], "start": 0}),
    ],
)
async def test_only_what_needs_it_is_read_to_its_end(desk: Desk, what: tuple[str, dict[str, Any]]) -> None:
    """A short list, one whose sums nobody asked for, and a single page cost what they did; nothing is said of a missing sum."""
    found = await desk.read(*what)
    assert (found.sums, found.reason) == (None, None)
    assert "batch" not in desk.wire.sent


@pytest.mark.long
async def test_a_list_that_changes_agrees_with_itself(desk: Desk) -> None:
    """A deal that comes after the portal's count is in the number and in the sum."""

    async def grow(method: str) -> None:
        if method == "batch" and desk.wire.sent.count("batch") == 1:
            await desk.add_a_deal()

    before = await desk.by_hand(*DEALS)
    desk.wire.before = grow
    found = await desk.read(*DEALS)
    after = await desk.by_hand(*DEALS)
    assert after[0] == before[0] + 1
    assert (found.total, exact(found.sums)) == after


@pytest.mark.parametrize(
    ("most", "within", "batch", "batches"), [(2000, 60, 200, 0), (BULK + 48, 60, 200, 2), (10**5, 0, 200, 1), (10**5, 60, 403, 1)]
)
async def test_a_sum_that_cannot_be_had_is_left_out_and_said(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, most: int, within: float, batch: int, batches: int
) -> None:
    """Too long from the start or while it is read, out of time, refused: the rows and the portal's count stay, and there is a sentence."""

    async def trouble(method: str) -> httpx.Response | None:
        if method == "batch" and batch != 200:
            return httpx.Response(batch, json={"error": "ACCESS_DENIED", "error_description": "нет"})
        if method == "batch" and desk.wire.sent.count("batch") == 1:
            await desk.add_a_deal()
        return None

    monkeypatch.setattr(bitrix, "MAX_SUMMED_ROWS", most)
    monkeypatch.setattr(bitrix, "WITHIN", within)
    desk.wire.before = trouble
    found = await desk.read(*DEALS)
    assert (len(found.result), found.total, found.sums) == (MAX_ROWS, BULK + 48, {})
    assert found.reason == Notice(code="sum-left-out")
    assert "no sum is given" in found.detail
    assert desk.wire.sent.count("batch") <= batches
    seen = await desk.world.tools.queries["present"](outcome=found, actor=VERA)
    assert (seen.total, seen.sum_text) == (BULK + 48, "")


@pytest.mark.parametrize("stopped", [Context.stop, None])
async def test_a_stop_ends_the_reading(desk: Desk, stopped: Callable[[Context], None] | None) -> None:
    """Who stops the turn, or the program, does not wait for thousands of rows; what was read is journalled, without a sum."""
    arrived = asyncio.Event()

    async def hang(method: str) -> None:
        if method == "batch":
            arrived.set()
            await asyncio.Event().wait()

    desk.wire.before = hang
    context = await desk.context()
    task = asyncio.ensure_future(context.submit(effect(*DEALS)))
    context.set_cancel_callback(task.cancel)
    await arrived.wait()
    (stopped or (lambda _: task.cancel()))(context)
    with pytest.raises(asyncio.CancelledError):
        async with asyncio.timeout(30):
            await task
    await context._session.flush()
    assert desk.wire.sent.count("batch") == 1
    assert [event.data["sums"] for event in desk.world.events("CallSucceeded")] == [{}]
    assert [item.total for item in context.results if isinstance(item, Outcome)] == [BULK + 48]


async def test_who_waits_sees_how_far_it_is(desk: Desk) -> None:
    """In words of the person's language, with the whole in them."""
    await desk.read(*DEALS)
    (first, *more) = [shown for shown in desk.shown if not isinstance(shown, Notice) or shown.code != "step"]
    assert isinstance(first, Notice)
    assert (first.code, first.args["total"]) == ("counting", BULK + 48)
    assert 0 < first.args["done"] <= BULK + 48
    assert more == []  # it took less than two seconds
    said = {
        locale: Translator(locale).translate_notice(Notice(code="counting", args={"done": 12500, "total": 23400}))
        for locale in ("ru", "en")
    }
    assert said == {"ru": "Считаю: 12\xa0500 из 23\xa0400…", "en": "Counting: 12,500 of 23,400…"}


@pytest.mark.long
async def test_signs_are_rare_and_hold_nothing_up(caplog: pytest.LogCaptureFixture) -> None:
    """One in two seconds, none while one is on its way, and one that fails costs nothing."""
    now, release, shown = [0.0], asyncio.Event(), list[int]()

    async def show(done: int, total: int) -> None:
        del total
        shown.append(done)
        await release.wait()
        raise OSError

    watch = ReadProgress(show, clock=lambda: now[0])
    async with watch.run_limited(5):
        for second in range(5):
            now[0] = second * EVERY
            watch.tell(second, 9)
            await asyncio.sleep(0)
        assert shown == [0]
        release.set()
        await until(lambda: watch._showing is not None and watch._showing.done())
        for moment in (10.0, 10.0 + EVERY / 2, 10.0 + EVERY):
            now[0] = moment
            watch.tell(int(moment), 9)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        assert shown == [0, 10, 12]
    gc.collect()
    assert caplog.records == []  # asyncio logs an error that nobody took


async def test_a_watch_stopped_early_or_twice() -> None:
    """A read that begins after the stop ends at once, and a second stop changes nothing."""
    watch = ReadProgress()
    watch.stop()
    begun = asyncio.get_running_loop().time()
    with pytest.raises(TimeoutError):
        async with watch.run_limited(8):
            await asyncio.Event().wait()
    assert asyncio.get_running_loop().time() - begun < 4
    again = ReadProgress()

    async def read() -> None:
        async with again.run_limited(60):
            again.stop()
            try:
                await asyncio.Event().wait()
            finally:
                again.stop()

    with pytest.raises(TimeoutError):
        await read()

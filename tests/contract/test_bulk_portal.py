"""Bulk work against the sandbox portal: lists are whole, and a lost or refused answer never doubles a write (the peers' fault table)."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from bitrix.bulk.bulk import ItemOutcome, Step, call_all, list_all
from bitrix.client.client import BitrixClient
from bitrix.limits.limiter import Limiter
from tests.contract.sandbox_portal_kit import Caller, Clock, in_process

SEEDED = 48


@dataclass
class Hours:
    """The portal's clock, which moves when our client pauses."""

    portal: Clock
    now: float = 1000.0

    def clock(self) -> float:
        return self.now

    def utc(self) -> datetime:
        return self.portal().astimezone(UTC)

    async def pause(self, seconds: float) -> None:
        self.now += seconds
        self.portal.move(seconds=seconds)


@contextlib.asynccontextmanager
async def both(*, bucket: Any = None, **settings: Any) -> AsyncIterator[tuple[BitrixClient, Caller, Hours]]:
    """Our client and the portal in one process, on one clock."""
    async with in_process(bucket=bucket, **settings) as portal:
        assert portal.portal is not None
        assert portal.clock is not None
        hours = Hours(portal.clock)
        limiter = Limiter.create_unlimited(clock=hours.clock, sleep=hours.pause)
        transport = portal.http._transport
        async with BitrixClient("http://127.0.0.1/rest/1/sandbox/", limiter=limiter, transport=transport, now=hours.utc) as client:
            yield client, portal, hours


def adds(count: int) -> list[Step]:
    """So many new deals."""
    return [("crm.deal.add", {"fields": {"TITLE": f"Новая {number}"}}) for number in range(count)]


def updates(count: int) -> list[Step]:
    """So many changed sums."""
    return [("crm.deal.update", {"id": 482 + number, "fields": {"OPPORTUNITY": 7_000_000 + number}}) for number in range(count)]


BATCH_DROPPED = {"kind": "commit_then_drop", "method": "batch"}
IN_THE_BATCH = {"kind": "commit_then_drop", "method": "crm.deal.add", "after_calls": 7}
BAD_GATEWAY = {"kind": "504_html", "method": "batch"}
BAD_STEP: Step = ("crm.deal.update", {"id": 999_999, "fields": {"TITLE": "нет такой"}})


@pytest.mark.req("S004-X8")
@pytest.mark.parametrize(
    ("steps", "fault", "committed", "expected"),
    [
        (adds(1), BATCH_DROPPED, 1, {"unknown": 1}),
        (adds(1), BAD_GATEWAY, 1, {"unknown": 1}),
        (adds(1), {"kind": "delay_answer", "method": "batch", "seconds": 0.2}, 1, {"done": 1}),
        (adds(20), BATCH_DROPPED, 20, {"unknown": 20}),
        (adds(20), BAD_GATEWAY, 20, {"unknown": 20}),
        (adds(20), IN_THE_BATCH, 8, {"unknown": 20}),
        (adds(20), {"kind": "500_before", "method": "batch"}, 0, {"unknown": 20}),
        (adds(20), {"kind": "html_200", "method": "batch"}, 0, {"unknown": 20}),
        (adds(20), {"kind": "403_scope", "method": "batch"}, 0, {"refused": 20}),
        ([*adds(19), BAD_STEP], None, 19, {"done": 19, "refused": 1}),
        (updates(500), {**BATCH_DROPPED, "after_calls": 4}, 500, {"done": 450, "unknown": 50}),
        (updates(500), {"kind": "query_limit", "method": "batch", "after_calls": 4}, 500, {"done": 500}),
        (updates(500), {"kind": "query_limit", "method": "batch", "times": 3}, 500, {"done": 500}),
    ],
)
async def test_lost_and_refused_answers(steps: list[Step], fault: dict[str, Any] | None, committed: int, expected: dict[str, int]) -> None:
    """Committed never exceeds asked, every step has its outcome, and the unknown ones are named."""
    async with both(bulk_deals=500) as (client, portal, hours):
        if fault:
            await portal.arm(**fault)
        outcomes = [item async for item in call_all(client, steps, pause=hours.pause)]
        changes = (await portal.http.get("/sandbox/stats")).json()["committed"]

        assert sum(changes.values()) == committed <= len(steps)
        assert [item.index for item in outcomes] == list(range(len(steps)))
        assert {status: len(of) for status, of in _by_status(outcomes).items()} == expected
        if fault == {**BATCH_DROPPED, "after_calls": 4}:
            assert [item.index for item in _by_status(outcomes)["unknown"]] == list(range(200, 250))


def _by_status(outcomes: list[ItemOutcome]) -> dict[str, list[ItemOutcome]]:
    return {status: [item for item in outcomes if item.status == status] for status in {item.status for item in outcomes}}


@pytest.mark.long
async def test_the_time_limit_half_way() -> None:
    """2,000 updates that spend a method's time half-way wait until the portal forgets, and are all done once (peers lose 1,000)."""
    async with both(bulk_deals=2000) as (client, portal, hours):
        limit = {"operating": 480.0, "cost": {"crm.deal.update": 0.4}}
        assert (await portal.http.post("/sandbox/limits", json=limit)).status_code == 200
        started = hours.now
        outcomes = [item async for item in call_all(client, updates(2000), pause=hours.pause)]
        stats = (await portal.http.get("/sandbox/stats")).json()

    assert {item.status for item in outcomes} == {"done"}
    assert stats["committed"] == {"crm.deal.update": 2000}
    assert 500 <= hours.now - started <= 1300


@pytest.mark.long
@pytest.mark.parametrize(("bulk", "fault"), [(0, None), (2452, None), (7000, None), (7000, "commit_then_drop"), (7000, "html_200")])
async def test_a_whole_list(bulk: int, fault: str | None) -> None:
    """The two deal lists give every deal once, rising, also when an answer is lost."""
    async with both(bulk_deals=bulk) as (client, portal, hours):
        for method, told, extra in [("crm.deal.list", "ID", {}), ("crm.item.list", "id", {"entityTypeId": 2})]:
            if fault:
                await portal.arm(kind=fault, method="batch", after_calls=1)
            ids = [int(row[told]) async for row in list_all(client, method, extra, pause=hours.pause)]
            assert ids == [*range(410, 457), *range(481, 482 + bulk)]


async def test_tasks_and_employees() -> None:
    """Tasks are walked by id past their first page, without counting; employees are read by offset to their end."""
    async with both() as (client, portal, hours):
        added = [await portal.result("tasks.task.add", {"fields": {"TITLE": "t", "RESPONSIBLE_ID": 1}}) for _ in range(60)]
        ids = [int(row["id"]) async for row in list_all(client, "tasks.task.list", {"select": ["TITLE"]}, pause=hours.pause)]
        users = [row async for row in list_all(client, "user.get", {}, pause=hours.pause)]

    assert ids == sorted(set(ids))
    assert {int(item["task"]["id"]) for item in added} < set(ids)
    assert len(users) == len({row["ID"] for row in users}) > 1


async def test_the_portals_bucket() -> None:
    """A portal whose bucket somebody else filled is waited for: a few refusals, nothing lost."""
    async with both(bulk_deals=3000, bucket=None) as (client, portal, hours):
        assert (await portal.http.post("/sandbox/limits", json={"bucket": "2/50", "level": 50})).status_code == 200
        ids = [row["ID"] async for row in list_all(client, "crm.deal.list", {}, pause=hours.pause)]
        outcomes = [item async for item in call_all(client, updates(1000), pause=hours.pause)]
        limited: httpx.Response = await portal.http.get("/sandbox/stats")

    assert len(ids) == 3000 + SEEDED
    assert {item.status for item in outcomes} == {"done"}
    assert limited.json()["committed"] == {"crm.deal.update": 1000}

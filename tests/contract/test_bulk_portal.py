"""Bulk reads against the sandbox portal: lists are whole, also when an answer is lost or refused."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from bitrix.bulk.bulk import list_all
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

    assert len(ids) == 3000 + SEEDED

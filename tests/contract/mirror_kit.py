"""A mirror of the sandbox portal in this process, what it holds, and a firm that changes at random."""

import contextlib
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from bitrix.client.client import BitrixClient
from bitrix.limits.limiter import Limiter
from orchestrator.mirror.keeper import MirrorKeeper
from tests.contract.sandbox_portal_kit import Caller, in_process

TABLES = ["deal", "lead", "item", "activity", "call", "task", "move", "choice", "stage", "person", "rate", "chance"]


@dataclass
class Ages:
    """Our clock: every mark is its own age, so a test says how old the data is."""

    seconds: float = 0.0

    def mark(self) -> str:
        return str(self.seconds)

    def measure_since(self, mark: str) -> timedelta | None:
        return timedelta(seconds=self.seconds - float(mark)) if mark else None


@dataclass
class World:
    portal: Caller
    client: BitrixClient
    folder: Path
    ages: Ages = field(default_factory=Ages)

    def keep(self, name: str = "a") -> MirrorKeeper:
        return MirrorKeeper(self.client, self.folder / name, self.ages)  # type: ignore[arg-type]

    def is_ready(self, keeper: MirrorKeeper, *parts: str) -> bool:
        state = keeper.read_state()
        return state is not None and state.is_ready(*parts)

    async def count_requests(self) -> int:
        return int((await self.portal.http.get("/sandbox/stats")).json()["requests"])

    async def withhold(self, **rights: Any) -> None:
        """What the webhook may not do from now on; nothing gives back all rights."""
        assert (await self.portal.http.post("/sandbox/rights", json=rights)).status_code == 200

    async def refresh(self, keeper: MirrorKeeper, *, after: float = 61) -> int:
        """Refresh when some seconds have passed, and say how many requests it took; the books are read after 600."""
        self.ages.seconds += after
        self.portal.clock.move(seconds=after)  # type: ignore[union-attr]
        before = await self.count_requests()
        assert await keeper.refresh_if_older()
        return await self.count_requests() - before


@contextlib.asynccontextmanager
async def open_world(folder: Path, **settings: Any) -> AsyncIterator[World]:
    async with in_process(**settings) as portal:
        transport = portal.http._transport
        async with BitrixClient("http://127.0.0.1/rest/1/sandbox/", limiter=Limiter.create_unlimited(), transport=transport) as client:
            yield World(portal, client, folder)


def dump(keeper: MirrorKeeper) -> dict[str, list[tuple[Any, ...]]]:
    with contextlib.closing(keeper.file.open_for_reading()) as connection:
        return {name: sorted(connection.execute(f"SELECT * FROM {name}"), key=repr) for name in TABLES}  # noqa: S608 - our own names


class Firm:
    """Does to the portal what people do to theirs, in an order that the seed decides."""

    def __init__(self, portal: Caller, seed: int) -> None:
        self.portal, self.random = portal, random.Random(seed)  # noqa: S311
        self.done: dict[str, int] = {}
        self.funnels: dict[int, int] = {}

    async def begin(self) -> None:
        store = self.portal.portal.store  # type: ignore[union-attr]
        self.funnels = {row["ID"]: int(row["CATEGORY_ID"] or 0) for row in store.walk("deal")}

    async def act(self, times: int) -> None:
        for _ in range(times):
            name = self.random.choice(["sum", "owner", "stage", "stage", "reopen", "funnel", "delete", "add", "lead", "task", "activity"])
            await getattr(self, f"_{name}")(self.random.choice(list(self.funnels)))
            self.done[name] = self.done.get(name, 0) + 1
            if self.random.random() < 0.7:
                self.portal.clock.move(seconds=self.random.choice([0.2, 1, 40]))  # type: ignore[union-attr]

    def _draw_stage(self, deal: int, *codes: str) -> str:
        prefix = f"C{self.funnels[deal]}:" if self.funnels[deal] else ""
        return prefix + self.random.choice(codes)

    async def _move(self, deal: int, stage: str, **more: Any) -> None:
        await self.portal.result("crm.item.update", {"entityTypeId": 2, "id": deal, "fields": {"stageId": stage, **more}})

    async def _sum(self, deal: int) -> None:
        fields = {"OPPORTUNITY": self.random.choice([0, 5, 1234.56, 10**9]), "CURRENCY_ID": self.random.choice(["RUB", "USD"])}
        await self.portal.result("crm.deal.update", {"id": deal, "fields": {**fields, "IS_MANUAL_OPPORTUNITY": "Y"}})

    async def _owner(self, deal: int) -> None:
        fields = {"ASSIGNED_BY_ID": self.random.choice([7, 8, 9]), "UF_CRM_1747310101": self.random.choice(["57", "61", ""])}
        await self.portal.result("crm.deal.update", {"id": deal, "fields": fields})

    async def _stage(self, deal: int) -> None:
        await self._move(deal, self._draw_stage(deal, "PREPARATION", "WON", "LOSE"))

    async def _reopen(self, deal: int) -> None:
        await self._move(deal, self._draw_stage(deal, "NEW", "PREPARATION"))

    async def _funnel(self, deal: int) -> None:
        self.funnels[deal] = 1 - self.funnels[deal]
        await self._move(deal, self._draw_stage(deal, "NEW"), categoryId=self.funnels[deal])

    async def _delete(self, deal: int) -> None:
        await self.portal.result("crm.deal.delete", {"id": deal})
        del self.funnels[deal]

    async def _add(self, _: int) -> None:
        fields = {"TITLE": "n", "OPPORTUNITY": 5, "STAGE_ID": self.random.choice(["NEW", "WON"]), "ASSIGNED_BY_ID": 7}
        self.funnels[int(await self.portal.result("crm.deal.add", {"fields": fields}))] = 0

    async def _lead(self, _: int) -> None:
        number = await self.portal.result("crm.lead.add", {"fields": {"TITLE": "l", "SOURCE_ID": "WEB"}})
        if self.random.random() < 0.5:
            await self.portal.result("crm.lead.update", {"id": number, "fields": {"STATUS_ID": "JUNK"}})
        elif self.random.random() < 0.3:
            await self.portal.result("crm.lead.delete", {"id": number})

    async def _task(self, _: int) -> None:
        number = (await self.portal.result("tasks.task.add", {"fields": {"TITLE": "t", "RESPONSIBLE_ID": 7}}))["task"]["id"]
        if self.random.random() < 0.5:
            await self.portal.result("tasks.task.complete", {"taskId": number})
        elif self.random.random() < 0.3:
            await self.portal.result("tasks.task.delete", {"taskId": number})

    async def _activity(self, deal: int) -> None:
        fields = {"ownerTypeId": 2, "ownerId": deal, "deadline": "2026-12-01T10:00:00+03:00", "title": "a", "responsibleId": 7}
        number = (await self.portal.result("crm.activity.todo.add", fields))["id"]
        if self.random.random() < 0.5:
            await self.portal.result("crm.activity.update", {"id": number, "fields": {"COMPLETED": "Y"}})

"""The sandbox portal behind the wire of daily help, whose records a test may add to."""

import json
from dataclasses import dataclass
from datetime import date
from typing import Any

import httpx

from orchestrator.directory.agenda import load_agenda
from orchestrator.domain.actor import Actor
from tests.unit.features.daily.daily_kit import Home
from tests.unit.spine_kit import ANNA, NOW, watcher_of
from tests.unit.spine_portal import CODE

TODAY = date(2026, 11, 21)
ME = 7


@dataclass
class Sandbox:
    """The sandbox portal behind the wire; what was sent, and methods that it refuses."""

    app: Any
    sent: list[tuple[str, dict[str, Any]]]
    closed: set[str]

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        method = request.url.path.rpartition("/")[2]
        body = json.loads(request.content)
        self.sent.append((method, body))
        if method == "batch" and self.closed:
            refused = {key: text for key, text in body["cmd"].items() if text.partition("?")[0] in self.closed}
            body["cmd"] = {key: text for key, text in body["cmd"].items() if key not in refused}
            answer = await self._ask(request, json.dumps(body).encode())
            found = json.loads(answer.content)
            errors = {key: {"error": "insufficient_scope", "error_description": "no"} for key in refused}
            found["result"]["result_error"] = {**(found["result"]["result_error"] or {}), **errors}
            return httpx.Response(200, json=found)
        return await self._ask(request, request.content)

    async def _ask(self, request: httpx.Request, content: bytes) -> httpx.Response:
        path = request.url.path.replace(CODE, "sandbox")
        asked = httpx.Request("POST", request.url.copy_with(path=path), content=content, headers={"Content-Type": "application/json"})
        answer = await httpx.ASGITransport(self.app).handle_async_request(asked)
        return httpx.Response(answer.status_code, content=await answer.aread(), headers={"Content-Type": "application/json"})

    def deals(self) -> list[dict[str, Any]]:
        return list(self.app.state.portal.store.walk("deal"))

    def add(self, **fields: Any) -> None:
        """A deal of Anna's, open, touched today, closing far ahead, unless said otherwise."""
        row = {
            "TITLE": "Сделка", "ASSIGNED_BY_ID": ME, "CLOSED": "N", "OPPORTUNITY": 100.0, "CURRENCY_ID": "RUB", "STAGE_ID": "NEW", "CATEGORY_ID": 0,
            "CLOSEDATE": "2027-06-01", "DATE_MODIFY": "2026-11-21T09:00:00Z", "LAST_ACTIVITY_TIME": "2026-11-21T09:00:00Z", "CONTACT_IDS": [],
        }  # fmt: skip
        self.app.state.portal.store.add("deal", row | fields)

    def task(self, **fields: Any) -> None:
        row = {"TITLE": "Задача", "RESPONSIBLE_ID": ME, "CREATED_BY": ME, "STATUS": 2, "REAL_STATUS": 2, "DEADLINE": None}
        self.app.state.portal.store.add("task", row | fields)

    def empty(self) -> None:
        for kind in ("deal", "task", "activity", "event"):
            for row in list(self.app.state.portal.store.walk(kind)):
                self.app.state.portal.store.remove(kind, row["ID"])


async def lists(home: Home, actor: Actor = ANNA, **more: Any) -> dict[str, tuple[list[str], int, str]]:
    """Heading → titles, total, sum."""
    found = await load_agenda(home.reads, watcher_of(home.world.orchestrator)._look._naming, actor, NOW, **more)  # type: ignore[union-attr]
    return {notice.code: ([row.label for row in table.rows], table.total, table.sum_text) for notice, table in found.sections}

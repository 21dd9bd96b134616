"""Undo against the sandbox portal, which answers as the vendor's documentation says: what was written is as it was, field by field."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import Provenance
from sandbox.portal.app import create_app
from sandbox.portal.portal import Settings
from state.clock import generate_id
from tests.unit.features.undo.undo_kit import done, restored
from tests.unit.spine_kit import VERA, World, a_world, effect
from tests.unit.spine_portal import CODE

_BY_ITSELF = re.compile(
    r"DATE_MODIFY|MODIFY_BY_ID|MOVED_|LAST_|changedDate|changedBy|updatedTime|updatedBy|movedTime|movedBy|lastActivity|CLOSED|closed|statusChanged|activityDate|dateStart|dateStarted"
)
"""What the portal writes by itself with every change."""


class Sandbox:
    """The sandbox portal as the wire of the spine."""

    def __init__(self) -> None:
        self._app = create_app(Settings(bucket=None))
        self._wire = httpx.ASGITransport(self._app)

    async def aclose(self) -> None:
        await self._app.state.portal.events.aclose()
        self._app.state.portal.close()

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        url = request.url.copy_with(path=request.url.path.replace(CODE, "sandbox"))
        sent = httpx.Request(request.method, url, content=request.content, headers={"content-type": "application/json"})
        answer = await self._wire.handle_async_request(sent)
        return httpx.Response(answer.status_code, headers=answer.headers, content=await answer.aread())


@pytest.fixture
async def sandbox(tmp_path: Path) -> AsyncIterator[World]:
    wired: Any = Sandbox()
    async with a_world(tmp_path, portal=wired) as world:
        yield world
    await wired.aclose()


async def first(world: World, method: str, **params: Any) -> dict[str, Any]:
    """The first record of a list."""
    result = (await world.client.call(method, params, repeatable=True)).result
    rows = result if isinstance(result, list) else next(iter(result.values()))
    return dict(rows[0])


async def record(world: World, target: tuple[str, int]) -> dict[str, Any]:
    found = (await world.gate.deps.records.load_records([target]))[target]
    return {name: value or "" for name, value in found.items() if not _BY_ITSELF.match(name)}


@pytest.mark.parametrize(
    ("kind", "listed", "method", "fields"),
    [
        ("deal", "crm.deal.list", "crm.deal.update", {"OPPORTUNITY": 1_234_567.5, "TITLE": "Иначе", "COMMENTS": "x"}),
        ("deal", "crm.deal.list", "crm.deal.update", {"CLOSEDATE": "2026-12-30", "ASSIGNED_BY_ID": 8}),
        ("deal", "crm.deal.list", "crm.deal.update", {"OPPORTUNITY": 5, "CURRENCY_ID": "USD"}),
        ("contact", "crm.contact.list", "crm.contact.update", {"PHONE": [{"VALUE": "+79995550000", "VALUE_TYPE": "WORK"}], "POST": "босс"}),
        ("company", "crm.company.list", "crm.company.update", {"TITLE": "Иначе"}),
        ("lead", "crm.lead.list", "crm.lead.update", {"NAME": "Пётр", "OPPORTUNITY": 7}),
        ("task", "tasks.task.list", "tasks.task.update", {"DEADLINE": "2026-12-30T18:00:00+03:00", "TITLE": "Иначе", "PRIORITY": 2}),
        ("task", "tasks.task.list", "tasks.task.complete", None),
    ],
)
async def test_the_sandbox_holds_again_what_it_held(sandbox: World, kind: str, listed: str, method: str, fields: Any) -> None:
    """Sums, dates, people, phones, texts and states, as the portal spells them; by one call that a person approved."""
    row = await first(sandbox, listed, **({"filter": {"REAL_STATUS": 2}} if kind == "task" else {}))
    target = (kind, int(row.get("ID") or row["id"]))
    was = await record(sandbox, target)
    params = {"taskId" if kind == "task" else "id": target[1], **({"fields": fields} if fields else {})}
    effect_id = await done(sandbox, effect(method, params, slot=f"t1/1/{generate_id()}"), actor=VERA)
    assert await record(sandbox, target) != was
    card = await restored(sandbox, effect_id, actor=VERA)
    assert card["status"] == "executed", card
    assert card.get("unchanged") in (None, [])
    now = await record(sandbox, target)
    assert {name: (was.get(name), now.get(name)) for name in {*was, *now} if was.get(name) != now.get(name)} == {}


async def test_who_wrote_a_comment_through_the_bot_takes_its_change_back_without_a_lead(sandbox: World) -> None:
    """A comment is of the record that it stands on: that the portal calls the bot's account its author takes no right away."""
    boris = Actor(key="tg:1007", name="Борис", bitrix_user_id=7)
    fields = {"ENTITY_TYPE": "deal", "ENTITY_ID": 423, "COMMENT": "Звонил"}
    named = Provenance(message=None, targets=frozenset({"deal:423"}), person_text="сделай")
    made = effect("crm.timeline.comment.add", {"fields": fields}, slot=f"{generate_id()}/1/1", provenance=named)
    row = await sandbox.store.find_effect(await done(sandbox, made, actor=boris))
    target = ("comment", int(row.outcome["created"].partition(":")[2]))
    was = await record(sandbox, target)
    changed = effect("crm.timeline.comment.update", {"id": target[1], "fields": {"COMMENT": "x"}}, slot=f"{generate_id()}/1/1")
    effect_id = await done(sandbox, changed, actor=boris)
    assert (await record(sandbox, target))["COMMENT"] == "x"
    await restored(sandbox, effect_id, actor=boris)
    assert await record(sandbox, target) == was

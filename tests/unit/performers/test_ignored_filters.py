"""A portal that leaves out a condition answers with all records: their rows tell, and neither list nor totals are given."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.i18n.translate import Translator
from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import Outcome
from tests.unit.gate.sandbox_kit import Desk, a_desk
from tests.unit.spine_kit import effect

ANNA = Actor(key="tg:1001", name="Ольга", bitrix_user_id=1, sees="all")
ITEM = {"id": 481, "createdTime": "2026-11-04T18:00:00+03:00", "opportunity": 120000, "stageId": "C1:NEW", "assignedById": 7, "opened": "Y"}


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with a_desk(tmp_path) as made_desk:
        made_desk.wire.instead["crm.item.list"] = httpx.Response(200, json={"result": {"items": [ITEM]}, "total": 1})
        yield made_desk


async def read(desk: Desk, **conditions: Any) -> Outcome:
    desk.count += 1
    params = {"entityTypeId": 2, "filter": conditions}
    found = await desk.world.submit(desk.session, effect("crm.item.list", params, slot=f"t1/1/{desk.count}"), actor=ANNA)
    assert isinstance(found, Outcome)
    return found


@pytest.mark.parametrize(
    ("condition", "value", "field"),
    [
        (">=createdTime", "2031-01-01T00:00:00+03:00", "DATE_CREATE"),
        ("<createdTime", "2026-01-01", "DATE_CREATE"),
        (">opportunity", 500000, "OPPORTUNITY"),
        ("<=opportunity", "100", "OPPORTUNITY"),
        ("stageId", "C1:WON", "STAGE_ID"),
        ("@stageId", ["C1:WON", "C1:LOSE"], "STAGE_ID"),
        ("=assignedById", 8, "ASSIGNED_BY_ID"),
        ("@assignedById", [8, 9], "ASSIGNED_BY_ID"),
    ],
)
async def test_a_row_that_contradicts_a_condition_gives_no_list(desk: Desk, condition: str, value: object, field: str) -> None:
    """Neither rows nor a total: 48 deals of 2026 are no answer to a question about 2031."""
    found = await read(desk, **{condition: value})
    assert (found.status, found.result, found.total) == ("refused", None, None)
    assert found.reason is not None
    assert (found.reason.code, found.reason.args["field"]) == ("portal-filter-ignored", field)
    for locale in ("ru", "en"):
        assert field not in Translator(locale).translate_notice(found.reason)


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        (">=createdTime", "2026-11-04T18:00:00+03:00"),
        (">=createdTime", "2026-11-05"),
        (">opportunity", 100000),
        ("@stageId", ["C1:NEW", "C1:WON"]),
        ("!stageId", "C1:WON"),
        ("%title", "Нет такого"),
        ("contactId", 5),
        (">=closedate", "2031-01-01"),
        ("assignedById", 7),
    ],
)
async def test_what_fits_or_cannot_be_said_is_shown(desk: Desk, condition: str, value: object) -> None:
    """A condition on what the rows do not carry, on a link, or within the difference of zones is not doubted."""
    found = await read(desk, **{condition: value})
    assert (found.status, found.total) == ("succeeded", 1), found


async def test_a_group_of_conditions_is_not_doubted(desk: Desk) -> None:
    """One of several may hold."""
    found = await read(desk, logic="OR", **{">opportunity": 500000, "stageId": "C1:NEW"})
    assert found.status == "succeeded"


async def test_a_command_of_a_batch_is_told_as_not_done(desk: Desk) -> None:
    """The other commands keep their answers."""
    items = {"items": [ITEM]}
    body = {"result": {"result": {"a": items, "b": items}, "result_error": [], "result_total": {"a": 48, "b": 48}, "result_next": []}}
    desk.wire.instead["batch"] = httpx.Response(200, json=body)
    cmd = {"a": "crm.item.list?entityTypeId=2&filter[stageId]=C1:WON", "b": "crm.item.list?entityTypeId=2&filter[stageId]=C1:NEW"}
    found = await desk.world.submit(desk.session, effect("batch", {"cmd": cmd}, slot="t1/2/1"), actor=ANNA)
    assert isinstance(found, Outcome)
    assert [report.status for report in found.commands] == ["error", "success"]
    assert list(found.result) == ["b"]

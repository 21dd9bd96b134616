"""A list counted by one field in one step: all pages, by the names of people and stages, with sums, over the sandbox portal."""

import json
from collections import Counter
from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from bot.i18n.translate import Translator
from bot.rendering.replies import render_table
from bot.rendering.spans import to_plain_text
from orchestrator.directory import list_groups
from orchestrator.directory.answers import GroupedView
from sandbox.portal.app import create_app
from sandbox.portal.portal import Settings
from tests.unit.gate.sandbox_kit import Desk, Wire, clock
from tests.unit.spine_kit import VERA, a_world, message, reply, step
from tests.unit.spine_portal import Portal

BULK = 700


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """The product over a sandbox with more deals than are kept of a list."""
    app = create_app(Settings(bucket=None, clock=clock, bulk_deals=BULK))
    wire = Wire(httpx.ASGITransport(app))
    async with a_world(tmp_path, portal=cast("Portal", wire)) as world:
        yield Desk(world, await world.session(), wire)
    await app.state.portal.events.aclose()
    app.state.portal.close()


async def grouped(desk: Desk, method: str, params: dict[str, Any], by: str) -> GroupedView:
    """The list that the call reads, grouped."""
    outcome = await desk.wish(method, params)
    assert outcome.status == "succeeded", outcome
    found = await desk.world.tools.queries["group"](outcome=outcome, by=by, actor=VERA)
    assert isinstance(found, GroupedView)
    return found


async def by_hand(desk: Desk, **filters: Any) -> list[dict[str, Any]]:
    """All deals by plain pages, as somebody would check them."""
    rows: list[dict[str, Any]] = []
    start: int | None = 0
    while start is not None:
        answer = await desk.world.client.call("crm.deal.list", {"filter": filters, "start": start}, repeatable=True)
        rows += cast("list[dict[str, Any]]", answer.result)
        start = answer.next
    return rows


async def test_all_pages_are_counted_by_person(desk: Desk) -> None:
    """As many as by hand, the most first, each with its sum, and people by name."""
    found = await grouped(desk, "crm.deal.list", {"select": ["ID", "ASSIGNED_BY_ID"]}, "person")
    rows = await by_hand(desk)
    counts = Counter(row["ASSIGNED_BY_ID"] for row in rows)
    assert len(rows) > 500
    assert {row["value"]: row["count"] for row in found.rows} == counts
    assert [row["count"] for row in found.rows] == sorted(counts.values(), reverse=True)
    assert (found.table.total, found.table.groups) == (len(rows), len(counts))
    assert all(row.target.startswith("user:") and not row.label.isdecimal() for row in found.table.rows)
    assert all("₽" in row["sum"] for row in found.rows)
    assert not found.prose
    said = to_plain_text(render_table(found.table, Translator("ru")))
    assert said.startswith("Менеджер · Количество · Сумма\n1. ")
    assert f"Всего {len(rows):,} на ".replace(",", "\xa0") in said


async def test_sums_of_groups_are_those_of_their_records(desk: Desk) -> None:
    """Currencies apart, to the last unit."""
    found = await grouped(desk, "crm.deal.list", {"filter": {"<ID": 500}}, "CURRENCY_ID")
    sums: dict[str, Decimal] = {}
    for row in await by_hand(desk, **{"<ID": 500}):
        sums[row["CURRENCY_ID"]] = sums.get(row["CURRENCY_ID"], Decimal(0)) + Decimal(row["OPPORTUNITY"] or 0)
    assert {row["value"] for row in found.rows} == set(sums)
    assert all(" + " not in row["sum"] for row in found.rows)


@pytest.mark.parametrize(
    ("by", "kind"), [("stage", "stage"), ("STAGE_ID", "stage"), ("funnel", "funnel"), ("source", "source"), ("company", "company")]
)
async def test_groups_have_names(desk: Desk, by: str, kind: str) -> None:
    """No group is called by a code; stages of several funnels say which; what is empty is a group of its own."""
    found = await grouped(desk, "crm.deal.list", {}, by)
    labels = [row.label for row in found.table.rows]
    assert len(set(labels)) == len(labels) or kind == "company"
    assert not [label for label in labels if label in {"NEW", "WON", "WEB", "CALL", "0", "1"} or ":" in label]
    assert (any("(" in label for label in labels)) is (kind == "stage")
    assert sum(row["count"] for row in found.rows) == found.table.total
    assert len(found.table.rows) <= list_groups.MOST_GROUPS + 1


@pytest.mark.parametrize(
    ("by", "heading"),
    [
        ("stage", "Стадия"),
        ("source", "Источник"),
        ("month", "Месяц"),
        ("STAGE_ID", "Стадия"),
        ("CLOSEDATE:month", "Месяц: Дата завершения"),
        ("CURRENCY_ID", "Валюта"),
    ],
)
async def test_the_first_column_says_what_the_groups_are(desk: Desk, by: str, heading: str) -> None:
    found = await grouped(desk, "crm.deal.list", {"filter": {"<ID": 420}}, by)
    assert found.table.heading == heading


async def test_months_stand_in_their_order(desk: Desk) -> None:
    """By the day in the person's zone, named as people do."""
    found = await grouped(desk, "crm.deal.list", {}, "month")
    months = Counter(row["DATE_CREATE"][:7] for row in await by_hand(desk))
    assert [row["value"] for row in found.rows] == sorted(str(row["value"]) for row in found.rows)
    assert sum(row["count"] for row in found.rows) == sum(months.values())
    assert found.rows[-1]["group"].endswith("2026")
    assert not any(char.isdigit() for char in found.rows[-1]["group"].split()[0])
    assert [len(str(row["value"])) for row in (await grouped(desk, "crm.deal.list", {}, "CLOSEDATE:year")).rows][:1] == [4]


async def test_more_than_fifty_groups_end_in_one_line(desk: Desk) -> None:
    """The rest is counted together, so that the lines still add up."""
    found = await grouped(desk, "crm.deal.list", {}, "ID")
    assert len(found.table.rows) == list_groups.MOST_GROUPS + 1
    assert "ещё групп" in found.table.rows[-1].label
    assert sum(int(row.cells[0]) for row in found.table.rows) == found.table.total


async def test_groups_of_free_text_are_prose(desk: Desk) -> None:
    """Titles as groups are words of others, which taint the turn like any text that was asked for."""
    assert (await grouped(desk, "crm.deal.list", {"filter": {"<ID": 500}}, "TITLE")).prose
    assert not (await grouped(desk, "crm.deal.list", {"filter": {"<ID": 500}}, "stage")).prose


@pytest.mark.parametrize(
    ("method", "params", "by", "said"),
    [
        ("crm.deal.list", {}, "NO_SUCH_FIELD", "no field"),
        ("crm.deal.list", {}, "по менеджерам", "group_by"),
        ("crm.deal.list", {}, "STAGE_ID:month", "no date"),
        ("crm.deal.list", {"start": 0}, "UF_CRM_1747310101", "start"),
        ("user.get", {}, "person", "group_by"),
    ],
)
async def test_what_cannot_be_grouped_is_told(desk: Desk, method: str, params: dict[str, Any], by: str, said: str) -> None:
    """To the model, in a sentence."""
    found = await grouped(desk, method, params, by)
    assert found.table is None
    assert said in found.trouble


@pytest.mark.parametrize("trouble", ["batch", "rows"])
async def test_a_list_that_cannot_be_read_whole_is_not_grouped(desk: Desk, monkeypatch: pytest.MonkeyPatch, trouble: str) -> None:
    """The portal stops in the middle, or the list is too long: never a count of a part."""
    outcome = await desk.wish("crm.deal.list", {})
    if trouble == "batch":
        desk.wire.instead["batch"] = httpx.Response(403, json={"error": "ACCESS_DENIED", "error_description": "нет"})
    else:
        monkeypatch.setattr(list_groups, "MOST_ROWS", 100)
    found = await desk.world.tools.queries["group"](outcome=outcome, by="person", actor=VERA)
    assert (found.table, found.rows) == (None, ())
    assert "not grouped" in found.trouble


async def test_how_many_by_manager_is_one_step(desk: Desk) -> None:
    """`group_by` stands beside the filter, is not sent, and the groups are told and shown; the filter of the call counts."""
    world = desk.world
    asked = step("crm.deal.list", {"filter": {"<ID": 500}, "select": ["ID"], "group_by": "person"})
    world.model.will(reply(asked), reply(text="По менеджерам:\n[[list 1]]"))
    await world.turn(desk.session, message("сколько сделок по менеджерам", actor=VERA))
    sent = [params for method, params in desk.wire.sent if method == "crm.deal.list"]
    assert sent
    assert not [params for params in sent if "group_by" in params]
    observed = json.loads(world.model.prompts[-1][-1]["content"].splitlines()[2])
    rows = await by_hand(desk, **{"<ID": 500})
    assert observed["total"] == len(rows) == sum(group["count"] for group in observed["groups"])
    table = world.outbox()[0].body["parts"][1]
    assert table["is_grouped"]
    assert [row["label"] for row in table["rows"]] == [group["group"] for group in observed["groups"]]

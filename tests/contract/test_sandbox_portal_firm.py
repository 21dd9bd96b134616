"""The invented firm of the sandbox portal: the records of two years agree with one another, and its oddities are there when asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest

from sandbox.portal.firm.size import Firm, parse_firm
from sandbox.portal.portal import Portal, Settings
from sandbox.portal.schema import Row
from tests.contract.sandbox_portal_kit import Caller, Clock, in_process

NOW = datetime(2026, 11, 21, 18, 20, tzinfo=UTC)
HOUR = "2026-11-21T18:00:00Z"
FIRST_DEAL, FIRST_LEAD = 482, 161
SELLERS = {7, 8, 9, 11, *range(12, 20)}


def build(*, seed: int = 0, **firm: Any) -> Portal:
    """A portal with an invented firm; the caller closes it."""
    return Portal(Settings(clock=Clock(NOW), bucket=None, firm=Firm(**firm), seed=seed))


@pytest.fixture(scope="module")
def portal() -> Any:
    """A firm of 800 deals; the tests only read it."""
    built = build(deals=800)
    yield built
    built.close()


@pytest.fixture
async def caller() -> AsyncIterator[Caller]:
    async with in_process(clock=Clock(NOW), firm=Firm(deals=200)) as calling:
        yield calling


def list_rows(portal: Portal, kind: str, first: int = 1) -> list[Row]:
    return [row for row in portal.store.walk(kind) if row["ID"] >= first]


def test_the_same_hour_and_seed_give_the_same_records_and_another_seed_others() -> None:
    """Every row of every kind, so that a measurement can be made again."""
    portals = [build(deals=60), build(deals=60), build(deals=60, seed=1)]
    first, again, other = (portal.store.contents()[0] for portal in portals)
    assert first == again
    assert first != other
    for portal in portals:
        portal.close()


@pytest.mark.parametrize(
    ("kind", "type_id", "stage", "meaning", "first"),
    [
        ("deal", 2, "STAGE_ID", "STAGE_SEMANTIC_ID", FIRST_DEAL),
        ("lead", 1, "STATUS_ID", "STATUS_SEMANTIC_ID", FIRST_LEAD),
        ("smart_invoice", 31, "STAGE_ID", "STAGE_SEMANTIC_ID", 1),
    ],
)
def test_the_history_of_each_record_leads_from_its_creation_to_its_stage(
    portal: Portal, kind: str, type_id: int, stage: str, meaning: str, first: int
) -> None:
    """The first row is the creation, the last one the present stage since MOVED_TIME, and ids rise with time."""
    history = list_rows(portal, f"history_{type_id}")
    new = [row for row in history if row["OWNER_ID"] >= first]
    assert [row["CREATED_TIME"] for row in new] == sorted(row["CREATED_TIME"] for row in new)
    moves: dict[int, list[Row]] = {}
    for row in new:
        moves.setdefault(row["OWNER_ID"], []).append(row)
    records = list_rows(portal, kind, first)
    assert sorted(moves) == [record["ID"] for record in records]
    assert [record["DATE_CREATE"] for record in records] == sorted(record["DATE_CREATE"] for record in records)
    for record in records:
        opening, last = moves[record["ID"]][0], moves[record["ID"]][-1]
        assert (opening["TYPE_ID"], opening["CREATED_TIME"]) == (1, record["DATE_CREATE"])
        assert (last[stage], last["CREATED_TIME"]) == (record[stage], record["MOVED_TIME"])
        for row in moves[record["ID"]]:
            assert (row["TYPE_ID"] == 3) == (row[meaning] != "P")
            assert row["CREATED_TIME"] < HOUR


def test_deals_are_as_untidy_as_those_of_people(portal: Portal) -> None:
    """Empty and zero sums, four currencies, few probabilities, dates that disagree or are past, returns, skips, other funnels, reopenings."""
    deals = list_rows(portal, "deal", FIRST_DEAL)
    closed = [deal for deal in deals if deal["CLOSED"] == "Y"]
    opened = [deal for deal in deals if deal["CLOSED"] == "N"]
    assert {deal["CURRENCY_ID"] for deal in deals} == {"RUB", "USD", "EUR", "KZT"}
    assert 0.5 < sum(deal["PROBABILITY"] is None for deal in deals) / len(deals) < 0.9
    assert any(deal["OPPORTUNITY"] is None for deal in deals)
    assert any(deal["OPPORTUNITY"] == 0 for deal in deals)
    disagreeing = [deal for deal in closed if abs(_day(deal["CLOSEDATE"]) - _day(deal["MOVED_TIME"])) > 1]
    assert 0.02 < len(disagreeing) / len(closed) < 0.09
    assert any(deal["CLOSEDATE"] < HOUR[:10] for deal in opened)
    assert {row["TYPE_ID"] for row in portal.store.walk("history_2")} == {1, 2, 3, 5}
    assert any(deal["LEAD_ID"] for deal in deals)
    assert any(deal["COMPANY_ID"] == 0 for deal in deals)


def test_work_is_done_by_twelve_people_of_three_departments_and_two_are_dismissed(portal: Portal) -> None:
    """The dismissed own won deals; activities belong to deals, leads and companies, a part of them to others than the record's person."""
    people = {row["ID"]: row for row in portal.store.walk("user") if row["ID"] in SELLERS}
    assert len(people) == 12
    assert {number for number, row in people.items() if not row["ACTIVE"]} == {11, 19}
    assert {department for row in people.values() for department in row["UF_DEPARTMENT"]} == {3, 5, 9}
    deals = {deal["ID"]: deal for deal in list_rows(portal, "deal", FIRST_DEAL)}
    assert {deal["ASSIGNED_BY_ID"] for deal in deals.values()} == SELLERS
    assert {deal["ASSIGNED_BY_ID"] for deal in deals.values() if deal["STAGE_SEMANTIC_ID"] == "S"} >= {11, 19}
    activities = [row for row in portal.store.walk("activity") if row["OWNER_TYPE_ID"] != 2 or row["OWNER_ID"] in deals]
    assert {row["OWNER_TYPE_ID"] for row in activities} == {1, 2, 4}
    others = [row for row in activities if row["OWNER_TYPE_ID"] == 2 and row["RESPONSIBLE_ID"] != deals[row["OWNER_ID"]]["ASSIGNED_BY_ID"]]
    assert 0.05 < len(others) / len(activities) < 0.3
    assert len({task["RESPONSIBLE_ID"] for task in portal.store.walk("task")}) > 8


def test_half_as_many_calls_as_deals_and_the_first_call_of_a_lead_follows_it(portal: Portal) -> None:
    """Calls of leads, contacts and companies; every code; those of leads made by calling them come after the lead."""
    calls = list_rows(portal, "phone_call", 4)
    assert len(calls) == 400
    assert {call["CRM_ENTITY_TYPE"] for call in calls} == {"LEAD", "CONTACT", "COMPANY", None}
    assert {call["CALL_FAILED_CODE"] for call in calls} == {"200", "304", "486", "603-S"}
    assert all(call["CALL_TYPE"] == 2 for call in calls if call["CALL_FAILED_CODE"] == "304")
    leads = {lead["ID"]: lead for lead in portal.store.walk("lead")}
    reached = Counter(
        call["CALL_START_DATE"] > leads[call["CRM_ENTITY_ID"]]["DATE_CREATE"] for call in calls if call["CRM_ENTITY_TYPE"] == "LEAD"
    )
    assert reached[True] > 2 * reached[False]


async def test_invoices_go_through_stages_of_payment(caller: Caller) -> None:
    """crm.item.list with entityTypeId 31 gives them with deal, company and sum; their stages are in the books, their history too."""
    page = (await caller.call("crm.item.list", {"entityTypeId": 31, "select": ["id", "stageId", "opportunity", "parentId2", "companyId"]}))[
        "result"
    ]
    assert {row["stageId"] for row in page["items"]} <= {f"DT31_21:{code}" for code in "NSPD"}
    assert all(row["parentId2"] >= FIRST_DEAL for row in page["items"])
    stages = await caller.result("crm.status.list", {"filter": {"ENTITY_ID": "SMART_INVOICE_STAGE_21"}})
    assert [(row["STATUS_ID"], row["EXTRA"]["SEMANTICS"]) for row in stages] == [
        ("DT31_21:N", "process"), ("DT31_21:S", "process"), ("DT31_21:P", "success"), ("DT31_21:D", "failure"),
    ]  # fmt: skip
    funnels = await caller.result("crm.category.list", {"entityTypeId": 31})
    assert [row["id"] for row in funnels["categories"]] == [21]
    number = page["items"][0]["id"]
    moves = await caller.result("crm.stagehistory.list", {"entityTypeId": 31, "filter": {"OWNER_ID": number}, "select": ["ID", "STAGE_ID"]})
    assert next(list(move) for move in moves["items"]) == ["ID", "STAGE_ID"]
    made = (await caller.result("crm.item.add", {"entityTypeId": 31, "fields": {"title": "Счёт", "opportunity": 5}}))["item"]
    assert (made["stageId"], made["categoryId"]) == ("DT31_21:N", 21)


async def test_goods_of_many_deals_come_in_one_list(caller: Caller) -> None:
    """`=ownerId` takes a list; the goods are worth the sum of their deal."""
    deals = await caller.result("crm.deal.list", {"filter": {">ID": 481}, "select": ["ID", "OPPORTUNITY"], "start": -1})
    sums = {int(deal["ID"]): float(deal["OPPORTUNITY"] or 0) for deal in deals}
    rows = (await caller.result("crm.item.productrow.list", {"filter": {"=ownerType": "D", "=ownerId": list(sums)}}))["productRows"]
    worth: Counter[int] = Counter()
    for row in rows:
        worth[row["ownerId"]] += row["price"] * row["quantity"]
    whole = [owner for owner in worth if owner != rows[-1]["ownerId"]]  # the page may cut the last one
    assert len(whole) > 5
    assert all(worth[owner] == pytest.approx(sums[owner], abs=1) for owner in whole)


async def test_a_currency_is_rated_by_hundreds(caller: Caller) -> None:
    """AMOUNT is for AMOUNT_CNT units, and the moment of the rate is told."""
    rows = {row["CURRENCY"]: row for row in await caller.result("crm.currency.list")}
    assert (rows["KZT"]["AMOUNT"], rows["KZT"]["AMOUNT_CNT"], rows["USD"]["AMOUNT_CNT"]) == ("19.3000", "100", "1")
    assert all(row["DATE_UPDATE"] for row in rows.values())
    assert rows["KZT"]["FORMAT_STRING"] == "# &#8376;"


def test_imported_deals_came_without_history() -> None:
    """None for those older than 90 days; half of these have no MOVED_TIME either."""
    portal = build(deals=200, imported=True)
    known = {row["OWNER_ID"] for row in portal.store.walk("history_2")}
    old = [deal for deal in list_rows(portal, "deal", FIRST_DEAL) if deal["DATE_CREATE"] < "2026-08-20"]
    new = [deal for deal in list_rows(portal, "deal", FIRST_DEAL) if deal["DATE_CREATE"] > "2026-08-26"]
    assert not any(deal["ID"] in known for deal in old)
    assert all(deal["ID"] in known for deal in new)
    assert 0.3 < sum("MOVED_TIME" in deal for deal in old) / len(old) < 0.7
    portal.close()


def test_a_retired_stage_is_in_the_history_and_in_no_book() -> None:
    """A deal was on it more than 300 days ago; no deal stands on it."""
    portal = build(deals=200, retired=True)
    gone = {row["STAGE_ID"] for row in portal.store.walk("history_2")} - {row["STATUS_ID"] for row in portal.store.walk("status")}
    assert gone == {"UC_APPROVAL", "C1:UC_APPROVAL"}
    assert not gone & {deal["STAGE_ID"] for deal in portal.store.walk("deal")}
    portal.close()


async def test_an_unrated_currency_is_in_deals_and_in_no_list() -> None:
    """The portal forgot it; its deals kept it."""
    async with in_process(clock=Clock(NOW), firm=Firm(deals=200, unrated=True)) as caller:
        assert [row["CURRENCY"] for row in await caller.result("crm.currency.list")] == ["RUB", "USD", "EUR"]
        assert await caller.result("crm.deal.list", {"filter": {"CURRENCY_ID": "KZT"}})


async def test_a_new_portal_has_people_and_books_but_nothing_to_count() -> None:
    """0 deals: the lists are empty, and what is made then is counted as usual."""
    async with in_process(clock=Clock(NOW), firm=Firm(deals=0)) as caller:
        for method in ("crm.deal.list", "crm.lead.list", "crm.activity.list", "voximplant.statistic.get"):
            assert (await caller.call(method))["total"] == 0
        assert (await caller.call("crm.stagehistory.list", {"entityTypeId": 2}))["total"] == 0
        assert (await caller.call("user.get"))["total"] > 12
        number = await caller.result("crm.deal.add", {"fields": {"TITLE": "Первая"}})
        assert (await caller.call("crm.stagehistory.list", {"entityTypeId": 2}))["result"]["items"][0]["OWNER_ID"] == number


async def test_three_hundred_own_fields_go_with_the_portal() -> None:
    """They are the firm's only: the next portal of the process does not know them."""
    async with in_process(clock=Clock(NOW), firm=Firm(deals=40, own_fields=300)) as caller:
        fields = await caller.result("crm.deal.fields")
        assert sum(name.startswith("UF_CRM_WIDE_") for name in fields) == 300
        rows = await caller.result("crm.deal.list", {"select": ["ID", "UF_*"], "filter": {">ID": 481}})
        assert 5 < sum(any(value for name, value in row.items() if name.startswith("UF_CRM_WIDE_")) for row in rows) < 35
    async with in_process(clock=Clock(NOW)) as caller:
        assert not any(name.startswith("UF_CRM_WIDE_") for name in await caller.result("crm.deal.fields"))


def test_aside_the_records_of_the_sample_firm_stay_alone() -> None:
    """Each is as without the firm and its deals are the newest; its colleagues get nothing of the firm."""
    bare, beside = Portal(Settings(clock=Clock(NOW))), build(deals=400, aside=True)
    kept = {f"{kind}:{number}": body for kind, number, body in beside.store.contents()[0]}
    for kind, number, body in bare.store.contents()[0]:
        if not kind.startswith("history_"):
            assert kept[f"{kind}:{number}"] == body
    sample = {row["ID"] for row in bare.store.walk("deal")}
    assert max(sample) == max(beside.store.table("deal").rows)
    assert min(sample) > max(row["ID"] for row in beside.store.walk("deal") if row["ID"] not in sample)
    for kind, person in (
        ("deal", "ASSIGNED_BY_ID"),
        ("lead", "ASSIGNED_BY_ID"),
        ("activity", "RESPONSIBLE_ID"),
        ("task", "RESPONSIBLE_ID"),
    ):
        added = beside.store.table(kind).rows.keys() - bare.store.table(kind).rows.keys()
        assert {beside.store.table(kind).rows[number][person] for number in added} <= set(range(12, 20))
    for portal in (bare, beside):
        portal.close()


@pytest.mark.parametrize(
    ("text", "firm"),
    [
        ("big", Firm(deals=50_000)),
        ("small", Firm(deals=1_000)),
        ("800,imported,own_fields=300", Firm(deals=800, imported=True, own_fields=300)),
        ("0", Firm(deals=0)),
        ("huge", None),
        ("10,late", None),
        ("401,aside", None),
    ],
)
def test_the_size_is_read_from_the_command_line(text: str, firm: Firm | None) -> None:
    """A name or a number, then oddities; anything else is refused."""
    if firm is None:
        with pytest.raises(ValueError, match=r"number|unknown|room"):
            parse_firm(text)
    else:
        assert parse_firm(text) == firm


def _day(text: str) -> int:
    return datetime.fromisoformat(text[:10]).toordinal()

"""The sandbox portal's own fields of deals: described, stored and answered by both families."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.sandbox_portal_kit import Caller

LIST, MONEY, FLAG, PERSON, TEXTS = (f"1747310{number}" for number in range(101, 106))


async def _both(portal: Caller, number: int, field: str) -> tuple[Any, Any]:
    """A field of a deal as the old and as the universal family give it."""
    old = await portal.result("crm.deal.get", {"id": number})
    new = (await portal.result("crm.item.get", {"entityTypeId": 2, "id": number}))["item"]
    return old[f"UF_CRM_{field}"], new[f"ufCrm_{field}"]


async def test_both_families_describe_the_same_fields(portal: Caller) -> None:
    """Type, several values, the items of the list and the labels; the old family's title is the code."""
    old = await portal.result("crm.deal.fields")
    new = (await portal.result("crm.item.fields", {"entityTypeId": 2}))["fields"]
    for field, kind in {LIST: "enumeration", MONEY: "money", FLAG: "boolean", PERSON: "employee", TEXTS: "string"}.items():
        a, b = old[f"UF_CRM_{field}"], new[f"ufCrm_{field}"]
        assert (a["type"], b["type"], a["isDynamic"], b["upperName"]) == (kind, kind, True, f"UF_CRM_{field}")
        assert a["isMultiple"] is b["isMultiple"] is (field == TEXTS)
        assert a["title"] == f"UF_CRM_{field}"
        assert b["title"] == a["formLabel"] == a["listLabel"] == b["formLabel"]
        assert a["settings"] == b["settings"]
    items = [{"ID": "57", "VALUE": "Самовывоз"}, {"ID": "59", "VALUE": "Курьер"}, {"ID": "61", "VALUE": "Транспортная компания"}]
    assert old[f"UF_CRM_{LIST}"]["items"] == new[f"ufCrm_{LIST}"]["items"] == items
    assert (old["SOURCE_ID"]["statusType"], new["stageId"]["statusType"]) == ("SOURCE", "DEAL_STAGE")
    assert old["COMPANY_ID"]["settings"] == {"parentEntityTypeId": 4}


LISTS: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["UF_CRM_1747309879", *(f"UF_CRM_{f}" for f in (LIST, MONEY, FLAG, PERSON, TEXTS)), "UF_CRM_DISCOUNT"]),
    ({"filter": {"MULTIPLE": "Y"}}, [f"UF_CRM_{TEXTS}"]),
    ({"filter": {"USER_TYPE_ID": ["money", "boolean"]}, "order": {"ID": "DESC"}}, [f"UF_CRM_{FLAG}", f"UF_CRM_{MONEY}"]),
    ({"filter": {"FIELD_NAME": "UF_CRM_NOPE"}}, []),
    (
        {"order": {"USER_TYPE_ID": "ASC", "SORT": "DESC"}, "filter": {"USER_TYPE_ID": "string"}},
        ["UF_CRM_DISCOUNT", f"UF_CRM_{TEXTS}", "UF_CRM_1747309879"],
    ),
]


async def test_own_fields_are_listed_with_filter_order_and_language(portal: Caller) -> None:
    """Labels come only when a language is named; a list field brings its items."""
    for params, names in LISTS:
        assert [row["FIELD_NAME"] for row in await portal.result("crm.deal.userfield.list", params)] == names, params
    (bare,) = await portal.result("crm.deal.userfield.list", {"filter": {"USER_TYPE_ID": "enumeration"}})
    (said,) = await portal.result("crm.deal.userfield.list", {"filter": {"USER_TYPE_ID": "enumeration", "LANG": "ru"}})
    assert "EDIT_FORM_LABEL" not in bare
    assert said["EDIT_FORM_LABEL"] == said["LIST_COLUMN_LABEL"] == "Способ доставки"
    assert (said["LIST"][0]["ID"], said["LIST"][0]["VALUE"]) == ("57", "Самовывоз")
    assert (await portal.result("crm.deal.userfield.get", {"id": bare["ID"]}))["EDIT_FORM_LABEL"]["ru"] == "Способ доставки"
    assert (await portal.call("crm.deal.userfield.get", {"id": 1}))["error"] == "ERROR_NOT_FOUND"


async def test_seeded_deals_hold_values(portal: Caller) -> None:
    """Texts and numbers by family; a field that holds nothing is null, or an empty list."""
    assert await _both(portal, 410, LIST) == ("61", 61)
    assert await _both(portal, 410, MONEY) == ("250000|RUB", "250000|RUB")
    assert await _both(portal, 410, FLAG) == ("1", "Y")
    assert await _both(portal, 410, PERSON) == ("9", 9)
    assert await _both(portal, 410, TEXTS) == (["ТН-0410-1", "ТН-0410-2"], ["ТН-0410-1", "ТН-0410-2"])
    assert await _both(portal, 411, LIST) == (None, None)
    assert await _both(portal, 411, TEXTS) == ([], [])


# field, value sent, what the old and the universal family answer
WRITES: list[tuple[str, Any, Any, Any]] = [
    (LIST, 57, "57", 57),
    (LIST, "", None, None),
    (MONEY, "1234.56|USD", "1234.56|USD", "1234.56|USD"),
    (MONEY, "300", "300|RUB", "300|RUB"),
    (MONEY, "5|ZZZ", "5|ZZZ", "5|ZZZ"),
    (MONEY, "|USD", None, None),
    (FLAG, "N", "0", "N"),
    (FLAG, 1, "1", "Y"),
    (PERSON, "8", "8", 8),
    (TEXTS, ["а", "", "б"], ["а", "б"], ["а", "б"]),
    (TEXTS, "один", ["один"], ["один"]),
    (TEXTS, [], ["ТН-0410-1", "ТН-0410-2"], ["ТН-0410-1", "ТН-0410-2"]),
]


@pytest.mark.parametrize("family", ["old", "universal"])
async def test_a_written_value_is_read_back_by_both_families(portal: Caller, family: str) -> None:
    """Every row of the table, written by one family; an empty list clears nothing."""
    for field, sent, old, new in WRITES:
        await portal.http.post("/sandbox/reset")
        if family == "old":
            await portal.result("crm.deal.update", {"id": 410, "fields": {f"UF_CRM_{field}": sent}})
        else:
            await portal.result("crm.item.update", {"entityTypeId": 2, "id": 410, "fields": {f"ufCrm_{field}": sent}})
        assert await _both(portal, 410, field) == (old, new), (field, sent)


async def test_a_number_that_is_not_on_the_list_is_refused_loudly_or_dropped(portal: Caller) -> None:
    """The universal family says so, the old one says nothing; both leave the value."""
    assert await portal.result("crm.deal.update", {"id": 410, "fields": {f"UF_CRM_{LIST}": 58}}) is True
    answer = await portal.call("crm.item.update", {"entityTypeId": 2, "id": 410, "fields": {f"ufCrm_{LIST}": 58}})
    assert answer["error"] == "CRM_FIELD_ERROR_VALUE_NOT_VALID"
    assert await _both(portal, 410, LIST) == ("61", 61)


FILTERS: list[tuple[dict[str, Any], list[int]]] = [
    ({f"ufCrm_{LIST}": 61}, [410]),
    ({f"@ufCrm_{LIST}": [57, 59]}, [412, 481]),
    ({f"ufCrm_{FLAG}": 1}, [410]),
    ({f"ufCrm_{FLAG}": "Y"}, []),
    ({f"ufCrm_{PERSON}": "8"}, [481]),
    ({f"ufCrm_{TEXTS}": "ТН-0481"}, [481]),
    ({f"%ufCrm_{TEXTS}": "0410"}, [410]),
    ({f"ufCrm_{MONEY}": "1500.5|USD"}, [481]),
]


async def test_deals_are_found_by_their_own_fields(portal: Caller) -> None:
    """Equal, among, substring; a yes/no field is asked with 1 and 0."""
    for filters, numbers in FILTERS:
        items = (await portal.result("crm.item.list", {"entityTypeId": 2, "filter": filters, "select": ["id"]}))["items"]
        assert [item["id"] for item in items] == numbers, filters
    rows = await portal.result("crm.deal.list", {"filter": {f"UF_CRM_{LIST}": "61"}, "select": ["ID", "UF_*"]})
    assert rows[0][f"UF_CRM_{TEXTS}"] == ["ТН-0410-1", "ТН-0410-2"]
    assert f"UF_CRM_{LIST}" not in (await portal.result("crm.deal.list", {"filter": {"ID": 410}}))[0]

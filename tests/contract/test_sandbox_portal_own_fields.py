"""The sandbox portal's own fields of deals, for both families, and those of a seed file, which another portal does not have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from sandbox.portal.schema import LEAD
from sandbox.portal.seed_file import read_seed
from tests.contract.sandbox_portal_kit import Caller, in_process

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


INTEREST = {"kind": "lead", "name": "UF_CRM_INTEREST", "type": "enumeration", "title": "Интерес", "choices": {"101": "Станки"}}
CALLED = {"kind": "lead", "name": "UF_CRM_CALLED", "type": "date", "title": "Звонили"}
LEADS = [{"ID": 1000, "TITLE": "Зарубин", "UF_CRM_INTEREST": 101, "UF_CRM_CALLED": "2026-11-02", "PHONE": ["+7 916 000-00-00"]}]


async def test_own_fields_and_records_stand_in_place_of_those_of_a_kind(tmp_path: Path) -> None:
    path = tmp_path / "seed.json"
    users = [{"ID": 7, "NAME": "Захар"}]
    path.write_text(json.dumps({"fields": [INTEREST, CALLED], "clear": ["lead"], "records": {"lead": LEADS, "user": users}}))
    async with in_process(seed_file=path) as portal:
        (lead,) = await portal.result("crm.lead.list", {"filter": {"UF_CRM_INTEREST": 101}, "select": ["*", "UF_*", "PHONE"]})
        assert (lead["TITLE"], lead["UF_CRM_CALLED"], lead["STATUS_ID"]) == ("Зарубин", "2026-11-02T03:00:00+03:00", "NEW")
        assert lead["PHONE"][0]["VALUE"] == "+7 916 000-00-00"
        assert (await portal.result("crm.lead.fields"))["UF_CRM_INTEREST"]["items"][0]["VALUE"] == "Станки"
        assert [row["FIELD_NAME"] for row in await portal.result("crm.lead.userfield.list")] == ["UF_CRM_INTEREST", "UF_CRM_CALLED"]
        (seventh,) = await portal.result("user.get", {"ID": 7})
        assert (seventh["NAME"], seventh["LAST_NAME"]) == ("Захар", "Смирнов")
        await portal.http.post("/sandbox/reset")
        assert [row["ID"] for row in await portal.result("crm.lead.list")] == ["1000"]
        assert len(await portal.result("crm.deal.list")) > 1
    assert "UF_CRM_INTEREST" not in LEAD.fields
    assert "ufCrm_INTEREST" not in LEAD.by_camel


def test_a_misspelt_seed_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "seed.json"
    path.write_text('{"record": {}}')
    with pytest.raises(ValidationError):
        read_seed(path)

"""Values of the portal's own fields are shown as people read them, and what is not understood stays what it is."""

from typing import Any

import pytest

from bitrix.errors import BitrixError
from tests.unit.directory.reference_kit import Desk, desk


def described(type_: str, title: str, **more: Any) -> dict[str, Any]:
    """A custom field as the classic *.fields gives it: its code as the title, the names in the labels."""
    return {
        "type": type_, "isRequired": False, "isReadOnly": False, "isImmutable": False, "isMultiple": False, "isDynamic": True,
        "title": "UF_CRM_1", "listLabel": title, "formLabel": title, "filterLabel": title, **more,
    }  # fmt: skip


FIELDS = {
    "OPPORTUNITY": {"type": "double", "title": "Сумма", "isDynamic": False},
    "DATE_CREATE": {"type": "datetime", "title": "Дата создания", "isDynamic": False},
    "SOURCE_ID": {"type": "crm_status", "statusType": "SOURCE", "title": "Источник", "isDynamic": False},
    "UF_CRM_1": described("enumeration", "Тип договора", items=[{"ID": "79", "VALUE": "Рамочный"}, {"ID": "80", "VALUE": "Разовый"}]),
    "UF_CRM_BOOL": described("boolean", "Срочно"),
    "UF_CRM_SUM": described("money", "Аванс"),
    "UF_CRM_DAY": described("date", "Подписан"),
    "UF_CRM_AT": described("datetime", "Встреча"),
    "UF_CRM_WHO": described("employee", "Юрист"),
    "UF_CRM_LINK": described("crm", "Связано", settings={"DEAL": "Y", "CONTACT": "Y"}),
    "UF_CRM_DEAL": described("crm", "Родитель", settings={"DEAL": "Y", "CONTACT": "N"}),
    "UF_CRM_SMART": described("crm", "Договор", settings={"DYNAMIC_177": "Y"}),
    "UF_CRM_PARENT": described("crm_entity", "Договор", settings={"parentEntityTypeId": 177}),
    "UF_CRM_BLOCK": described("iblock_element", "Склад"),
    "UF_CRM_FILE": described("file", "Скан"),
    "UF_CRM_TEXT": described("string", "Номер договора"),
    "UF_CRM_BARE": {**described("string", ""), "title": "UF_CRM_BARE"},
}
ANSWERS = {
    "crm.deal.fields": FIELDS,
    "crm.status.list": {"result": [{"STATUS_ID": "CALL", "NAME": "Звонок", "SORT": "1"}], "total": 1},
    "crm.deal.get": {"result": {"ID": "10", "TITLE": "Ромашка"}},
    "crm.contact.get": {"result": {"ID": "5", "NAME": "Иван", "LAST_NAME": "Иванов"}},
    "crm.item.get": lambda params: {"result": {"item": {"id": params["id"], "title": f"Договор {params['entityTypeId']}"}}},
    "user.get": {"result": [{"ID": "7", "NAME": "Анна", "LAST_NAME": "Ковалёва"}], "total": 1},
    "server.time": {"result": "2026-11-21T15:00:00+03:00"},
    "profile": {"result": {"TIME_ZONE": ""}},
}


async def value(here: Desk, name: str, given: Any, locale: Any = "ru") -> str | None:
    found = await here.naming.describe_field_value("deal", name, given, locale=locale, zone="Asia/Yekaterinburg")
    return ", ".join(found).replace("\u00a0", " ") if found else None


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("UF_CRM_1", "79", "Рамочный"),
        ("UF_CRM_1", 79, "Рамочный"),
        ("ufCrm_1", "79", "Рамочный"),
        ("UF_CRM_1", ["79", "80"], "Рамочный, Разовый"),
        ("UF_CRM_1", "81", "№81"),
        ("UF_CRM_BOOL", "1", "Да"),
        ("UF_CRM_BOOL", 0, "Нет"),
        ("UF_CRM_BOOL", True, "Да"),
        ("UF_CRM_BOOL", "N", "Нет"),
        ("UF_CRM_SUM", "1234.56|RUB", "1 234,56 ₽"),
        ("UF_CRM_SUM", "1234.56", "1 234,56"),
        ("UF_CRM_DAY", "2026-11-21T02:00:00+02:00", "сб, 21 ноября 2026"),
        ("UF_CRM_DAY", "скоро", None),
        ("UF_CRM_AT", "2026-11-21T15:00:00+03:00", "сб, 21 ноября 2026, 17:00"),
        ("UF_CRM_AT", "21.11.2026 15:00:00", "сб, 21 ноября 2026, 17:00"),
        ("UF_CRM_WHO", "7", "Анна Ковалёва"),
        ("UF_CRM_WHO", ["7", "999"], "Анна Ковалёва, №999"),
        ("UF_CRM_LINK", ["D_10", "C_5"], "Ромашка, Иван Иванов"),
        ("UF_CRM_LINK", "Tb1_3", "Договор 177"),
        ("UF_CRM_LINK", "10", "запись CRM №10"),
        ("UF_CRM_DEAL", "10", "Ромашка"),
        ("UF_CRM_SMART", 3, "Договор 177"),
        ("UF_CRM_PARENT", 3, "Договор 177"),
        ("UF_CRM_BLOCK", "15", "элемент списка №15"),
        ("UF_CRM_FILE", {"id": 12, "urlMachine": "https://x/rest/1/secret/"}, "файл №12"),
        ("UF_CRM_FILE", {"fileData": ["a.pdf", "AAAA"]}, "файл «a.pdf»"),
        ("UF_CRM_TEXT", "15/2026", None),
        ("UF_CRM_NOPE", "79", None),
        ("SOURCE_ID", "CALL", "Звонок"),
        ("SOURCE_ID", "GONE", "GONE"),
        ("UF_CRM_1", "", None),
        ("UF_CRM_1", [], None),
    ],
)
async def test_a_value_is_said_in_words(here: Desk, name: str, given: Any, words: str | None) -> None:
    """Names of list values, people and records, money with its sign, moments in the person's zone; None leaves it as it is."""
    assert await value(here, name, given) == words


async def test_linked_records_are_read_together_and_are_numbers_when_they_cannot_be(here: Desk) -> None:
    """A field with many of them costs one request."""
    assert await value(here, "UF_CRM_LINK", ["D_10", "C_5"]) == "Ромашка, Иван Иванов"
    assert here.portal.count("batch") == 1
    assert here.portal.count("crm.deal.get") == 0
    here.portal.down = True
    assert await value(here, "UF_CRM_LINK", ["D_10", "C_5"]) == "№10, №5"


async def test_words_follow_the_persons_language(here: Desk) -> None:
    """What the portal's administrator wrote stays as it is."""
    assert await value(here, "UF_CRM_BOOL", "Y", "en") == "Yes"
    assert await value(here, "UF_CRM_BLOCK", "15", "en") == "list item No. 15"
    assert await value(here, "UF_CRM_1", list(range(100, 130)), "en") is not None


async def test_a_field_has_the_portals_title(here: Desk) -> None:
    """The label of the form; a code is no title."""
    assert await here.naming.find_field_title("deal", "UF_CRM_1") == "Тип договора"
    assert await here.naming.find_field_title("item:2", "opportunity") == "Сумма"
    assert await here.naming.find_field_title("deal", "createdTime") == "Дата создания"
    assert await here.naming.find_field_title("deal", "UF_CRM_BARE") == ""
    assert await here.naming.find_field_title("comment", "UF_CRM_1") == ""
    assert here.portal.count("crm.deal.fields") == 1


async def test_a_portal_that_does_not_tell_its_fields_leaves_values_as_they_are() -> None:
    """A card never fails for a name."""
    async with desk({}) as here:
        assert await here.naming.find_field_title("deal", "UF_CRM_1") == ""
        assert await value(here, "UF_CRM_1", "79") is None
    async with desk({**ANSWERS, "crm.deal.fields": []}) as here:
        assert await value(here, "UF_CRM_1", "79") is None
        with pytest.raises(BitrixError):
            await here.reads.reference.load_fields("deal", fresh=True)


async def test_fields_of_tasks_and_of_smart_processes() -> None:
    """tasks.task.getFields keeps its values in a map; crm.item.fields gives both spellings."""
    task = {"fields": {"PRIORITY": {"title": "Приоритет", "type": "enum", "values": {"2": "Высокий"}, "required": False}}}
    item = {
        "fields": {"ufCrm44_1": {**described("enumeration", "Склад", items=[{"ID": "1", "VALUE": "Южный"}]), "upperName": "UF_CRM_44_1"}}
    }
    async with desk({**ANSWERS, "tasks.task.getFields": {"result": task}, "crm.item.fields": {"result": item}}) as here:
        assert (await here.reads.reference.load_fields("task"))["PRIORITY"].choices == {"2": "Высокий"}
        assert await here.naming.find_field_title("item:177", "UF_CRM_44_1") == "Склад"
        assert await here.naming.format_choice("item:177", "ufCrm44_1", ["1", "9"]) == "Южный"
        assert here.portal.asked[-1] == ("crm.item.fields", {"entityTypeId": 177})

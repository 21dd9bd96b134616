"""Names without a mark are read as references are; codes, numbers and texts of other fields stay; those who left are found in filters."""

from typing import Any

import pytest

from orchestrator.directory.answers import AskedDate, Resolved, Unresolved
from orchestrator.directory.naming import Naming
from orchestrator.directory.person_references import PersonReferences
from orchestrator.directory.plain_names import PlainNames
from orchestrator.directory.reference import ReferenceContext
from orchestrator.domain.actor import Actor
from state.events.fold import create_state
from tests.unit.directory.reference_kit import Desk, desk

ANNA = Actor(key="tg:1007", name="Анна", bitrix_user_id=7)
STAGES = [
    {"STATUS_ID": "NEW", "NAME": "Новая", "SORT": "10"},
    {"STATUS_ID": "FINAL_INVOICE", "NAME": "Финальный счёт", "SORT": "20"},
]
SOURCES = [{"STATUS_ID": "CALL", "NAME": "Звонок", "SORT": "10"}]
OWN = {
    "SOURCE_ID": {"type": "crm_status", "statusType": "SOURCE", "title": "Источник"},
    "UF_CRM_1": {"type": "enumeration", "isDynamic": True, "formLabel": "Услуги", "items": [{"ID": "5", "VALUE": "Доставка"}]},
    "UF_CRM_2": {"type": "string", "isDynamic": True, "formLabel": "Заметка"},
    "UF_CRM_3": {"type": "employee", "isDynamic": True, "formLabel": "Техник"},
}
USERS = [
    {"ID": "7", "NAME": "Анна", "LAST_NAME": "Ковалёва", "ACTIVE": True},
    {"ID": "8", "NAME": "Вера", "LAST_NAME": "Лебедева", "ACTIVE": True},
    {"ID": "9", "NAME": "Пётр", "LAST_NAME": "Сомов", "ACTIVE": True},
    {"ID": "10", "NAME": "Пётр", "LAST_NAME": "Сомов", "ACTIVE": True},
    {"ID": "11", "NAME": "Егор", "LAST_NAME": "Тихонов", "ACTIVE": False},
]
ANSWERS: dict[str, Any] = {
    "crm.deal.fields": OWN,
    "crm.status.list": lambda params: SOURCES if params["filter"]["ENTITY_ID"] == "SOURCE" else STAGES,
    "crm.deal.get": {"ID": "481", "CATEGORY_ID": "0"},
    "user.get": lambda params: [one for one in USERS if "FILTER" not in params or one["ID"] == str(params["FILTER"]["ID"])],
    "department.get": [],
}


def plain_names(here: Desk) -> PlainNames:
    return PlainNames(here.reads, Naming(here.reads))


async def named(method: str, params: dict[str, Any], **chosen: object) -> Any:
    async with desk(ANSWERS) as here:
        return await plain_names(here).resolve(method=method, params=params, actor=ANNA, chosen=chosen)


@pytest.mark.parametrize(
    ("field", "value", "becomes"),
    [
        ("STAGE_ID", "Финальный счёт", "FINAL_INVOICE"),
        ("STAGE_ID", "финальный счет", "FINAL_INVOICE"),
        ("STAGE_ID", "FINAL_INVOICE", "FINAL_INVOICE"),
        ("STAGE_ID", "@stage:Новая", "@stage:Новая"),
        ("ASSIGNED_BY_ID", "Вера Лебедева", 8),
        ("ASSIGNED_BY_ID", "8", "8"),
        ("UF_CRM_1", "Доставка", "5"),
        ("UF_CRM_1", ["Доставка"], ["5"]),
        ("UF_CRM_1", "5", "5"),
        ("UF_CRM_2", "Доставка", "Доставка"),
        ("UF_CRM_3", "Вера Лебедева", 8),
        ("SOURCE_ID", "Звонок", "CALL"),
        ("TITLE", "Вера Лебедева", "Вера Лебедева"),
        ("COMMENTS", "завтра в 10:00", "завтра в 10:00"),
        ("CLOSEDATE", "завтра", "@date:завтра"),
        ("CLOSEDATE", "01.12.2026", "@date:01.12.2026"),
        ("CLOSEDATE", "2026-12-01", "2026-12-01"),
    ],
)
async def test_a_name_becomes_what_the_field_takes(field: str, value: object, becomes: object) -> None:
    """Only in fields of people, stages, lists and days; words of a day are left to the reading of days."""
    found = await named("crm.deal.update", {"id": 481, "fields": {field: value}})
    assert found == {"id": 481, "fields": {field: becomes}}


async def test_names_in_filters_batches_and_other_places() -> None:
    """The same under a sign, in a group, in a command and in a parameter that is a field itself."""
    conditions = {"!STAGE_ID": "Новая", "@ASSIGNED_BY_ID": ["Вера Лебедева"], "0": {"STAGE_ID": "Финальный счёт"}, "%TITLE": "Новая"}
    found = await named("crm.deal.list", {"filter": conditions, "select": ["ID"]})
    assert found["filter"] == {"!STAGE_ID": "NEW", "@ASSIGNED_BY_ID": [8], "0": {"STAGE_ID": "FINAL_INVOICE"}, "%TITLE": "Новая"}
    batch = await named("batch", {"cmd": {"a": "crm.deal.update?id=481&fields[STAGE_ID]=Финальный счёт", "b": "crm.deal.get?id=1"}})
    assert "FINAL_INVOICE" in batch["cmd"]["a"]
    assert batch["cmd"]["b"] == "crm.deal.get?id=1"
    todo = {"ownerTypeId": 2, "ownerId": 481, "deadline": "завтра в 10:00", "title": "Вера Лебедева", "responsibleId": "Вера Лебедева"}
    assert await named("crm.activity.todo.add", todo) == {**todo, "deadline": "@date:завтра в 10:00", "responsibleId": 8}


@pytest.mark.parametrize("key", ["%STAGE_ID", ">STAGE_ID", "%ASSIGNED_BY_ID"])
async def test_a_part_or_a_bound_is_no_name(key: str) -> None:
    """Only where the value as a whole is looked for it is the name of one."""
    assert await named("crm.deal.list", {"filter": {key: "Новая"}}) == {"filter": {key: "Новая"}}


async def test_of_several_the_person_chooses() -> None:
    """The question has the candidates, and the answer is taken afterwards."""
    params = {"id": 481, "fields": {"ASSIGNED_BY_ID": "Пётр Сомов"}}
    found = await named("crm.deal.update", params)
    assert isinstance(found, AskedDate)
    assert sorted(one.value for one in found.several.options) == [9, 10]
    assert await named("crm.deal.update", params, **{found.reference: 10}) == {"id": 481, "fields": {"ASSIGNED_BY_ID": 10}}


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("STAGE_ID", "Космос", "stage-not-found"),
        ("ASSIGNED_BY_ID", "Ипполит Воробьянинов", "user-not-found"),
        ("UF_CRM_1", "Телепортация", "option-not-found"),
        ("ASSIGNED_BY_ID", "Егор Тихонов", "user-left"),
    ],
)
async def test_of_none_it_is_said_what_there_is(field: str, value: str, code: str) -> None:
    """No sentence says that a name is missing in whose list it stands."""
    found = await named("crm.deal.update", {"id": 481, "fields": {field: value}})
    assert isinstance(found, Unresolved)
    assert found.notice.code == code
    assert value not in str(found.notice.args.get("known", ""))


@pytest.mark.parametrize(("method", "found"), [("crm.deal.list", 11), ("crm.deal.update", None)])
async def test_who_has_left_is_found_in_filters_only(method: str, found: int | None) -> None:
    """«Передай дела Егора»: the filter finds them, a record is never given to them."""
    async with desk(ANSWERS) as here:
        place = ReferenceContext(method=method, params={}, actor=ANNA, state=create_state(), text="")
        answer = await PersonReferences(here.reads, here.naming).resolve_user("Егор Тихонов", place)
    assert (answer.value if isinstance(answer, Resolved) else None) == found

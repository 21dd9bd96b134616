"""Records of smart processes, invoices and quotes are named, linked and listed as deals are."""

from typing import Any

import pytest

from orchestrator.directory.answers import Ambiguous, Option, Resolved
from orchestrator.directory.labels import build_card_url
from orchestrator.directory.lookup import Lookup
from orchestrator.directory.outcome_view import render_outcome
from orchestrator.directory.reference import ReferenceContext
from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import Outcome
from state.events.fold import create_state
from tests.unit.directory.reference_kit import Desk, desk

ANNA = Actor(key="tg:1007", name="Анна", bitrix_user_id=7)
STAGES = [
    {"STATUS_ID": "DT177_10:NEW", "NAME": "Подготовка", "SORT": "10"},
    {"STATUS_ID": "DT177_10:SUCCESS", "NAME": "Подписан", "SORT": "20"},
]
PEOPLE = [
    {"ID": "7", "NAME": "Анна", "LAST_NAME": "Ковалёва", "ACTIVE": True, "UF_DEPARTMENT": [3], "WORK_POSITION": "менеджер"},
    {"ID": "9", "NAME": "Анна", "LAST_NAME": "Уварова", "ACTIVE": True, "UF_DEPARTMENT": [5]},
]
ANSWERS: dict[str, Any] = {
    "crm.type.list": {"result": {"types": [{"id": 3, "entityTypeId": 177, "title": "Договоры"}]}, "total": 1},
    "crm.category.list": {
        "result": {"categories": [{"id": 10, "name": "Основная", "isDefault": "Y"}, {"id": 11, "name": "Архив"}]},
        "total": 2,
    },
    "crm.status.list": {"result": STAGES, "total": 2},
    "crm.item.get": {"result": {"item": {"id": 12, "title": "Поставка", "categoryId": 10, "stageId": "DT177_10:NEW"}}},
    "crm.item.fields": {
        "result": {"fields": {"ufCrm5_1": {"type": "enumeration", "isDynamic": True, "items": [{"ID": "79", "VALUE": "Рамочный"}]}}}
    },
    "user.get": {"result": PEOPLE, "total": 2},
    "department.get": {"result": [{"ID": "3", "NAME": "Отдел продаж"}, {"ID": "5", "NAME": "Тендерный отдел"}], "total": 2},
}
ITEM = {"id": 12, "title": "Поставка", "opportunity": 100, "currencyId": "RUB", "stageId": "DT177_10:NEW", "categoryId": 10, "ufCrm5_1": 79}


async def shown(here: Desk, rows: list[dict[str, Any]], type_id: int = 177) -> Any:
    outcome = Outcome(
        status="succeeded",
        effect_id="e",
        method="crm.item.list",
        call={"entityTypeId": type_id},
        entity="item",
        result={"items": rows},
        total=len(rows),
    )
    return await render_outcome(outcome, here.naming, ANNA)


async def test_a_list_of_a_smart_process_has_rows_like_any_other(here: Desk) -> None:
    """Title, sum, stage and number; the link to the card; list values by name beside the number that filters need."""
    found = await shown(here, [ITEM])
    assert found.table.rows[0].label.replace("\u00a0", " ") == "Поставка · 100 ₽ · Подготовка · №12"
    assert found.table.rows[0].url == "http://127.0.0.1:8080/crm/type/177/details/12/"
    assert found.titles == {"item:177:12": "Поставка"}
    assert (found.rows[0]["ufCrm5_1"], found.rows[0]["names"]) == (79, {"ufCrm5_1": "Рамочный"})
    assert "Рамочный" in found.labels
    assert not found.prose
    assert found.sum_text.replace("\u00a0", " ") == "100 ₽"
    deal = await shown(here, [{"id": 1, "title": "Ромашка"}], 2)
    assert deal.table.rows[0].url.endswith("/crm/deal/details/1/")


async def test_a_record_without_a_title_goes_by_its_kind() -> None:
    """«элемент смарт-процесса «Договоры»», invoices and quotes by their word, by number where the list of kinds may not be read."""
    async with desk(ANSWERS) as here:
        assert await here.naming.build_label("item:177", {"id": 12}, "ru") == "элемент смарт-процесса «Договоры» · №12"
        assert await here.naming.build_label("item:31", {"id": 5, "title": "Счёт 5", "stageId": ""}, "ru") == "Счёт 5 · №5"
        assert await here.naming.find_kind_name("item:31", "ru") == "счёт"
        assert await here.naming.find_kind_name("item:7", "en") == "quote"
        assert (
            await here.naming.find_kind_name("item:2", "ru")
            == await here.naming.find_kind_name("deal", "ru")
            == await here.naming.find_kind_name("item", "ru")
            == ""
        )
        assert await here.naming.find_title("item:177", 12) == "Поставка"
    async with desk({}) as here:
        assert await here.naming.build_label("item:177", {"id": 12, "stageId": "DT177_10:NEW"}, "ru") == (
            "элемент смарт-процесса №177 · DT177_10:NEW · №12"
        )


@pytest.mark.parametrize(
    ("entity", "path"),
    [
        ("item:177", "/crm/type/177/details/5/"),
        ("item:31", "/crm/type/31/details/5/"),
        ("invoice", "/crm/type/31/details/5/"),
        ("item:7", "/crm/quote/details/5/"),
        ("quote", "/crm/quote/details/5/"),
        ("item:2", "/crm/deal/details/5/"),
        ("task", "/company/personal/user/7/tasks/task/view/5/"),
        ("item", ""),
        ("item:", ""),
        ("item:1/../2", ""),
        ("comment", ""),
    ],
)
async def test_every_kind_of_record_has_its_link(entity: str, path: str) -> None:
    """Or none, where there is no card."""
    async with desk({}) as here:
        assert here.naming.build_card_url(entity, 5, user=7) == (f"http://127.0.0.1:8080{path}" if path else "")
        assert here.naming.build_card_url(entity, 0) == ""
    assert (
        build_card_url("https://romashka.bitrix24.ru/rest/1/secret/", "item:177", 5)
        == "https://romashka.bitrix24.ru/crm/type/177/details/5/"
    )


async def resolve(here: Desk, reference: str, method: str, params: dict[str, Any]) -> Any:
    lookup = Lookup(here.reads, here.naming, here.clock)
    return await lookup.resolve(reference, ReferenceContext(method=method, params=params, actor=ANNA, state=create_state(), text="Анна"))


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("crm.item.update", {"entityTypeId": 177, "id": 12, "fields": {}}),
        ("crm.item.add", {"entityTypeId": 177, "fields": {}}),
        ("crm.item.add", {"entityTypeId": 177, "fields": {"categoryId": 10}}),
        ("crm.item.list", {"entityTypeId": 177, "filter": {"categoryId": 10, "stageId": "@stage:Подписан"}}),
    ],
)
async def test_a_stage_of_a_smart_process_is_found_by_name(here: Desk, method: str, params: dict[str, Any]) -> None:
    """In the funnel of the step, of its record, or in the usual one."""
    assert await resolve(here, "@stage:Подписан", method, params) == Resolved(
        value="DT177_10:SUCCESS", label="Подписан", named_by_person=True
    )
    books = {asked["filter"]["ENTITY_ID"] for name, asked in here.portal.asked if name == "crm.status.list"}
    assert books == {"DYNAMIC_177_STAGE_10"}
    assert (await resolve(here, "@category:Архив", method, params)).value == 11


@pytest.mark.parametrize(
    ("field", "value"), [("UF_CRM_DAY", "2026-11-22"), (">=UF_CRM_DAY", "2026-11-22"), ("UF_CRM_AT", "2026-11-22T18:00:00+03:00")]
)
async def test_a_day_for_the_portals_own_field_has_the_form_that_its_type_needs(field: str, value: str) -> None:
    """A field of days gets no hour and no offset, which the portal would shift."""
    fields = {"UF_CRM_DAY": {"type": "date"}, "UF_CRM_AT": {"type": "datetime"}}
    async with desk({**ANSWERS, "crm.deal.fields": fields}) as here:
        assert (await resolve(here, "@date:завтра", "crm.deal.list", {"filter": {field: "@date:завтра"}})).value == value


async def test_a_write_is_judged_by_stages_as_they_are_now(here: Desk) -> None:
    """A list may use what is kept; an update reads the stages again."""
    listing = {"filter": {"STAGE_ID": "@stage:Подписан", "CATEGORY_ID": 10}}
    await resolve(here, "@stage:Подписан", "crm.deal.list", listing)
    here.portal.answers["crm.status.list"] = {"result": STAGES[:1], "total": 1}
    assert (await resolve(here, "@stage:Подписан", "crm.deal.list", listing)).value == "DT177_10:SUCCESS"
    gone = await resolve(here, "@stage:Подписан", "crm.deal.update", {"id": 1, "fields": {"CATEGORY_ID": 10}})
    assert gone.notice.code == "stage-not-found"


async def test_somebody_dismissed_since_is_not_written_into_a_record(here: Desk) -> None:
    """The list of employees may be minutes old, the one who is chosen is looked at now."""
    update = {"id": 1, "fields": {"ASSIGNED_BY_ID": "@user:Уварова"}}
    assert (await resolve(here, "@user:Уварова", "crm.deal.update", update)).value == 9
    here.portal.answers["user.get"] = {"result": [PEOPLE[0], {**PEOPLE[1], "ACTIVE": False}], "total": 2}
    assert (await resolve(here, "@user:Уварова", "crm.deal.list", {})).value == 9
    assert (await resolve(here, "@user:Уварова", "crm.deal.update", update)).notice.code == "user-not-found"


@pytest.mark.parametrize(
    ("words", "value"), [("Анна из отдела продаж", 7), ("Анна из тендерного отдела", 9), ("Анна Уварова из Тендерный отдел", 9)]
)
async def test_a_department_tells_two_of_one_name_apart(here: Desk, words: str, value: int) -> None:
    """And the buttons name it where nothing was said."""
    assert (await resolve(here, f"@user:{words}", "crm.deal.list", {})).value == value
    several = await resolve(here, "@user:Анна", "crm.deal.list", {})
    assert isinstance(several, Ambiguous)
    assert Option(value=7, label="Анна Ковалёва · менеджер · Отдел продаж · №7") in several.options
    assert (await resolve(here, "@user:Анна из бухгалтерии", "crm.deal.list", {})).notice.code == "user-not-found"

"""Fields and options by the titles that the portal's administrators gave them."""

from typing import Any

import pytest

from orchestrator.directory.answers import Ambiguous, Resolution, Resolved, Unresolved
from orchestrator.directory.field_references import FieldReferences
from tests.unit.directory.reference_kit import desk

PLACES = [{"ID": "79", "VALUE": "Север"}, {"ID": "81", "VALUE": "Юг"}, {"ID": "83", "VALUE": "Юго-запад"}, {"ID": "85", "VALUE": "3"}]


def own(title: str, kind: str = "enumeration", **more: Any) -> dict[str, Any]:
    return {"type": kind, "isDynamic": True, "formLabel": title, **more}


ANSWERS = {
    "crm.deal.fields": {
        "TITLE": {"type": "string", "title": "Название"},
        "OPPORTUNITY": {"type": "double", "title": "Сумма"},
        "SOURCE_ID": {"type": "crm_status", "statusType": "SOURCE", "title": "Источник"},
        "UF_CRM_PLACE": own("Площадка", items=PLACES),
        "UF_CRM_BUDGET": own("Бюджет проекта", "money"),
        "UF_CRM_BUDGET2": own("Бюджет рекламы", "money"),
        "UF_CRM_KIND": own("Вид", items=[{"ID": "5", "VALUE": "Север"}]),
    },
    "crm.item.fields": {"fields": {"ufCrm5Place": own("Площадка", items=PLACES), "title": {"type": "string", "title": "Название"}}},
    "crm.status.list": [{"STATUS_ID": "CALL", "NAME": "Звонок", "SORT": "10"}, {"STATUS_ID": "WEB", "NAME": "Сайт", "SORT": "20"}],
}


async def field(words: str, method: str = "crm.deal.update", **params: Any) -> Resolution:
    async with desk(ANSWERS) as made:
        return await FieldReferences(made.reads, made.naming).resolve_field(words, method, params)


async def option(words: str, params: dict[str, Any], method: str = "crm.deal.update") -> Resolution:
    async with desk(ANSWERS) as made:
        return await FieldReferences(made.reads, made.naming).resolve_option(words, f"@option:{words}", method, params)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("Площадка", "UF_CRM_PLACE"),
        ("площадку", "UF_CRM_PLACE"),
        ("Бюджет рекламы", "UF_CRM_BUDGET2"),
        ("Сумма", "OPPORTUNITY"),
        ("Ответственный", None),  # this portal has no such field
        ("Amount", "OPPORTUNITY"),
        ("UF_CRM_PLACE", "UF_CRM_PLACE"),
    ],
)
async def test_a_title_names_a_field(words: str, code: str | None) -> None:
    """Own fields by their titles, standard ones by their titles in both languages, and a code by itself."""
    found = await field(words)
    assert found.value == code if isinstance(found, Resolved) else code is None


async def test_the_code_is_spelled_as_the_method_spells_it() -> None:
    """In crm.item.* it is in camelCase."""
    found = await field("Площадка", "crm.item.update", entityTypeId=177)
    assert isinstance(found, Resolved)
    assert found.value == "ufCrm5Place"


async def test_an_unclear_title_is_a_question_and_an_unknown_one_tells_what_there_is() -> None:
    """The person chooses; a misspelt title is offered, not taken."""
    several = await field("бюджет")
    assert isinstance(several, Ambiguous)
    assert {one.value for one in several.options} == {"UF_CRM_BUDGET", "UF_CRM_BUDGET2"}
    assert several.ask.code == "which-field"
    near = await field("Плащадка")
    assert isinstance(near, Ambiguous)
    assert near.is_guess
    unknown = await field("Цвет машины")
    assert isinstance(unknown, Unresolved)
    assert "Площадка" in unknown.detail
    assert unknown.notice.code == "field-not-found"
    assert isinstance(await field("Площадка", "crm.item.list"), Unresolved)
    assert isinstance(await field("Площадка", "user.get"), Unresolved)


@pytest.mark.parametrize(
    ("words", "params", "value"),
    [
        ("Север", {"fields": {"UF_CRM_PLACE": "@option:Север"}}, "79"),
        ("Север", {"fields": {"UF_CRM_KIND": "@option:Север"}}, "5"),
        ("Юг", {"fields": {"UF_CRM_PLACE": ["@option:Юг", "@option:Север"]}}, "81"),
        ("3", {"fields": {"UF_CRM_PLACE": "@option:3"}}, "85"),
        ("север", {"filter": {"!=UF_CRM_PLACE": "@option:север"}}, "79"),
        ("Звонок", {"fields": {"SOURCE_ID": "@option:Звонок"}}, "CALL"),
    ],
)
async def test_an_option_is_looked_for_in_its_field(words: str, params: dict[str, Any], value: str) -> None:
    """Two fields may have options of the same name; a name that is a number is a name."""
    found = await option(words, params)
    assert isinstance(found, Resolved), found
    assert found.value == value


@pytest.mark.parametrize(
    "params",
    [
        {"fields": {"UF_CRM_PLACE": "@option:Север", "UF_CRM_KIND": "@option:Север"}},
        {"fields": {"TITLE": "@option:Север"}},
        {"fields": {"UF_CRM_PLACE": "@option:Восток"}},
        {"fields": {"UF_CRM_NONE": "@option:Север"}},
        {},
    ],
)
async def test_an_option_without_one_list_field_is_not_guessed(params: dict[str, Any]) -> None:
    """One name in two fields would be two ids; a plain field has no options."""
    words = "Восток" if "Восток" in str(params) else "Север"
    assert isinstance(await option(words, params), Unresolved)

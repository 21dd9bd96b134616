"""Fields of the company as portals send them: sums with a currency, `false` for none, files, addresses, links, names with entities."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import Outcome, Pending, Provenance
from orchestrator.gate.call.effect import Call
from orchestrator.gate.preview.field_words import name_field
from orchestrator.gate.preview.format_values import Reader
from tests.unit.gate.gate_kit import made
from tests.unit.gate.sandbox_kit import Desk, a_desk
from tests.unit.spine_kit import effect

BORIS = Actor(key="tg:1007", name="Борис Орлов", bitrix_user_id=7, sees="all")
SUM, MANY, FILE, PLACE, LINK = "UF_CRM_1700000002", "UF_CRM_1700000001", "UF_CRM_1700000006", "UF_CRM_1700000007", "UF_CRM_1700000008"
FIELDS = {
    "ID": {"type": "integer", "isReadOnly": True},
    "TITLE": {"type": "string"},
    SUM: {"type": "money", "isDynamic": True, "formLabel": "Аванс"},
    MANY: {
        "type": "enumeration",
        "isDynamic": True,
        "isMultiple": True,
        "formLabel": "Услуги &quot;под ключ&quot;",
        "items": [{"ID": "1", "VALUE": "Монтаж &quot;срочный&quot;"}],
    },
    FILE: {"type": "file", "isDynamic": True, "formLabel": "Договор"},
    LINK: {"type": "string", "isDynamic": True, "formLabel": "Откуда"},
    PLACE: {"type": "address", "isDynamic": True, "formLabel": "Адрес"},
}
CONTRACT = {"id": 12, "showUrl": "/bitrix/show?auth=x", "downloadUrl": "/rest/download?token=secret"}


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with a_desk(tmp_path) as made_desk:
        made_desk.wire.instead["crm.deal.fields"] = httpx.Response(200, json={"result": FIELDS})
        yield made_desk


def hold(desk: Desk, **values: Any) -> None:
    """The deal stands so in the portal."""
    row = {"ID": "423", "TITLE": "Северный ветер", "STAGE_ID": "NEW", "CATEGORY_ID": "0", "ASSIGNED_BY_ID": "7", **values}
    desk.wire.instead["crm.deal.get"] = httpx.Response(200, content=json.dumps({"result": row}).encode())


async def change(desk: Desk, text: str = "", **values: Any) -> Outcome | Pending:
    desk.count += 1
    provenance = Provenance(message=None, targets=frozenset({"deal:423"}), person_text=text)
    given = effect("crm.deal.update", {"id": 423, "fields": values}, slot=f"t1/1/{desk.count}", provenance=provenance)
    return await desk.world.submit(desk.session, given, actor=BORIS)


def sent(desk: Desk) -> list[dict[str, Any]]:
    return [params["fields"] for method, params in desk.wire.writes() if method == "crm.deal.update"]


@pytest.mark.parametrize(
    ("present", "text", "value", "written"),
    [
        ("1000|USD", "", "5000", "5000|USD"),
        ("1000|USD", "аванс 5000", 5000, "5000|USD"),
        ("|RUB", "", 5000, "5000|RUB"),
        ("|USD", "аванс 5000 рублей", 5000, "5000|RUB"),
        ("1000", "", 5000, 5000),
    ],
)
async def test_a_sum_keeps_its_currency(desk: Desk, present: str, text: str, value: object, written: object) -> None:
    """A number alone would become one of the portal's currency; the currency that the person named counts before that of the field."""
    hold(desk, **{SUM: present})
    found = await change(desk, text, **{SUM: value})
    assert found.status == "succeeded", found
    assert [fields[SUM] for fields in sent(desk)] == [written]


@pytest.mark.parametrize(("text", "value"), [("аванс 5000 евро", 5000), ("", "5000|EUR")])
async def test_another_currency_asks(desk: Desk, text: str, value: object) -> None:
    """The card says from what to what, and nothing is written before."""
    hold(desk, **{SUM: "1000|USD"})
    found = await change(desk, text, **{SUM: value})
    assert isinstance(found, Pending)
    assert sent(desk) == []
    assert [(one.args["before"], one.args["after"]) for one in found.reasons] == [("1 000 USD", "5 000 EUR")]


async def read_line(desk: Desk, present: object, value: object, name: str) -> tuple[str, str, str]:
    """What a card shows of the field: name, before, after."""
    hold(desk, **{name: present})
    desk.count += 1
    given = effect("crm.deal.update", {"id": 423, "fields": {name: value}}, slot=f"t1/2/{desk.count}", requires_confirmation=True)
    pending = await desk.world.submit(desk.session, given, actor=BORIS)
    (line,) = desk.card(pending).preview["lines"]
    return line["name"], line["before"].replace("\xa0", " "), line["after"].replace("\xa0", " ")


@pytest.mark.parametrize(
    ("name", "present", "value", "shown"),
    [
        (SUM, "1000|USD", "5000", ("Аванс", "1 000 $", "5 000 $")),
        (SUM, "|RUB", "5000", ("Аванс", "—", "5 000 ₽")),
        (MANY, False, [1], ('Услуги "под ключ"', "—", 'Монтаж "срочный"')),
        (FILE, CONTRACT, {"fileData": ["a.txt", "YWJj"]}, ("Договор", "файл №12", "файл «a.txt»")),
        (FILE, False, ["a.txt", "YWJj"], ("Договор", "—", "файл «a.txt»")),
        (LINK, "D_423", "C_43", ("Откуда", "Северный ветер (D_423)", "Иван Кузнецов (C_43)")),
        (LINK, "L_987654", "D-423", ("Откуда", "L_987654", "D-423")),
        (LINK, "M &amp; B", "M & N", ("Откуда", "M & B", "M & N")),
        (PLACE, "Москва, Тверская, 1|55.76;37.6|12", "Тула, Мира, 2", ("Адрес", "Москва, Тверская, 1", "Тула, Мира, 2")),
    ],
)
async def test_values_stand_on_cards_in_words(desk: Desk, name: str, present: object, value: object, shown: tuple[str, str, str]) -> None:
    """No «False», no «|RUB», no addresses of files, no coordinates, no entities, no codes of records."""
    assert await read_line(desk, present, value, name) == shown


async def test_what_is_sent_stands_as_it_is_sent(desk: Desk) -> None:
    """Only what the portal holds is read without entities, and not where the entities are all that changes."""
    written = "Кабель &quot;АВВГ&quot;"
    assert (await read_line(desk, "Кабель &quot;ВВГ&quot;", written, "TITLE"))[1:] == ('Кабель "ВВГ"', written)
    assert (await read_line(desk, "Кабель &quot;ВВГ&quot;", 'Кабель "ВВГ"', "TITLE"))[1:] == ("Кабель &quot;ВВГ&quot;", 'Кабель "ВВГ"')


async def test_a_heading_names_its_record_without_entities(desk: Desk) -> None:
    """«Изменить сделку «Кабель "ВВГ"»»."""
    hold(desk, TITLE="Кабель &quot;ВВГ&quot;")
    given = effect("crm.deal.update", {"id": 423, "fields": {"TITLE": "x"}}, requires_confirmation=True)
    assert desk.card(await desk.world.submit(desk.session, given, actor=BORIS)).preview["title"] == 'Кабель "ВВГ"'


async def test_a_file_in_place_of_a_file_asks(desk: Desk) -> None:
    """The old one may be lost, and the card says so; the first file of a field is free."""
    hold(desk, **{FILE: CONTRACT})
    found = await change(desk, **{FILE: {"fileData": ["a.txt", "YWJj"]}})
    assert isinstance(found, Pending)
    assert [one.code for one in found.reasons] == ["gate-file-field"]
    hold(desk, **{FILE: False})
    assert (await change(desk, **{FILE: {"fileData": ["b.txt", "YWJj"]}})).status == "succeeded"


async def test_an_empty_list_is_not_emptied_again(desk: Desk) -> None:
    """`false` is what an empty field of several values holds."""
    hold(desk, **{MANY: False})
    found = await change(desk, **{MANY: []})
    assert isinstance(found, Outcome)
    assert found.reason is not None
    assert found.reason.code == "gate-already-so"


async def test_a_field_of_the_company_is_named_by_its_title_in_sentences(desk: Desk) -> None:
    """Nobody reads UF_CRM_…; fields that the program knows keep the code by which its sentences name them."""
    call = made(effect("crm.deal.update", {"id": 423, "fields": {SUM: 5}}))
    assert isinstance(call, Call)
    reader = Reader(names=desk.world.tools.gate.deps.names, locale="ru", zone="Europe/Moscow")
    assert await name_field(call, SUM, reader) == "«Аванс»"
    assert await name_field(call, "UF_CRM_NONE", reader) == "UF_CRM_NONE"
    assert await name_field(call, "STAGE_ID", reader) == "STAGE_ID"

"""Values that mean nothing are refused before a card, and the person reads what would be right."""

from typing import Any

import pytest

from bot.i18n.translate import Translator
from orchestrator.domain.effect import Pending
from orchestrator.gate.call.effect import Facts
from orchestrator.gate.decide.value_checks import find_value_problem
from tests.unit.gate.gate_kit import LEAD, RECORDS, call, effect, judged, said
from tests.unit.gate.sandbox_kit import Desk
from tests.unit.spine_kit import NOW


def deal(**fields: Any) -> tuple[str, dict[str, Any]]:
    """A change of deal 410 with the classic method."""
    return "crm.deal.update", {"id": 410, "fields": fields}


def item(**fields: Any) -> tuple[str, dict[str, Any]]:
    """A change of deal 410 with the universal method."""
    return "crm.item.update", {"entityTypeId": 2, "id": 410, "fields": fields}


def new_deal(**fields: Any) -> tuple[str, dict[str, Any]]:
    """A new deal."""
    return "crm.deal.add", {"fields": {"TITLE": "Лютик", **fields}}


def new_task(**fields: Any) -> tuple[str, dict[str, Any]]:
    """A new task."""
    return "tasks.task.add", {"fields": {"TITLE": "Позвонить", "RESPONSIBLE_ID": 6, **fields}}


def todo(**params: Any) -> tuple[str, dict[str, Any]]:
    """A new activity of deal 410."""
    return "crm.activity.todo.add", {"ownerTypeId": 2, "ownerId": 410, "title": "Звонок", "deadline": "2026-11-30T10:00:00+03:00", **params}


def meeting(**params: Any) -> tuple[str, dict[str, Any]]:
    """A new event in the speaker's calendar."""
    times = {"from": "2026-11-30T10:00:00+03:00", "to": "2026-11-30T11:00:00+03:00"}
    return "calendar.event.add", {"type": "user", "ownerId": 6, "name": "Встреча", "section": 1, **times, **params}


LIST, MONEY, FLAG, PERSON = (f"UF_CRM_17473101{number:02}" for number in (1, 2, 3, 4))
"""Custom fields of the sandbox's deals."""
Wish = tuple[str, dict[str, Any]]
BAD: list[tuple[Wish, str, str]] = [
    (deal(CLOSEDATE="завтра"), "gate-value-date", "Дата завершения"),
    (deal(CLOSEDATE="30.02.2027"), "gate-value-date", "30.02.2027"),
    (deal(CLOSEDATE="2026-13-01"), "gate-value-date", "2026-13-01"),
    (deal(CLOSEDATE="２０２６-12-01"), "gate-value-date", "Дата завершения"),
    (deal(CLOSEDATE="скоро"), "gate-value-date", "например"),
    (deal(CLOSEDATE="31.12.2099"), "gate-value-year", "21.11.2036"),
    (deal(CLOSEDATE="0001-01-01"), "gate-value-year", "1970"),
    (deal(CLOSEDATE=20261130), "gate-value-date", "20261130"),
    (deal(CLOSEDATE="12/05/2026"), "gate-value-date", "12/05/2026"),
    (new_task(DEADLINE="05/12/2026 10:00 am"), "gate-value-date", "05/12/2026"),
    (item(closedate="tomorrow"), "gate-value-date", "Дата завершения"),
    (new_deal(BEGINDATE="в пятницу"), "gate-value-date", "Дата начала"),
    (("crm.contact.update", {"id": 43, "fields": {"BIRTHDATE": "2030-01-01"}}), "gate-value-year", "День рождения"),
    (new_task(DEADLINE="завтра в 15:00"), "gate-value-date", "Крайний срок"),
    (new_task(DEADLINE="2026-11-30T25:00:00+03:00"), "gate-value-date", "Крайний срок"),
    (new_task(START_DATE_PLAN="2026-12-02T10:00:00+03:00", END_DATE_PLAN="2026-12-01T10:00:00+03:00"), "gate-value-order", "Закончить"),
    (("tasks.task.update", {"taskId": 8017, "fields": {"DEADLINE": "2126-11-30"}}), "gate-value-year", "Крайний срок"),
    (todo(deadline="завтра"), "gate-value-date", "Срок"),
    (meeting(**{"from": "завтра в 10"}), "gate-value-date", "Начало"),
    (meeting(to="2026-11-30T09:00:00+03:00"), "gate-value-order", "Окончание"),
    (deal(STAGE_ID="C1:NEW"), "gate-value-stage", "Есть: "),
    (deal(STAGE_ID="НОВАЯ"), "gate-value-stage", "Стадии «НОВАЯ» в этой воронке нет"),
    (deal(STAGE_ID="DT177_10:NEW"), "gate-value-stage", "Такой стадии"),
    (item(stageId="C1:NEW"), "gate-value-stage", "Есть: "),
    (item(categoryId=1, stageId="NEW"), "gate-value-stage", "Есть: "),
    (new_deal(STAGE_ID="C1:NEW"), "gate-value-stage", "Подготовка документов"),
    (new_deal(CATEGORY_ID=99), "gate-value-choice", "Воронка"),
    (("crm.lead.add", {"fields": {"TITLE": "Лютик", "STATUS_ID": "WON"}}), "gate-value-stage", "Есть: "),
    (("crm.item.add", {"entityTypeId": 1, "fields": {"title": "Лютик", "stageId": "WON"}}), "gate-value-stage", "Не обработан"),
    (("crm.item.add", {"entityTypeId": 177, "fields": {"title": "Лютик", "stageId": "NEW"}}), "gate-value-stage", "Есть: "),
    (("crm.item.add", {"entityTypeId": 177, "fields": {"title": "Лютик", "closedate": "завтра"}}), "gate-value-date", "Дата завершения"),
    (deal(ASSIGNED_BY_ID="Анна"), "gate-value-user", "Анна"),
    (deal(ASSIGNED_BY_ID=998), "gate-user-inactive", "998"),
    (deal(ASSIGNED_BY_ID=-1), "gate-value-user", "Ответственный"),
    (item(assignedById="директор"), "gate-value-user", "директор"),
    (new_task(AUDITORS=[6, "директор"]), "gate-value-user", "Наблюдатели"),
    (new_task(AUDITORS=[998]), "gate-user-inactive", "998"),
    (new_task(ACCOMPLICES=["Анна"]), "gate-value-user", "Соисполнители"),
    (("tasks.task.delegate", {"taskId": 8017, "userId": "Анна"}), "gate-value-user", "Анна"),
    (todo(responsibleId="Анна"), "gate-value-user", "Исполнитель"),
    (deal(OPPORTUNITY="1e9"), "gate-value-number", "1e9"),
    (deal(OPPORTUNITY="１５００００"), "gate-value-number", "Сумма"),
    (deal(OPPORTUNITY="150 000"), "gate-value-number", "150000"),
    (deal(OPPORTUNITY="1500,50"), "gate-value-number", "1500,50"),
    (deal(OPPORTUNITY="сто тысяч"), "gate-value-number", "сто тысяч"),
    (deal(OPPORTUNITY=True), "gate-value-number", "Сумма"),
    (deal(OPPORTUNITY=[100]), "gate-value-number", "Сумма"),
    (deal(OPPORTUNITY=-5), "gate-value-range", "-5"),
    (deal(OPPORTUNITY=10**14), "gate-value-range", "Сумма"),
    (item(opportunity="NaN"), "gate-value-number", "NaN"),
    (new_deal(OPPORTUNITY="Infinity"), "gate-value-number", "Infinity"),
    (deal(PROBABILITY=250), "gate-value-range", "100"),
    (deal(PROBABILITY="высокая"), "gate-value-number", "Вероятность"),
    (("crm.deal.productrows.set", {"id": 410, "rows": [{"PRODUCT_NAME": "Монтаж", "PRICE": "1e3"}]}), "gate-value-number", "Цена"),
    (
        ("crm.item.productrow.add", {"fields": {"ownerId": 410, "ownerType": "D", "productName": "Монтаж", "price": 5, "quantity": "три"}}),
        "gate-value-number",
        "Количество",
    ),
    (new_deal(SOURCE_ID="Инстаграм"), "gate-value-choice", "Звонок"),
    (deal(TYPE_ID="НЕТ_ТАКОГО"), "gate-value-choice", "Тип"),
    (new_deal(CURRENCY_ID="РУБ"), "gate-value-choice", "RUB"),
    (deal(**{LIST: "вертолёт"}), "gate-value-choice", "Самовывоз"),
    (item(**{f"ufCrm_{LIST[7:]}": 9999}), "gate-value-choice", "Способ доставки"),
    (deal(**{MONEY: "много"}), "gate-value-number", "Предоплата"),
    (deal(**{FLAG: "может быть"}), "gate-value-flag", "Нужен монтаж"),
    (deal(**{PERSON: "Анна"}), "gate-value-user", "Технический специалист"),
    (deal(**{PERSON: 998}), "gate-user-inactive", "998"),
    (deal(OPENED="да"), "gate-value-flag", "включить или выключить"),
    (item(opened="maybe"), "gate-value-flag", "Доступна для всех"),
    (deal(COMPANY_ID="Ромашка"), "gate-value-id", "Компания"),
    (item(contactIds=["Иванов"]), "gate-value-id", "Контакты"),
    (new_task(GROUP_ID="продажи"), "gate-value-id", "Рабочая группа"),
    (new_task(PARENT_ID="основная"), "gate-value-id", "Основная задача"),
    (("crm.contact.add", {"fields": {"NAME": "Иван", "EMAIL": [{"VALUE": "нет почты"}]}}), "gate-value-email", "нет почты"),
    (("crm.contact.update", {"id": 43, "fields": {"EMAIL": [{"VALUE": "ivan.example.ru"}]}}), "gate-value-email", "ivan.example.ru"),
    (("crm.contact.add", {"fields": {"NAME": "Иван", "PHONE": [{"VALUE": "уточнить"}]}}), "gate-value-phone", "уточнить"),
    (
        ("crm.item.add", {"entityTypeId": 3, "fields": {"name": "Иван", "fm": [{"typeId": "PHONE", "value": "＋７９００"}]}}),
        "gate-value-phone",
        "＋７９００",
    ),
]


@pytest.mark.req("S004-24")
@pytest.mark.parametrize(("wish", "code", "words"), BAD)
async def test_a_value_that_means_nothing_is_refused_with_what_would_be_right(desk: Desk, wish: Wish, code: str, words: str) -> None:
    """Nothing is sent and no card appears; the person reads the field's name and what would fit, the model the form to write."""
    found = await desk.refused(*wish)
    assert found.reason.code == code
    told = Translator("ru").translate_notice(found.reason)
    assert words in told
    assert found.detail
    for field in wish[1].get("fields", {}):
        assert field not in told or not field.isupper()
    assert "{" not in Translator("en").translate_notice(found.reason)


HONEST: list[Wish] = [
    deal(CLOSEDATE="2026-12-31"),
    deal(CLOSEDATE="31.12.2026"),
    deal(CLOSEDATE="2026-12-31T00:00:00+03:00"),
    deal(CLOSEDATE="2020-02-29"),
    deal(CLOSEDATE=""),
    item(closedate="2027-01-15T12:00:00Z"),
    new_deal(BEGINDATE="2026-11-23 10:00:00"),
    new_deal(CLOSEDATE="2035-06-01"),
    ("crm.contact.update", {"id": 43, "fields": {"BIRTHDATE": "1949-05-09"}}),
    new_task(DEADLINE="2026-12-01T15:00:00+03:00"),
    new_task(DEADLINE="01.12.2026 15:00:00"),
    new_task(DEADLINE="2026-12-01T15:00:00+0300"),
    new_task(START_DATE_PLAN="2026-12-01T10:00:00+03:00", END_DATE_PLAN="2026-12-01T10:00:00+03:00"),
    ("tasks.task.update", {"taskId": 8017, "fields": {"DEADLINE": ""}}),
    todo(deadline="2026-11-30 10:00:00"),
    meeting(),
    meeting(**{"from": "2026-11-30", "to": "2026-11-30", "skip_time": "Y"}),
    meeting(**{"from": "2026-11-30T23:00:00+10:00", "to": "2026-11-30T17:00:00+03:00"}),
    deal(STAGE_ID="EXECUTING"),
    deal(STAGE_ID="WON"),
    ("crm.deal.update", {"id": 411, "fields": {"STAGE_ID": "C1:WON"}}),
    item(stageId="PREPAYMENT_INVOICE"),
    item(categoryId=1, stageId="C1:NEW"),
    item(categoryId=1),
    new_deal(CATEGORY_ID=1, STAGE_ID="C1:NEW"),
    ("crm.item.add", {"entityTypeId": 1, "fields": {"title": "Лютик", "stageId": "NEW"}}),
    ("crm.item.add", {"entityTypeId": 177, "fields": {"title": "Лютик"}}),
    new_deal(CATEGORY_ID="0", STAGE_ID="NEW"),
    deal(ASSIGNED_BY_ID="6"),
    new_task(ACCOMPLICES=[6, 8]),
    new_task(AUDITORS=["6"], ACCOMPLICES=[]),
    todo(responsibleId=6),
    deal(OPPORTUNITY=150000),
    deal(OPPORTUNITY="150000.50"),
    deal(OPPORTUNITY=0),
    deal(OPPORTUNITY="900000.00", CURRENCY_ID="RUB"),
    item(opportunity=1e9),
    deal(OPPORTUNITY="150 000 ₽"),
    new_deal(OPPORTUNITY=199.99, CURRENCY_ID="USD"),
    deal(PROBABILITY=100),
    ("crm.deal.productrows.set", {"id": 410, "rows": [{"PRODUCT_NAME": "Монтаж", "PRICE": 777, "QUANTITY": 1.5}]}),
    new_deal(SOURCE_ID="WEB"),
    new_deal(SOURCE_ID=""),
    deal(**{LIST: 57}),
    deal(**{LIST: "59"}),
    deal(**{MONEY: "1500.50|RUB"}),
    deal(**{MONEY: 1500}),
    deal(**{FLAG: 0, PERSON: 8}),
    deal(OPENED="N"),
    item(opened="N"),
    deal(COMPANY_ID=0),
    new_task(PARENT_ID=8017),
    ("crm.contact.add", {"fields": {"NAME": "Иван", "EMAIL": [{"VALUE": "ivan@ромашка.рф", "VALUE_TYPE": "WORK"}]}}),
    ("crm.contact.add", {"fields": {"NAME": "Иван", "PHONE": [{"VALUE": "8 (900) 111-22-33 доб. 12"}]}}),
    ("crm.contact.add", {"fields": {"NAME": "Иван", "PHONE": [{"VALUE": "112"}]}}),
    ("crm.item.add", {"entityTypeId": 3, "fields": {"name": "Иван", "fm": [{"typeId": "EMAIL", "value": "i.ivanov+crm@example.com"}]}}),
    deal(COMMENTS="завтра, 1e9, нет почты"),
    deal(TITLE="31.12.2099"),
]


@pytest.mark.parametrize("wish", HONEST)
async def test_what_the_portal_rightly_accepts_is_never_refused(desk: Desk, wish: Wish) -> None:
    """Fifty honest values: each runs, or waits for a person."""
    found = await desk.wish(*wish)
    assert isinstance(found, Pending) or found.status in {"succeeded", "unknown"}, found


async def test_a_value_that_the_record_already_has_is_not_checked(desk: Desk) -> None:
    """A model that writes back what it read changes nothing, whatever stands there."""
    sent = await desk.world.client.call("crm.deal.update", {"id": 410, "fields": {"CLOSEDATE": "2099-12-31"}}, repeatable=False)
    assert sent.result
    held = await desk.ask("crm.deal.get", id=410)
    found = await desk.wish(*deal(CLOSEDATE=held["CLOSEDATE"], TITLE="Лютик"))
    assert isinstance(found, Pending) or found.status == "succeeded", found


async def test_a_command_of_a_batch_is_named_with_its_reason(desk: Desk) -> None:
    """One bad value of a batch: the person reads which record and why, the model which command."""
    params = {"cmd": {"a": "crm.deal.update?id=410&fields[TITLE]=x", "b": "crm.deal.update?id=411&fields[CLOSEDATE]=завтра"}}
    found = await desk.wish("batch", params)
    assert (found.reason.code, found.reason.args["reason"]) == ("gate-batch-refused", "gate-value-date")
    assert "411" in Translator("ru").translate_notice(found.reason)
    assert "Дата завершения" in Translator("ru").translate_notice(found.reason)
    assert "command b" in found.detail


async def test_a_value_from_another_command_is_not_checked(desk: Desk) -> None:
    """What `$result[…]` will be is not known; the card says where it comes from."""
    written = "&".join(
        f"fields[{name}]=$result[a][{name}]" for name in ("OPPORTUNITY", "CLOSEDATE", "STAGE_ID", "ASSIGNED_BY_ID", "OPENED")
    )
    found = await desk.wish("batch", {"cmd": {"a": "crm.deal.get?id=411", "b": f"crm.deal.update?id=410&{written}"}})
    assert isinstance(found, Pending), found


async def test_the_funnel_of_a_record_that_the_batch_creates_is_not_guessed(desk: Desk) -> None:
    """A new deal of another funnel gets its stage in the same batch: nothing is refused by the stages of the first funnel."""
    made = "crm.deal.add?fields[TITLE]=x&fields[CATEGORY_ID]=1"
    params = {"cmd": {"a": made, "b": "crm.deal.update?id=$result[a]&fields[STAGE_ID]=C1:WON"}}
    assert isinstance(await desk.wish("batch", params), Pending)


def test_an_undo_writes_back_whatever_stood_there() -> None:
    """Former values are the portal's own, and whoever is responsible again must still work here."""
    facts = Facts(records=RECORDS, today=NOW.date(), dismissed_users=frozenset({8}))
    back = call("crm.deal.update", {"id": 481, "fields": {"CLOSEDATE": "2099-12-31"}})
    own, undo = (effect("crm.deal.update", dict(back.params), proposed_by=by) for by in ("crm_agent", "undo"))
    assert find_value_problem(back, facts=facts, actor=LEAD, effect=own) is not None
    assert find_value_problem(back, facts=facts, actor=LEAD, effect=undo) is None
    for method, params, code in (
        ("tasks.task.update", {"taskId": 8017, "fields": {"AUDITORS": [8]}}, ""),
        ("tasks.task.update", {"taskId": 8017, "fields": {"RESPONSIBLE_ID": 8}}, "gate-user-inactive"),
    ):
        found = judged(effect(method, params, proposed_by="undo"), facts=facts)
        assert (said(found) == [code]) == bool(code), found


async def test_another_funnel_says_how_the_deal_is_moved(desk: Desk) -> None:
    """«Неверное значение: CATEGORY_ID» left the person alone; now they read what to ask for."""
    found = await desk.refused(*deal(CATEGORY_ID=1))
    assert found.reason is not None
    told = Translator("ru").translate_notice(found.reason)
    assert "CATEGORY_ID" not in told
    assert "перенеси сделку 410" in told
    assert "crm.item.update" in found.detail

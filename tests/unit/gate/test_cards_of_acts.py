"""What was seen when the cards of sixty acts were looked at one by one, and mended."""

import re
from pathlib import Path
from typing import Any

import pytest

from orchestrator.gate.preview.format_values import format_duration
from tests.unit.gate.reading_kit import draw, load_calls, open_portal
from tests.unit.gate.sandbox_kit import Desk


async def lines(desk: Desk, method: str, params: dict[str, Any] | None = None) -> list[str]:
    """The heading and the lines of a card in Russian."""
    text = (await draw(desk, method, "ru", params)).text
    return [line for part in text.split("\n\n")[:2] for line in part.split("\n")]


@pytest.mark.long
@pytest.mark.req("S004-30")
async def test_no_card_has_two_lines_of_one_name_and_no_doubled_word(tmp_path: Path) -> None:
    """Of two lines with one name nobody knows which is which; «отдел Отдел продаж» says a word twice."""
    seen: dict[str, list[str]] = {}
    async with open_portal(tmp_path) as desk:
        for method in load_calls():
            shown = await lines(desk, method)
            names = [line.partition(":")[0] for line in shown[1:] if ": " in line and line[0] not in "•→"]
            bad = [name for name in dict.fromkeys(names) if names.count(name) > 1]
            bad += [word for line in shown for word in re.findall(r"\b(\w{3,}) \1\b", line, re.IGNORECASE)]
            bad += [word for line in shown for word in re.findall(r"\b(\w{3,}): \1:", line, re.IGNORECASE)]
            if bad:
                seen[method] = bad
    assert seen == {}


@pytest.mark.parametrize(
    ("method", "heading"),
    [
        ("calendar.event.add", "Создать в календаре событие «Встреча с клиентом»"),
        ("calendar.event.update", "Изменить в календаре событие «Планёрка»"),
        ("im.message.update", "Изменить в чате сообщение №900051"),
        ("user.add", "Пригласить на портал сотрудника «Олег Новиков»"),
        ("disk.file.delete", "Удалить навсегда файл «смета.pdf»"),
        ("log.blogpost.delete", "Удалить из ленты новостей сообщение «Победа в тендере»"),
        ("crm.category.delete", "Удалить вместе со стадиями воронку «Тендеры»"),
        ("crm.item.payment.pay", "Отметить полученной оплату «7/1, 11 655 ₽»"),
    ],
)
async def test_the_title_stands_behind_the_word_that_it_names(method: str, heading: str, portal: Desk) -> None:
    """«Удалить сообщение из ленты «Победа»» would name the feed; a payment says its sum."""
    assert (await lines(portal, method))[0].replace("\xa0", " ") == heading


async def test_an_event_does_not_link_to_a_person(portal: Desk) -> None:
    """Its calendar belongs to a person, whose page is not that of the event."""
    assert "http" not in (await draw(portal, "calendar.event.add", "ru")).text


@pytest.mark.parametrize(
    ("method", "line"),
    [
        ("crm.activity.add", "Кому: ivanov@example.ru, контакт «Иван Кузнецов», Способ: почта"),
        ("crm.activity.add", "Также в карточках: компания «ООО Ромашка»"),
        ("crm.activity.add", "От кого: Борис Смирнов <smirnov@example.ru>"),
        ("calendar.event.add", "Напомнить: за 15 мин"),
        ("crm.activity.todo.update", "Напомнить за: 1 ч"),
        ("crm.activity.todo.update", "Тема: Уточнить сроки поставки → Позвонить снова"),
        ("task.elapseditem.add", "Затрачено: 25 мин"),
        ("tasks.task.add", "План времени: 25 мин"),
        ("telephony.externalCall.finish", "Длительность: 1 мин 30 с"),
        ("telephony.externalCall.finish", "Стоимость: 15 ₽"),
        ("telephony.externalCall.register", "Источник: звонок"),
        ("event.bind", "Событие: новая сделка"),
        ("placement.bind", "Место: вкладка в карточке сделки"),
        ("task.checklistitem.update", "Текст: Собрать документы → Собрать подписи"),
        ("task.commentitem.update", "Текст: Жду ответа → Ответ получен"),
        ("crm.contact.add", "Телефон: +7 900 111-22-33"),
        ("crm.lead.add", "Почта: ilin@example.ru (личная)"),
        ("crm.contact.company.add", "Компании: ООО Ромашка (главная в списке) — уже есть"),
        ("crm.company.contact.delete", "Контакты — исчезнут: Иван Кузнецов (главный в списке)"),
        ("im.message.add", "Вложение: Сумма большая"),
    ],
)
async def test_a_line_reads_as_a_person_would_say_it(method: str, line: str, portal: Desk) -> None:
    """Units instead of seconds, words for codes, the old value before the new one."""
    assert line in [found.replace("\xa0", " ") for found in await lines(portal, method)]


async def test_the_kind_of_a_quote_stands_in_its_heading_alone(portal: Desk) -> None:
    """A record of a smart process has a line for its kind, since the heading says «элемент»."""
    assert not any(line.startswith("Вид записи") for line in await lines(portal, "crm.quote.add"))
    assert any(line.startswith("Вид записи") for line in await lines(portal, "crm.item.add"))


async def test_a_price_has_the_currency_that_the_call_names(tmp_path: Path) -> None:
    """Some methods call it CURRENCY; a sum in dollars is never shown in roubles."""
    params = load_calls()["crm.invoice.add"]
    dollars = {"fields": {**params["fields"], "CURRENCY": "USD"}}
    async with open_portal(tmp_path) as desk:
        text = (await draw(desk, "crm.invoice.add", "ru", dollars)).text
        prices = (await draw(desk, "catalog.price.update", "ru")).text
    assert "₽" not in text
    assert "$" in text
    assert "Цена: 1 500 ₽" in prices.replace("\xa0", " ")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 с"), (59, "59 с"), (60, "1 мин"), (5400, "1 ч 30 мин"), (86400, "1 д"), (90061, "1 д 1 ч 1 мин 1 с"), (-60, "-60"), (1.5, "1.5"), ("x", "x"), (10**30, str(10**30))],
)  # fmt: skip
def test_a_duration_is_told_whole(seconds: object, text: str) -> None:
    """Nothing of it is rounded away; what is no duration stays as it is sent."""
    assert format_duration(seconds, "ru") == text


@pytest.mark.parametrize(
    ("count", "line"),
    [(90, "Напомнить: за 1 ч 30 мин"), (0.001, "Напомнить: Единица: минуты, Количество: 0.001"), (-5, "Напомнить: Единица: минуты, Количество: -5"), (10**12, f"Напомнить: Единица: минуты, Количество: {10**12}")],
)  # fmt: skip
async def test_a_reminder_that_is_no_duration_is_shown_as_it_is_sent(count: float, line: str, tmp_path: Path) -> None:
    """The number on the card is never another one than the number that goes out."""
    params = {**load_calls()["calendar.event.add"], "remind": [{"type": "min", "count": count}]}
    async with open_portal(tmp_path) as desk:
        assert line in await lines(desk, "calendar.event.add", params)


async def test_each_price_has_its_own_currency(tmp_path: Path) -> None:
    """The purchase price of a product may be in dollars and its price in roubles."""
    fields = {"NAME": "Насос", "PRICE": 1500, "CURRENCY_ID": "RUB", "PURCHASING_PRICE": 10, "PURCHASING_CURRENCY": "USD"}
    async with open_portal(tmp_path) as desk:
        shown = [line.replace("\xa0", " ") for line in await lines(desk, "crm.product.add", {"fields": fields})]
    assert "Цена: 1 500 ₽" in shown
    assert next(line for line in shown if line.startswith("Закупочная цена")) in {"Закупочная цена: 10 $", "Закупочная цена: $10"}


@pytest.mark.parametrize(
    ("method", "params", "line"),
    [
        ("crm.item.add", {"entityTypeId": 31, "fields": {"title": "Счёт 15", "parentId2": 410}}, "Создать счёт «Счёт 15»"),
        ("crm.item.add", {"entityTypeId": 31, "fields": {"title": "Счёт 15", "parentId2": 410}}, "Сделка: Поставка оборудования для «Альфа-Строй»"),
        ("crm.item.add", {"entityTypeId": 7, "fields": {"title": "КП"}}, "Создать предложение «КП»"),
        ("crm.requisite.delete", {"id": 62}, "Удалить реквизиты «Организация, ООО „Вектор“, 7800000024»"),
        ("disk.file.moveto", {"id": 25004, "targetFolderId": 25005}, "В папку: Договоры клиентов"),
        ("crm.item.payment.update", {"id": 22001, "fields": {"datePaid": "2026-11-20"}}, "Дата оплаты: пт, 20 ноября"),
        ("crm.address.add", {"fields": {"ENTITY_TYPE_ID": 8, "ENTITY_ID": 61, "COUNTRY_CODE": "RU"}}, "Код страны: «RU»"),
        ("calendar.event.add", {"type": "user", "ownerId": 7, "name": "x", "from": "2026-12-01", "to": "2026-12-01", "rrule": {"FREQ": "MONTHLY", "COUNT": 3}}, "Повторение: Как часто: каждый месяц, Количество: 3"),
        ("crm.activity.todo.add", {"ownerTypeId": 2, "ownerId": 410, "deadline": "2026-11-25T10:00:00+03:00", "title": "x", "pingOffsets": [0]}, "Напомнить за: 0 мин (в срок)"),
    ],
)  # fmt: skip
async def test_a_card_reads_as_a_sales_manager_would_say_it(method: str, params: dict[str, Any], line: str, portal: Desk) -> None:
    """Failed before: an invoice was an «элемент», all requisites had one name, and the others stood there as codes or wrong words."""
    assert line in await lines(portal, method, params)


async def test_inner_quotes_of_an_english_card_are_a_pair(tmp_path: Path) -> None:
    """Failed before: “… „Альфа-Строй‘”."""
    params = {"fields": {"OWNER_TYPE_ID": 2, "OWNER_ID": 410, "TYPE_ID": 2, "SUBJECT": "x"}}
    async with open_portal(tmp_path) as desk:
        assert "“Поставка оборудования для «Альфа-Строй»”" in (await draw(desk, "crm.activity.add", "en", params)).text

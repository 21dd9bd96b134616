"""What a card shows is what will be sent: names for codes, before and after, nothing hidden."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import orjson
import pytest

from bitrix.errors import NotSent
from bot.i18n.translate import Translator
from bot.rendering.headings import render_batch_heading
from orchestrator.domain.card_view import PreviewLine, PreviewPart
from orchestrator.gate.call.effect import Facts
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.preview.format_values import Reader, format_plain
from orchestrator.gate.preview.preview import preview
from orchestrator.language.money_format import CurrencyStyle
from tests.unit.gate.gate_kit import ANNA, FIRST, LEAD, RECORDS, NoOwnNames, call

FACTS = Facts(records=RECORDS, first_stages=FIRST)
SUM = "1\u00a0200\u00a0000\u00a0₽"


class Book(NoOwnNames):
    """Names from memory; what is not in it cannot be read."""

    async def find_user_name(self, user_id: int) -> str:
        return {6: "Вера", 7: "Анна", 8: "Борис\u202e"}[user_id] if user_id < 9 else ""

    async def find_stage_name(self, entity: str, stage_id: str, category_id: int = 0) -> str:
        return {("deal", "WON", 0): "Успех", ("deal", "NEW", 0): "Новая", ("deal", "C1:NEW", 1): "Тендер"}.get(
            (entity, stage_id, category_id), ""
        )

    async def find_category_name(self, category_id: int, entity: str = "deal") -> str:
        return {0: "Продажи", 1: "Тендеры"}[category_id]

    async def find_title(self, entity: str, record_id: int) -> str:
        if record_id == 13:
            raise NotSent("the portal is away")
        return f"{entity} {record_id}"

    def build_card_url(self, entity: str, record_id: int, *, user: int = 0) -> str:
        return f"https://portal.example/{entity}/{record_id}"


async def card(method: str, params: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The preview of a call, which must be JSON as it is."""
    options = {"locale": "ru", **more}
    found = (
        await preview(call(method, params, actor=options.pop("actor", LEAD)), options.pop("facts", FACTS), Book(), **options)
    ).to_json()
    assert orjson.loads(orjson.dumps(found)) == found
    return found


def shown(found: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Its lines as name, before, after."""
    return [(line["name"], line["before"], line["after"]) for line in found["lines"]]


async def test_a_change_of_a_deal() -> None:
    """The critical fields first, with names, money and days; the heading names the record."""
    fields = {
        "COMMENTS": "Срочно",
        "OPPORTUNITY": 1200000,
        "STAGE_ID": "WON",
        "ASSIGNED_BY_ID": 8,
        "CLOSEDATE": "2026-12-26",
        "OPENED": "N",
    }
    found = await card("crm.deal.update", {"id": 481, "fields": fields})
    head: tuple[Any, ...] = ("update", "deal", 481, "Ромашка", "https://portal.example/deal/481", 1, [])
    assert tuple(found[key] for key in ("verb", "entity", "id", "title", "url", "count", "items")) == head
    assert shown(found) == [
        ("Сумма", "1\u00a0000\u00a0000\u00a0₽", SUM),
        ("Стадия", "Новая", "Успех"),
        ("Ответственный", "Анна", "Борис⟨U+202E⟩"),
        ("Дата завершения", "пт, 25 декабря 2026", "сб, 26 декабря 2026"),
        ("Доступна для всех", "Да", "Нет"),
        ("Комментарий", "—", "Срочно"),
    ]


async def test_values_that_hold_already_are_said_to_and_come_last() -> None:
    """Nothing that was asked for is missing on the card; a currency or funnel only says how another field is meant."""
    both = await card("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": "1000000", "TITLE": "Новое", "ASSIGNED_BY_ID": 7}})
    assert shown(both) == [
        ("Название", "Ромашка", "Новое"),
        ("Сумма", "", "уже 1\u00a0000\u00a0000\u00a0₽"),
        ("Ответственный", "", "уже Анна"),
    ]
    meant = await card("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": "5", "CURRENCY_ID": "RUB"}})
    assert [name for name, _, _ in shown(meant)] == ["Сумма"]
    alone = await card("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": "1000000"}})
    assert shown(alone) == [("Сумма", "1\u00a0000\u00a0000\u00a0₽", "1\u00a0000\u00a0000\u00a0₽")]


async def test_commands_and_headings_name_only_what_changes() -> None:
    """Of thirty deals those that have the value already make no lines of their own."""
    cmd = {"a": "crm.deal.update?id=481&fields[OPPORTUNITY]=1000000&fields[TITLE]=Новое"}
    items = (await card("batch", {"cmd": cmd}))["items"]
    assert [[line["name"] for line in item["lines"]] for item in items] == [["Название"]]
    held = PreviewLine(field="OPPORTUNITY", name="Сумма", after="уже 5", is_held=True)
    members = [PreviewPart(verb="update", entity="deal", title=title, lines=[PreviewLine(name="Срок", after="x"), held]) for title in "аб"]
    assert render_batch_heading(members, Translator("ru")).endswith(": срок")


@pytest.mark.parametrize(
    ("method", "params", "lines"),
    [
        ("crm.deal.add", {"fields": {"TITLE": "x", "OPPORTUNITY": 1200000, "CURRENCY_ID": "RUB"}},
         [("Сумма", "", SUM), ("Валюта", "", "RUB"), ("Ответственный", "", "Анна"), ("Название", "", "x")]),
        ("crm.item.add", {"entityTypeId": 2, "fields": {"categoryId": 1, "stageId": "C1:NEW"}},
         [("Воронка", "", "Тендеры"), ("Стадия", "", "Тендер"), ("Ответственный", "", "Анна")]),
        ("crm.item.update", {"entityTypeId": 2, "id": 481, "fields": {"categoryId": 1}}, [("Воронка", "Продажи", "Тендеры")]),
        ("crm.item.add", {"entityTypeId": 2, "fields": {"categoryId": 0}},
         [("Воронка", "", "Продажи"), ("Ответственный", "", "Анна")]),
        ("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 5, "CURRENCY_ID": "USD"}},
         [("Сумма", "1\u00a0000\u00a0000\u00a0₽", "5\u00a0$"), ("Валюта", "RUB", "USD")]),
        ("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": "много"}}, [("Сумма", "1\u00a0000\u00a0000\u00a0₽", "много")]),
        ("crm.deal.update", {"id": 481, "fields": {"COMPANY_ID": 12, "CONTACT_IDS": [43, 13]}},
         [("Компания", "неизвестно", "company 12"), ("Контакты", "неизвестно", "№13\ncontact 43")]),
        ("crm.deal.update", {"id": 481, "fields": {"COMPANY_ID": "x", "CONTACT_ID": {"0": 43}}},
         [("Компания", "неизвестно", "x"), ("Контакт", "—", "contact 43")]),
        ("crm.deal.update", {"id": 481, "fields": {"STAGE_ID": "ODD", "OPENED": "maybe", "ASSIGNED_BY_ID": 9}},
         [("Стадия", "Новая", "ODD"), ("Доступна для всех", "Да", "maybe"), ("Ответственный", "Анна", "№9")]),
        ("crm.deal.update", {"id": 481, "fields": {"OPENED": False, "UF_CRM_X": {"a": [1, 2]}}},
         [("Доступна для всех", "Да", "Нет"), ("UF_CRM_X", "неизвестно", "a: 1; 2")]),
        ("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": "", "CLOSEDATE": "скоро"}},
         [("Сумма", "1\u00a0000\u00a0000\u00a0₽", "—"), ("Дата завершения", "пт, 25 декабря 2026", "скоро")]),
        ("crm.contact.update", {"id": 43, "fields": {"PHONE": [{"VALUE": "+7901"}, {"ID": 156, "VALUE": "+7902"}]}},
         [("Телефон", "+7900", "+7900 → +7902\nдобавить +7901")]),
        ("crm.contact.update", {"id": 43, "fields": {"PHONE": [{"ID": 156}]}}, [("Телефон", "+7900", "удалить +7900")]),
        ("crm.contact.update", {"id": 43, "fields": {"PHONE": [{"ID": 156, "VALUE": "+7900", "VALUE_TYPE": "HOME"}]}},
         [("Телефон", "+7900", "+7900 → +7900 (домашний)")]),
        ("crm.contact.update", {"id": 43, "fields": {"PHONE": [{"ID": 7, "DELETE": "Y", "VALUE": "x"}, "+7"], "EMAIL": "x"}},
         [("Телефон", "+7900", "ID: 7, DELETE: Y, VALUE: x\n+7"), ("Почта", "—", "добавить x")]),
        ("crm.item.update", {"entityTypeId": 3, "id": 43, "fields": {"fm": {"n0": {"value": "+7901", "typeId": "PHONE"}}}},
         [("Телефоны и почта", "+7900", "добавить +7901")]),
        ("crm.item.update", {"entityTypeId": 3, "id": 43, "fields": {"fm": {"156": {"value": ""}}}},
         [("Телефоны и почта", "+7900", "удалить +7900")]),
        ("tasks.task.update", {"taskId": 8017, "fields": {"DEADLINE": "2026-12-02T18:00:00+03:00", "STATUS": 5}},
         [("Крайний срок", "вт, 1 декабря 2026, 10:00", "ср, 2 декабря 2026, 18:00"), ("Состояние", "ждёт выполнения", "завершена")]),
        ("tasks.task.update", {"taskId": 8017, "fields": {"DEADLINE": "2026-12-02"}},
         [("Крайний срок", "вт, 1 декабря 2026, 10:00", "ср, 2 декабря 2026")]),
        ("tasks.task.update", {"taskId": 8017, "fields": {"DEADLINE": "2026-12-02T18:00:00", "STATUS": 77}},
         [("Крайний срок", "вт, 1 декабря 2026, 10:00", "ср, 2 декабря 2026, 18:00"), ("Состояние", "ждёт выполнения", "77")]),
        ("tasks.task.update", {"taskId": 8017, "fields": {"DEADLINE": "2026-12-02 18:00:00"}},
         [("Крайний срок", "вт, 1 декабря 2026, 10:00", "ср, 2 декабря 2026, 18:00")]),
        ("tasks.task.delegate", {"taskId": 8017, "userId": 8}, [("Исполнитель", "Анна", "Борис⟨U+202E⟩")]),
        ("crm.activity.todo.updateDeadline", {"id": 55, "ownerTypeId": 2, "ownerId": 481, "value": "2026-12-03T10:00:00+03:00"},
         [("Срок", "вт, 1 декабря 2026, 10:00", "чт, 3 декабря 2026, 10:00")]),
        ("im.notify", {"USER_ID": 7, "MESSAGE": "Привет"}, [("Кому", "", "Анна"), ("Текст", "", "Привет")]),
        ("crm.deal.get", {"id": 481}, []),
    ],
)  # fmt: skip
async def test_fields_of_every_kind(method: str, params: dict[str, Any], lines: list[tuple[str, str, str]]) -> None:
    """Each value reads as people say it, and what is not understood is shown as it is."""
    found = await card(method, params, actor=ANNA)
    assert shown(found) == lines


async def test_a_phone_the_portal_gives_as_text_is_shown_as_it_is() -> None:
    """An odd answer of the portal does not break a card."""
    facts = Facts(records={("contact", 43): {"PHONE": "+7900"}})
    assert shown(await card("crm.contact.update", {"id": 43, "fields": {"PHONE": "+7901"}}, facts=facts)) == [
        ("Телефон", "+7900", "добавить +7901")
    ]


async def test_in_english_and_in_the_persons_zone() -> None:
    """Names, money and hours are the reader's."""
    found = await card(
        "tasks.task.update", {"taskId": 8017, "fields": {"DEADLINE": "2026-12-02T18:00:00+03:00"}}, locale="en", zone="Asia/Vladivostok"
    )
    assert shown(found) == [("Deadline", "Tue, 1 December 2026, 17:00", "Thu, 3 December 2026, 01:00")]
    deal = await card("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 5, "OPENED": "0"}}, locale="en")
    assert shown(deal) == [("Amount", "₽1,000,000", "₽5"), ("Open to everyone", "Yes", "No")]
    notice = await card("im.notify", {"USER_ID": 7, "MESSAGE": "Hi"}, locale="en")
    assert shown(notice) == [("To", "", "Анна"), ("Text", "", "Hi")]


async def test_headings() -> None:
    """The record as it stands, the new one as it will be, an action by its own word."""
    assert (await card("tasks.task.complete", {"taskId": 8017}))["verb"] == "complete"
    assert (await card("crm.contact.update", {"id": 43, "fields": {"POST": "x"}}))["title"] == "Иван Иванов"
    assert (await card("crm.activity.update", {"id": 55, "fields": {"SUBJECT": "x"}}))["title"] == "Звонок"
    assert (await card("crm.deal.add", {"fields": {"TITLE": "Новая\u200b"}}))["title"] == "Новая⟨U+200B⟩"
    assert (await card("crm.deal.get", {"id": 777}, facts=Facts()))["title"] == "deal 777"
    assert (await card("crm.deal.get", {"id": 13}, facts=Facts()))["title"] == "№13"
    assert (await card("crm.deal.get", {"id": 777}, facts=Facts(records={("deal", 777): {}})))["title"] == "№777"
    comment = await card("crm.timeline.comment.add", {"fields": {"ENTITY_TYPE": "deal", "ENTITY_ID": 481, "COMMENT": "x"}})
    assert (comment["entity"], comment["title"], comment["url"]) == ("comment", "Ромашка", "https://portal.example/deal/481")
    assert comment["record"] == "deal:481"
    listing = await card("crm.status.list", {})
    assert (listing["id"], listing["title"], listing["url"], listing["lines"]) == (None, "", "", [])
    smart = await card("crm.item.update", {"entityTypeId": 177, "id": 5, "fields": {"title": "x"}})
    assert smart["entity"] == "item"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"TYPE_ID": 4, "DIRECTION": 2, "COMPLETED": "Y"}, "email"),
        ({"TYPE_ID": "4"}, "email"),
        ({"TYPE_ID": 4, "DIRECTION": 1, "COMPLETED": "Y"}, "emailrecord"),
        ({"TYPE_ID": 4, "DIRECTION": 2, "COMPLETED": "N"}, "emailrecord"),
        ({"TYPE_ID": 2, "COMPLETED": "Y"}, "phonecall"),
        ({"TYPE_ID": 2, "COMPLETED": True}, "phonecall"),
        ({"TYPE_ID": 2}, "plannedcall"),
        ({"TYPE_ID": 1}, "meeting"),
        ({"TYPE_ID": 6, "PROVIDER_ID": "X"}, "activity"),
    ],
)
async def test_an_activity_is_told_as_what_it_is(fields: dict[str, Any], said: str) -> None:
    """An e-mail that goes out, a call and a meeting are no planned activity; only what certainly stays inside is not told as sent."""
    address = {"OWNER_TYPE_ID": 2, "OWNER_ID": 481, "SUBJECT": "О договоре", "RESPONSIBLE_ID": 7}
    found = await card("crm.activity.add", {"fields": {**address, **fields}})
    assert (found["verb"], found["entity"]) == ("add", said)
    for locale in ("ru", "en"):
        assert Translator(locale).has_message(f"verb-add-{said}")


async def test_an_action_is_never_told_as_a_change_of_its_record() -> None:
    """Linking and unlinking keep the neutral verb, so that nothing can say that the deal itself is created or deleted."""
    for method in ("crm.deal.contact.add", "crm.deal.contact.delete"):
        assert (await card(method, {"id": 481, "fields": {"CONTACT_ID": 43}}))["verb"] == "action"


async def test_a_batch_shows_every_command_and_the_sum() -> None:
    """Items in order, each by key; a sum for each currency."""
    cmd = {
        "a": "crm.deal.update?id=481&fields[OPPORTUNITY]=1200000",
        "b": "crm.deal.update?id=500&fields[OPPORTUNITY]=800000.50",
        "c": "crm.deal.get?id=481",
        "d": "crm.deal.update?id=481&fields[COMPANY_ID]=$result[c][COMPANY_ID]",
    }
    found = await card("batch", {"cmd": cmd})
    assert (found["verb"], found["count"], found["sum"]) == ("batch", 4, "2\u00a0000\u00a0000,50\u00a0₽")
    assert [(item["key"], item["method"], item["id"]) for item in found["items"]] == [
        ("a", "crm.deal.update", 481), ("b", "crm.deal.update", 500), ("c", "crm.deal.get", 481), ("d", "crm.deal.update", 481),
    ]  # fmt: skip
    assert shown(found["items"][0]) == [("Сумма", "1\u00a0000\u00a0000\u00a0₽", SUM)]
    assert shown(found["items"][3]) == [("Компания", "неизвестно", "из ответа другой команды: $result[c][COMPANY_ID]")]
    mixed = {"a": cmd["a"], "b": "crm.deal.add?fields[OPPORTUNITY]=5&fields[CURRENCY_ID]=USD"}
    assert (await card("batch", {"cmd": mixed}))["sum"] == "1\u00a0200\u00a0000\u00a0₽ + 5\u00a0$"
    assert "sum" not in await card("batch", {"cmd": {"c": cmd["c"]}})
    twice = {"a": "crm.deal.update?id=481&fields[OPPORTUNITY]=5", "b": "crm.deal.update?id=481&fields[OPPORTUNITY]=1200000"}
    assert (await card("batch", {"cmd": twice}))["sum"] == SUM


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("Ромашка\u202e0001", "Ромашка⟨U+202E⟩0001"),
        ("a\u200bb\u00adc\x07", "a⟨U+200B⟩b⟨U+00AD⟩c⟨U+0007⟩"),
        ("one\ntwo\r\nthree\u2028four", "one ⏎ two ⏎ three ⏎ four"),
        ("tab\tand\u00a0gap", "tab and gap"),
        ("\u3164", "⟨U+3164⟩"),
        ("\ue000", "⟨U+E000⟩"),
        ("e" + "\u0301" * 5, "é\u0301\u0301⟨U+0301⟩⟨U+0301⟩"),
        ("✅ Подтверждено", "✅ Подтверждено"),
    ],
)
def test_hidden_signs_are_named(text: str, seen: str) -> None:
    """Nothing turns around, hides or fakes a second line."""
    assert escape_text(text) == seen


def test_values_are_kept_whole_and_a_cut_name_says_how_much_is_missing() -> None:
    """A sum at the end of a long text cannot go unnoticed."""
    text = "x" * 4000 + " сумма 1"
    assert escape_text(text) == text
    assert escape_text(text, locale="en", limit=10) == "x" * 10 + " … (3998 more characters)"
    assert format_plain([text, "a\nb"], Reader(names=Book(), locale="ru", zone="UTC")) == f"{text}\na ⏎ b"


async def test_what_is_shown_is_what_is_sent() -> None:
    """Every written field of the call has its line, but for our own marks."""
    what = call("crm.deal.add", {"fields": {"title": "x", "UF_CRM_1": "1", "opportunity": "7.50", "CURRENCY_ID": "EUR"}}, actor=ANNA)
    found = (await preview(what, FACTS, Book(), locale="ru")).to_json()
    assert {line["field"] for line in found["lines"]} == set(what.params["fields"]) - {"ORIGINATOR_ID", "ORIGIN_ID"}
    assert [line["after"] for line in found["lines"] if line["field"] == "OPPORTUNITY"] == ["7,50\u00a0€"]


class Own(Book):
    """A portal whose own currency is the tenge."""

    async def load_currency_book(self) -> Mapping[str, CurrencyStyle]:
        return {"USD": CurrencyStyle(), "KZT": CurrencyStyle(is_base=True)}


@pytest.mark.parametrize(
    ("method", "params", "said"),
    [
        ("crm.deal.add", {"fields": {"TITLE": "x", "OPPORTUNITY": 500}}, "500\u00a0₸"),
        ("crm.deal.add", {"fields": {"TITLE": "x", "OPPORTUNITY": 500, "CURRENCY_ID": "USD"}}, "500\u00a0$"),
        ("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 500}}, "500\u00a0₽"),
        ("batch", {"cmd": {"a": "crm.deal.add?fields[TITLE]=x&fields[OPPORTUNITY]=500"}}, "500\u00a0₸"),
    ],
)
async def test_a_new_record_without_a_currency_is_shown_with_the_one_it_will_get(method: str, params: dict[str, Any], said: str) -> None:
    """The portal writes its own into it; a sum without a sign left that open."""
    found = (await preview(call(method, params, actor=LEAD), FACTS, Own(), locale="ru")).to_json()
    lines = [line for item in [found, *found["items"]] for line in item["lines"]]
    assert [line["after"] for line in lines if line["field"] == "OPPORTUNITY"] == [said]
    assert found.get("sum", said) in {"", said}


@pytest.mark.parametrize(("now", "after"), [("2026-11-21", "сб, 26 декабря"), ("2027-01-02", "сб, 26 декабря 2026")])
async def test_days_of_this_year_are_said_without_it(now: str, after: str) -> None:
    """As people write them; the year of the person's own clock counts."""
    found = await card(
        "crm.deal.update", {"id": 481, "fields": {"CLOSEDATE": "2026-12-26"}}, now=datetime.fromisoformat(f"{now}T12:00:00+00:00")
    )
    assert shown(found)[0][2] == after


async def test_a_deletion_shows_what_is_lost() -> None:
    """Sum, stage and whose it is, as they are: they will be nowhere afterwards."""
    found = await card("crm.deal.delete", {"id": 481})
    lines = {name: (before, after) for name, before, after in shown(found)}
    assert found["title"] == "Ромашка"
    assert {"Сумма", "Стадия", "Ответственный"} <= set(lines)
    assert all(before == "" and after for before, after in lines.values())


async def test_a_deletion_of_what_nobody_could_read_says_so() -> None:
    """Whoever decides knows that they do not see it."""
    assert shown(await card("crm.deal.delete", {"id": 7}, facts=Facts())) == [("Что пропадёт", "", "неизвестно")]


async def test_a_batch_names_a_sum_only_where_money_changes() -> None:
    """No total stands above comments and owners; a deletion counts what is lost, each record once."""
    cmd = {"a": "crm.deal.update?id=481&fields[ASSIGNED_BY_ID]=8", "b": "crm.deal.update?id=481&fields[COMMENTS]=x"}
    assert "sum" not in await card("batch", {"halt": 0, "cmd": cmd})
    said = "crm.timeline.comment.add?fields[ENTITY_ID]=481&fields[ENTITY_TYPE]=deal&fields[COMMENT]=x"
    both = {"a": said, "b": "crm.deal.update?id=481&fields[OPPORTUNITY]=1200000"}
    assert (await card("batch", {"halt": 0, "cmd": both}))["sum"] == SUM
    lost = {"a": "crm.deal.update?id=481&fields[CURRENCY_ID]=RUB", "b": "crm.deal.delete?id=481"}
    assert (await card("batch", {"halt": 0, "cmd": lost}))["sum"] == "1\u00a0000\u00a0000\u00a0₽"


async def test_a_read_in_a_batch_says_how_it_finds_what_others_change() -> None:
    """The person sees which deal `$result` will be: every condition, and the order if there is one."""
    find = "crm.deal.list?filter[%25TITLE]=Ромашка&filter[>OPPORTUNITY]=100000&order[ID]=DESC"
    cmd = {"find": find, "all": "crm.deal.list", "a": "crm.deal.update?id=$result[find][0][ID]&fields[COMMENTS]=x"}
    found = await card("batch", {"cmd": cmd})
    assert [(name, after) for name, _, after in shown(found["items"][0])] == [
        ("Название", "содержит Ромашка"),
        ("Сумма", "больше 100\u00a0000"),
        ("Порядок", "Номер ↓"),
    ]
    assert [(name, after) for name, _, after in shown(found["items"][1])] == [("Условие", "нет, подойдёт любая запись")]
    assert found["items"][2]["title"] == "запись из ответа команды find"


async def test_a_new_contact_is_called_by_both_names() -> None:
    """As people are."""
    assert (await card("crm.contact.add", {"fields": {"NAME": "Мария", "LAST_NAME": "Сидорова"}}))["title"] == "Мария Сидорова"

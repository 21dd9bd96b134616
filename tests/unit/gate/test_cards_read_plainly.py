"""A card of every write of the catalogue reads without codes: names for records and people, words for fields and values."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from bitrix.catalogue.catalogue import Method
from orchestrator.directory.param_words import ParamWords, find_common_words, find_param_words
from orchestrator.gate.call import fields
from tests.unit.gate.gate_kit import LEAD, NAMED, catalogue, effect, judged, said
from tests.unit.gate.reading_kit import LOCALES, Drawn, draw, load_calls, open_portal
from tests.unit.gate.sandbox_kit import Desk

WRITES = sorted(row.name for row in catalogue() if not row.reads_only and row.name != "batch")
FAMILIES = sorted({name.partition(".")[0] for name in WRITES})


def test_every_write_of_the_catalogue_has_a_realistic_call() -> None:
    """A new row without one is noticed, and so is a call of a row that is gone."""
    assert sorted(load_calls()) == WRITES


def test_every_parameter_that_the_catalogue_lists_has_words() -> None:
    """Also those that no realistic call happens to use."""
    unnamed = {
        f"{row.name} {name}"
        for row in catalogue()
        if not row.reads_only and row.name != "batch"
        for path in (*row.required, *row.params, *row.critical)
        for name in path.split(".")
        if name not in {"*", row.fields_at, *row.target}
        and f"@{name}" != row.target_entity
        and not _has_words(row, row.stands_for.get(name, name))
    }
    assert unnamed == set()


def _has_words(row: Method, name: str) -> bool:
    info = fields.find_field_info(catalogue().entities.get(row.entity.partition(":")[0]), name)
    return bool(info or find_param_words(row.name, row.entity, name) or find_common_words(name))


@pytest.mark.long
@pytest.mark.req("S004-30")
@pytest.mark.parametrize("family", FAMILIES)
async def test_no_card_shows_a_bare_id_a_code_or_a_word_of_another_language(family: str, tmp_path: Path) -> None:
    """Each card is drawn from the realistic call of its method, in both languages, by the real preview and renderer."""
    unread: dict[str, list[str]] = {}
    async with open_portal(tmp_path) as desk:
        for method in [name for name in WRITES if name.partition(".")[0] == family]:
            for locale in LOCALES:
                drawn = await draw(desk, method, locale)
                if drawn.complaints:
                    unread[f"{method} {locale}"] = drawn.complaints
    assert unread == {}


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("Изменить дело\n\nВид: 4", ["number 4"]),
        ("Изменить сделку №481", ["number №481"]),
        ("Изменить сделку\n\nОтветственный: Анна → №7", ["number №7"]),
        ("Добавить товар\n\nownerType: D", ["word ownerType", "word D"]),
        ("Привязать контакт\n\nCONTACT_ID: 43", ["number 43", "word CONTACT_ID"]),
        ("Удалить файл №900053", []),
        ("Файл: 900053", ["number 900053"]),
        ("Изменить дело\n\nСрок: завтра\n\n🟡 Меняется поле TYPE_ID\n\nПросит Борис", ["word TYPE_ID"]),
        ("Создать чат\n\nАдрес: https://hooks.example.com/x", []),
    ],
)
def test_the_reader_of_cards_sees_what_a_person_could_not_read(text: str, seen: list[str]) -> None:
    """The test above would notice each of these."""
    assert Drawn("crm.deal.update", "ru", text).complaints == seen


async def lines(desk: Desk, method: str, params: dict[str, Any]) -> list[str]:
    """The heading and the lines of a card in Russian, without the reasons."""
    text = (await draw(desk, method, "ru", params)).text
    return [line for part in text.split("\n\n")[:2] for line in part.split("\n")]


async def test_the_speakers_own_calendar_is_theirs(tmp_path: Path) -> None:
    """The card is about the event; whose calendar it is stands in a line, and nobody is named by a number."""
    event = {"type": "user", "name": "Встреча", "from": "2026-11-24T15:00:00+03:00", "to": "2026-11-24T16:00:00+03:00"}
    async with open_portal(tmp_path) as desk:
        own = await lines(desk, "calendar.event.add", {**event, "ownerId": 7})
        other = await lines(desk, "calendar.event.add", {**event, "ownerId": 8})
        group = await lines(desk, "calendar.event.add", {**event, "type": "group", "ownerId": 5})
    assert own[0].startswith("Создать в календаре событие «Встреча»")
    assert (own[-1], other[-1], group[-1]) == ("Календарь: ваш", "Календарь: Вера Лебедева", "Календарь: рабочая группа №5")


def test_nobody_has_to_name_themselves() -> None:
    """The speaker's own calendar is no record that the request fails to name; another person's is."""
    event = {"type": "user", "name": "x", "from": "2026-11-24T15:00:00+03:00", "to": "2026-11-24T16:00:00+03:00"}
    own, other = (said(judged(effect("calendar.event.add", {**event, "ownerId": number}), actor=LEAD)) for number in (6, 8))
    assert "gate-taint-target" not in own
    assert "gate-taint-target" in other
    assert NAMED.targets.isdisjoint({"user:6", "user:8"})


async def test_a_card_names_the_record_it_is_about_once(portal: Desk) -> None:
    """The heading has the title; the line below says only of what kind the record is."""
    comment = {"fields": {"ENTITY_ID": 423, "ENTITY_TYPE": "deal", "COMMENT": "Звонил"}}
    heading, *below = await lines(portal, "crm.timeline.comment.add", comment)
    title = heading.partition("«")[2].rstrip("»")
    assert title
    assert "Запись CRM: сделка" in below
    assert not any(title in line for line in below)


async def test_a_deletion_says_what_it_deletes(portal: Desk) -> None:
    """The name comes from the catalogue's reader; without one the number stands in the heading."""
    assert (await lines(portal, "crm.item.payment.delete", {"id": 22001}))[0] == "Удалить оплату «7/1, 11 655 ₽»"
    assert (await lines(portal, "catalog.store.delete", {"id": 5}))[0] == "Удалить склад №5"
    assert (await lines(portal, "task.commentitem.delete", {"TASKID": 8017, "ITEMID": 26003}))[-1] == "Комментарий: Жду ответа"


async def test_the_fields_of_a_part_are_not_compared_with_its_record(portal: Desk) -> None:
    """The title of a checklist item is no new title of the task, and the task's people are not lost with the item."""
    changed = await lines(portal, "task.checklistitem.update", {"TASKID": 8017, "ITEMID": 26001, "FIELDS": {"TITLE": "Собрать подписи"}})
    removed = await lines(portal, "task.checklistitem.delete", {"TASKID": 8017, "ITEMID": 26001})
    assert changed[1:] == ["Текст: Собрать документы → Собрать подписи"]
    assert removed[1:] == ["Пункт: Собрать документы"]


async def test_an_option_beside_the_fields_is_shown(tmp_path: Path) -> None:
    """Whatever is sent stands on the card, in words."""
    params = {"fields": {"TITLE": "На проверке", "ENTITY_ID": 900057}, "isAdmin": True}
    async with open_portal(tmp_path) as desk:
        shown = await lines(desk, "task.stages.add", params)
    assert shown[1:] == ["Рабочая группа: №900057", "С правами администратора: Да"]


async def test_a_code_that_nothing_explains_stays_whole(tmp_path: Path) -> None:
    """A value is never dropped because its words are missing."""
    params = {
        "id": 1501,
        "fields": {"TYPE_ID": 77, "SUBJECT": "a\nb", "COMMUNICATIONS": [{"VALUE": "x", "ODD": {"deep": [1, {"k": "v"}]}}]},
    }
    async with open_portal(tmp_path) as desk:
        shown = await lines(desk, "crm.activity.update", params)
    assert "Тема: Уточнить сроки поставки → a ⏎ b" in shown
    assert [line.partition(" → ")[2] for line in shown if line.startswith(("Вид", "Кому"))] == ["77", "x, ODD: deep: 1; k: v"]


@pytest.mark.parametrize(
    ("method", "entity", "name", "kind"),
    [
        ("im.notify", "message", "USER_ID", "user"),
        ("IM.NOTIFY", "message", "userId", "user"),
        ("calendar.event.add", "event", "type", "choice"),
        ("crm.activity.update", "activity", "typeId", "choice"),
        ("crm.deal.update", "deal", "UF_CRM_X", None),
    ],
)
def test_words_belong_to_a_family_of_methods_or_a_kind_of_record(method: str, entity: str, name: str, kind: str | None) -> None:
    """In any spelling of method and parameter."""
    found = find_param_words(method, entity, name)
    assert (found.kind if found else None) == kind


def test_a_numbered_property_is_told_by_its_number() -> None:
    """The portal itself has no other name for it."""
    found = find_common_words("PROPERTY_107")
    assert isinstance(found, ParamWords)
    assert found.names == {"ru": "Свойство №107", "en": "Property No. 107"}


async def test_a_changed_kind_of_record_is_shown_though_the_number_stays(portal: Desk) -> None:
    """The kind stands in the line of the number: that line stays out only if both hold already."""
    moved = await lines(portal, "crm.activity.update", {"id": 1501, "fields": {"OWNER_ID": 410, "OWNER_TYPE_ID": 1, "SUBJECT": "x"}})
    stayed = await lines(portal, "crm.activity.update", {"id": 1501, "fields": {"OWNER_ID": 410, "OWNER_TYPE_ID": 2, "SUBJECT": "x"}})
    assert "Запись CRM: сделка «Поставка оборудования для „Альфа-Строй“» → лид №410" in moved
    assert [line.partition(":")[0] for line in stayed[1:]] == ["Тема", "Запись CRM"]
    assert "→" not in stayed[-1]


async def test_a_strange_answer_of_a_reader_leaves_the_number(portal: Desk) -> None:
    """The name of another record, or no name at all, never stands in for the right one."""
    for answer in ({"payment": {"id": 5, "accountNumber": "чужая"}}, [], "x", {"payment": [[1]]}, {"payment": {"id": 22001}}):
        portal.wire.instead["crm.item.payment.get"] = httpx.Response(200, json={"result": answer, "time": {}})
        assert (await lines(portal, "crm.item.payment.pay", {"id": 22001}))[0] == "Отметить полученной оплату №22001", answer

"""Scenes of the points of issue 13: the same calls as before it, for pictures of what a person saw then and sees now.

Played at an older commit too (copy this file there): it needs nothing that is younger than the kit of the end-to-end tests.
"""

from collections.abc import Sequence
from typing import Any, Final

from tests.e2e.e2e_kit import plan, step
from tests.e2e.e2e_people import Person
from tests.pictures.studio import Scene, Studio

_DEALS: Final = (481, 410, 412, 413, 415, 417, 419, 423, *range(424, 457, 3))
_TEXT: Final = "Клиент просит перенести отгрузку, сообщить новую дату и прислать договор с приложениями. "
_PHONES: Final = tuple(f"+7900111220{number}" for number in range(9))


async def point1(studio: Studio) -> None:
    """Long values: a comment of 8,000 characters and nine phones."""
    phones = [{"VALUE": phone, "VALUE_TYPE": "WORK"} for phone in _PHONES]
    await _shoot(
        studio,
        "point-1",
        "добавь Ивану Кузнецову девять телефонов и заметку",
        step("crm.contact.update", {"id": 43, "fields": {"PHONE": phones, "COMMENTS": _TEXT * 90}}),
    )


async def point2(studio: Studio) -> None:
    """Headings: a contact is unlinked, an e-mail goes out."""
    email: dict[str, Any] = {
        "OWNER_TYPE_ID": 2, "OWNER_ID": 481, "TYPE_ID": 4, "DIRECTION": 2, "COMPLETED": "Y", "SUBJECT": "Счёт на оплату", "DESCRIPTION": "Счёт во вложении", "RESPONSIBLE_ID": 6,
        "COMMUNICATIONS": [{"VALUE": "ivanov@example.ru", "ENTITY_ID": 43, "ENTITY_TYPE_ID": 3}],
    }  # fmt: skip
    unlink = step("crm.deal.contact.delete", {"id": "@deal:Ромашка", "fields": {"CONTACT_ID": 43}})
    await _shoot(
        studio,
        "point-2",
        "отвяжи Ивана Кузнецова от сделки Ромашка и отправь ему счёт",
        unlink,
        step("crm.activity.add", {"fields": email}),
    )


async def point4(studio: Studio) -> None:
    """Product rows are replaced."""
    held = [
        {"PRODUCT_NAME": "Станок токарный", "PRICE": 600_000, "QUANTITY": 1},
        {"PRODUCT_NAME": "Светильник", "PRICE": 740, "QUANTITY": 12},
    ]
    answer = await studio.world.portal.post(f"{studio.world.servers.webhook}crm.deal.productrows.set", json={"id": 412, "rows": held})
    assert answer.is_success, answer.text
    rows = [
        {"PRODUCT_ID": 1203, "PRODUCT_NAME": "Светильник", "PRICE": 777, "QUANTITY": 15},
        {"PRODUCT_NAME": "Монтаж", "PRICE": 5000, "QUANTITY": 2},
    ]
    await _shoot(
        studio,
        "point-4",
        "в сделке Вектор: поставка станков оставь 15 светильников по 777 и два монтажа",
        step("crm.deal.productrows.set", {"id": 412, "rows": rows}),
    )


async def point6(studio: Studio) -> None:
    """Batches: two comments, then nineteen deals."""
    comment = "crm.timeline.comment.add?fields[ENTITY_ID]={}&fields[ENTITY_TYPE]=deal&fields[COMMENT]=Жду ответа"
    hand = "crm.deal.update?id={}&fields[ASSIGNED_BY_ID]=8"
    steps = [
        step("batch", {"cmd": {f"c{place}": command.format(number) for place, number in enumerate(numbers)}})
        for command, numbers in ((comment, _DEALS[:2]), (hand, _DEALS[:19]))
    ]
    await _shoot(studio, "point-6", "напиши в две сделки «жду ответа» и передай все сделки Бориса Вере", *steps)


async def point7(studio: Studio) -> None:
    """Names instead of codes: a smart process, a meeting."""
    item = step(
        "crm.item.update",
        {"entityTypeId": 177, "id": 12, "fields": {"stageId": "DT177_10:SIGNING", "assignedById": 8, "companyId": 22, "parentId2": 412}},
    )
    meeting: dict[str, Any] = {
        "type": "user", "ownerId": 6, "name": "Встреча с клиентом", "from": "2027-11-24T15:00:00+03:00", "to": "2027-11-24T16:00:00+03:00", "is_meeting": "Y", "attendees": [6, 8],
        "importance": "high", "accessibility": "busy", "remind": [{"type": "min", "count": 15}], "crm_fields": ["D_481", "C_43"],
    }  # fmt: skip
    await _shoot(
        studio, "point-7", "договор с Ромашкой на подписание, отдай Вере; встреча 24 ноября в 15", item, step("calendar.event.add", meeting)
    )


async def _shoot(studio: Studio, name: str, request: str, *steps: dict[str, Any]) -> None:
    person: Person = studio.world.anna
    await studio.world.script(plan(*steps))
    seen = await person.ask(request)
    first = next(place for place, message in enumerate(seen) if message.buttons)
    await studio.shoot(name, person, last=len(seen) - first)


SCENES: Final[Sequence[Scene]] = (point1, point2, point4, point6, point7)

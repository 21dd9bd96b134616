"""The card of a change of what is no record of its own, such as a department, shows its present values as the old ones."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from orchestrator.domain.effect import Pending
from orchestrator.gate.approve.confirmations import Decision
from orchestrator.gate.call.held_parts import to_part
from tests.unit.gate.reading_kit import draw, open_portal
from tests.unit.gate.sandbox_kit import Desk
from tests.unit.spine_kit import VERA

EVENT = {
    "ID": 25001, "NAME": "Планёрка", "OWNER_ID": 7, "CAL_TYPE": "user", "LOCATION": "Кабинет", "DATE_FROM": "24.11.2026 11:00:00",
    "DATE_TO": "24.11.2026 12:00:00", "TZ_OFFSET_FROM": "10800", "TZ_OFFSET_TO": "10800",
}  # fmt: skip


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """The product over the sandbox, with one calendar event."""
    async with open_portal(tmp_path) as made:
        answer(made, "calendar.event.getbyid", EVENT)
        yield made


def answer(desk: Desk, method: str, result: Any) -> None:
    """From now on the portal answers that."""
    desk.wire.instead[method] = httpx.Response(200, json={"result": result, "time": {}})


async def lines(desk: Desk, method: str, params: dict[str, Any]) -> list[str]:
    """The lines of a card in Russian, without heading and reasons."""
    return (await draw(desk, method, "ru", params)).text.split("\n\n")[1].split("\n")


async def test_an_event_shows_what_stands_there_now(desk: Desk) -> None:
    """Failed before: time and place of a meeting were shown without the old ones, although the portal tells them."""
    params = {"id": 25001, "type": "user", "ownerId": 7, "name": "Планёрка", "location": "Офис"}
    times = {"from": "2026-11-24T15:00:00+03:00", "to": "2026-11-24T12:00:00+03:00"}
    assert await lines(desk, "calendar.event.update", {**params, **times}) == ["Начало: вт, 24 ноября, 11:00 → вт, 24 ноября, 15:00", "Место: Кабинет → Офис"]  # fmt: skip


async def test_a_department_shows_its_present_name_and_head(desk: Desk) -> None:
    """Failed before. The new name is no condition under which the department is looked for."""
    department = (await desk.ask("department.get", ID=3))[0]
    params = {"ID": 3, "NAME": "Продажи", "UF_HEAD": 8}
    shown = await lines(desk, "department.update", params)
    assert shown[0] == f"Название: {department['NAME']} → Продажи"
    assert shown[1].startswith("Руководитель: ")
    assert shown[1].endswith(" → Вера Лебедева")
    assert {"ID"} >= {name for method, sent in desk.wire.sent if method == "department.get" for name in sent} - {"start"}


async def test_an_employee_shows_the_present_values(desk: Desk) -> None:
    """An employee is a record, read as one."""
    shown = await lines(desk, "user.update", {"ID": 8, "WORK_POSITION": "Руководитель", "ACTIVE": "N"})
    assert shown == ["Должность: Менеджер по продажам → Руководитель", "Работает: Да → Нет"]


@pytest.mark.parametrize("result", [{}, [], {**EVENT, "ID": 5}, "x", {"NAME": "Планёрка"}])
async def test_what_the_portal_does_not_tell_for_certain_is_no_old_value(desk: Desk, result: Any) -> None:
    """Another event, or none: the new value stands alone, and nothing is left out as unchanged."""
    answer(desk, "calendar.event.getbyid", result)
    assert await lines(desk, "calendar.event.update", {"id": 25001, "name": "Планёрка"}) == ["Название: Планёрка"]


def test_a_time_without_its_zone_is_not_guessed() -> None:
    """The portal writes local times; only with the offset beside them they are a moment."""
    assert to_part(EVENT)["from"] == "2026-11-24T11:00:00+03:00"
    assert "from" not in to_part({**EVENT, "TZ_OFFSET_FROM": None})
    assert "from" not in to_part({**EVENT, "DATE_FROM": "вчера"})


@pytest.mark.req("S004-31")
@pytest.mark.parametrize("moved", [True, False])
async def test_an_event_that_somebody_moved_meanwhile_is_asked_anew(desk: Desk, moved: bool) -> None:  # noqa: FBT001
    """The old value on the card is part of what was approved; with the same values as on the card the call runs."""
    pending = await desk.wish("calendar.event.update", {"id": 25001, "location": "Офис"})
    assert isinstance(pending, Pending)
    entry = desk.card(pending)
    answer(desk, "calendar.event.getbyid", {**EVENT, "LOCATION": "Склад"} if moved else EVENT)
    answer(desk, "calendar.event.update", 25001)
    given = Decision(confirmation_id=entry.confirmation_id, nonce=entry.nonce, approve=True, actor=VERA, via="button")
    decided = await desk.world.gate.decide_card(given, mode="full", ledger=desk.session)
    assert (decided.replaced_by is not None) is moved
    assert ("calendar.event.update" in [method for method, _ in desk.wire.sent]) is not moved

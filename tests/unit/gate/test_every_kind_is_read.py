"""Every kind of record that the catalogue knows is read as the portal documents its answer, alone and in a batch."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bitrix.limits.limiter import Priority
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.gate.approve.confirmations import Decision
from tests.unit.gate.gate_kit import catalogue
from tests.unit.gate.submit_kit import decide, yes
from tests.unit.spine_kit import VERA, World, a_world, effect
from tests.unit.spine_portal import Portal, user

RECORD = {"ID": "8", "TITLE": "Запись"}
ANSWERS: dict[str, Any] = {
    "deal": RECORD,
    "lead": RECORD,
    "contact": RECORD,
    "company": RECORD,
    "item": {"item": {"id": 8, "title": "Запись"}},
    "task": {"task": {"id": "8", "title": "Запись"}},
    "activity": RECORD,
    "comment": RECORD,
    "productrow": {"productRow": {"id": 8, "productName": "Запись"}},
    "requisite": RECORD,
    "guests": {"ID": "8", "NAME": "Встреча"},
    "user": [user(8, "Борис", "Седов")],
}
"""The documented result of the method that reads one record of a kind."""
MISSING: dict[str, Any] = {"task": [], "user": []}
"""The same for a record that does not exist, where it is no error."""


class Books(Portal):
    """A portal that answers the reading methods of all kinds; users can be changed."""

    def __init__(self) -> None:
        super().__init__()
        self.answers = {entity.get: ANSWERS[entity.name] for entity in catalogue().entities.values()}
        self.staff = {8: user(8, "Борис", "Седов"), 9: user(9, "Анна", "Уварова")}

    def perform(self, method: str, params: dict[str, Any]) -> Any:
        if method == "user.get" and "ID" in params:
            return [row for number, row in self.staff.items() if number == int(params["ID"])]
        if method == "user.update":
            self.ledger.append((method, params))
            self.staff[int(params["ID"])].update({name: value for name, value in params.items() if name != "ID"})
            return True
        return self.answers[method] if method in self.answers and method != "user.get" else super().perform(method, params)


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[tuple[World, Books]]:
    portal = Books()
    async with a_world(tmp_path, portal=portal) as world:
        yield world, portal


@pytest.mark.parametrize("kind", sorted(catalogue().entities))
async def test_a_record_of_every_kind_is_found_alone_and_among_others(office: tuple[World, Books], kind: str) -> None:
    """An employee was never found: users are read with the method for their list."""
    world, _ = office
    reader = PortalReader(world.client, catalogue(), world.clock)
    target = ("item:177" if kind == "item" else kind, 8)
    assert (await reader.load_records([target]))[target]
    assert (await reader.load_records([target, ("deal", 8)]))[target]
    assert (await reader.load_each_record([target, ("deal", 8)], Priority.INTERACTIVE))[target]


@pytest.mark.parametrize("kind", sorted(MISSING))
async def test_a_record_that_does_not_exist_is_none(office: tuple[World, Books], kind: str) -> None:
    world, portal = office
    portal.answers[catalogue().entities[kind].get] = MISSING[kind]
    assert (await PortalReader(world.client, catalogue(), world.clock).load_records([(kind, 77)])) == {(kind, 77): None}


async def test_a_row_of_somebody_else_is_not_the_record(office: tuple[World, Books], monkeypatch: pytest.MonkeyPatch) -> None:
    """A portal that ignores the id answers with everybody; the first of them is not who was meant."""
    world, portal = office
    monkeypatch.setattr(portal, "perform", lambda method, params: [user(1, "Ольга", "Зуева"), user(8, "Борис", "Седов")])
    found = await PortalReader(world.client, catalogue(), world.clock).load_records([("user", 8)])
    assert (found[("user", 8)] or {})["LAST_NAME"] == "Седов"


async def test_an_employees_data_are_shown_changed_and_watched_for_drift(office: tuple[World, Books]) -> None:
    world, portal = office
    session = await world.session()
    card = await world.asked(session, effect("user.update", {"ID": 8, "WORK_POSITION": "Старший менеджер"}), actor=VERA)
    (change,) = card.preview["lines"]
    assert (change["before"], change["after"]) == ("менеджер", "Старший менеджер")
    assert "Борис Седов" in str(card.preview)
    portal.staff[8]["WORK_POSITION"] = "руководитель"
    await decide(world, session, yes(card, VERA))
    assert portal.written("user.update") == [], "somebody changed the position meanwhile: the person decides again"
    (again,) = [one for one in session.state.cards.values() if one.is_waiting]
    await decide(world, session, Decision(confirmation_id=again.confirmation_id, actor=VERA, approve=True, nonce=again.nonce, via="button"))
    assert [params["WORK_POSITION"] for _, params in portal.written("user.update")] == ["Старший менеджер"]


async def test_an_employee_who_does_not_exist_is_refused_by_name_of_the_kind(office: tuple[World, Books]) -> None:
    world, _ = office
    found = await world.submit(await world.session(), effect("user.update", {"ID": 99, "WORK_POSITION": "x"}), actor=VERA)
    assert (found.reason.code, found.reason.args) == ("gate-not-found", {"entity": "user", "id": 99})

"""What waits for a record of its plan is refused for what is wrong with itself, and never for what is not there yet."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from orchestrator.domain.actor import Actor, Mode
from orchestrator.domain.effect import STAND_IN, NewRecord, Outcome
from tests.unit.gate.sandbox_kit import Desk, a_desk
from tests.unit.spine_kit import VERA, effect

NEW = STAND_IN - 1
MANAGER = Actor(key="tg:1007", name="Борис", bitrix_user_id=7)
DEAL = NewRecord(kind="deal", stand_in=NEW, method="crm.deal.add", params={"fields": {"TITLE": "Гранит"}})
LEAD = NewRecord(kind="lead", stand_in=NEW, method="crm.lead.add", params={"fields": {"TITLE": "Гранит"}})
COMPANY = NewRecord(kind="company", stand_in=NEW, method="crm.company.add", params={"fields": {"TITLE": "Гранит"}})
CONTACT = NewRecord(kind="contact", stand_in=NEW, method="crm.contact.add", params={"fields": {"NAME": "Пётр"}})
TASK = NewRecord(kind="task", stand_in=NEW, method="tasks.task.add", params={"fields": {"TITLE": "Позвонить", "RESPONSIBLE_ID": 7}})

RIGHT: list[tuple[NewRecord, str, dict[str, Any]]] = [
    (DEAL, "tasks.task.add", {"fields": {"TITLE": "x", "RESPONSIBLE_ID": 7, "UF_CRM_TASK": [f"D_{NEW}"]}}),
    (DEAL, "crm.timeline.comment.add", {"fields": {"ENTITY_TYPE": "deal", "ENTITY_ID": NEW, "COMMENT": "x"}}),
    (DEAL, "crm.activity.todo.add", {"ownerTypeId": 2, "ownerId": NEW, "deadline": "2026-11-23T10:00:00+03:00", "title": "x"}),
    (DEAL, "crm.deal.productrows.set", {"id": NEW, "rows": [{"PRODUCT_NAME": "Насос", "PRICE": 5, "QUANTITY": 1}]}),
    (DEAL, "crm.deal.update", {"id": NEW, "fields": {"OPPORTUNITY": 5, "CURRENCY_ID": "RUB"}}),
    (DEAL, "crm.deal.contact.add", {"id": NEW, "fields": {"CONTACT_ID": 1}}),
    (LEAD, "reminder.add", {"at": "2026-11-22T10:00:00+03:00", "text": "x", "lead": NEW}),
    (LEAD, "crm.timeline.comment.add", {"fields": {"ENTITY_TYPE": "lead", "ENTITY_ID": NEW, "COMMENT": "x"}}),
    (COMPANY, "crm.contact.add", {"fields": {"NAME": "Пётр", "COMPANY_ID": NEW}}),
    (COMPANY, "crm.deal.add", {"fields": {"TITLE": "x", "COMPANY_ID": NEW}}),
    (CONTACT, "crm.deal.add", {"fields": {"TITLE": "x", "CONTACT_ID": NEW}}),
    (CONTACT, "crm.contact.update", {"id": NEW, "fields": {"PHONE": [{"VALUE": "89161234567", "VALUE_TYPE": "WORK"}]}}),
    (TASK, "task.checklistitem.add", {"TASKID": NEW, "FIELDS": {"TITLE": "x"}}),
    (TASK, "tasks.task.add", {"fields": {"TITLE": "x", "RESPONSIBLE_ID": 7, "PARENT_ID": NEW}}),
    (TASK, "tasks.task.update", {"taskId": NEW, "fields": {"DEADLINE": "2026-11-23T10:00:00+03:00"}}),
]
WRONG: list[tuple[NewRecord, str, dict[str, Any], str]] = [
    (DEAL, "crm.deal.update", {"id": NEW, "fields": {"NO_SUCH": 5}}, "gate-param-unknown"),
    (DEAL, "crm.deal.update", {"id": NEW, "fields": {"STAGE_ID": "НЕТ"}}, "gate-value-stage"),
    (DEAL, "crm.deal.delete", {"id": NEW}, "gate-delete"),
    (DEAL, "crm.deal.frobnicate", {"id": NEW}, "gate-method-unknown"),
    (COMPANY, "crm.deal.add", {"fields": {"TITLE": "x", "COMPANY_ID": NEW, "ORIGIN_ID": "7"}}, "gate-origin"),
    (TASK, "tasks.task.update", {"taskId": NEW, "fields": {"RESPONSIBLE_ID": 99_999}}, "gate-user-inactive"),
]


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with a_desk(tmp_path) as made:
        yield made


async def _check(desk: Desk, record: NewRecord, method: str, params: dict[str, Any], actor: Actor, mode: Mode = "full") -> Outcome | None:
    given = effect(method, params, slot="t1/1/2")
    before = len(desk.wire.writes())
    refused = await desk.world.gate.find_refusal(given, (record,), actor=actor, mode=mode, ledger=desk.session)
    assert len(desk.wire.writes()) == before
    assert str(NEW) not in str(desk.wire.sent)
    return refused


@pytest.mark.parametrize("actor", [VERA, MANAGER], ids=["lead", "manager"])
@pytest.mark.parametrize(("record", "method", "params"), RIGHT, ids=[f"{record.kind}-{method}" for record, method, _ in RIGHT])
async def test_a_right_step_is_never_refused_beforehand(
    desk: Desk, record: NewRecord, method: str, params: dict[str, Any], actor: Actor
) -> None:
    """Nothing is asked of the portal about the record, either: it has none of that number."""
    assert await _check(desk, record, method, params, actor) is None


async def test_a_right_step_is_never_refused_in_shadow_mode(desk: Desk) -> None:
    """Nothing is made there, and the person reads what would be."""
    assert [await _check(desk, *right, VERA, "shadow") for right in RIGHT] == [None] * len(RIGHT)


@pytest.mark.parametrize("mode", ["full", "shadow"])
@pytest.mark.parametrize(("record", "method", "params", "code"), WRONG, ids=[code for *_, code in WRONG])
async def test_a_wrong_step_is_refused_as_it_would_be_later(
    desk: Desk, record: NewRecord, method: str, params: dict[str, Any], code: str, mode: Mode
) -> None:
    """With the reason that an existing record would have, also where it is only planned."""
    refused = await _check(desk, record, method, params, VERA, mode)
    assert refused is not None
    assert refused.reason is not None
    assert refused.reason.code == code


async def test_a_portal_that_cannot_be_read_refuses_nothing_beforehand(desk: Desk) -> None:
    """The step is judged when its record is there."""
    foreign = {"fields": {"TITLE": "x", "RESPONSIBLE_ID": 7, "UF_CRM_TASK": [f"D_{NEW}", "D_1"]}}
    desk.wire.instead["batch"] = desk.wire.instead["crm.deal.get"] = httpx.Response(503)
    assert await _check(desk, DEAL, "tasks.task.add", foreign, MANAGER) is None

"""What was added is taken back by deleting it: only what the undone call has made, and only while nobody has worked on it."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.outputs import Notice
from orchestrator.gate.approve.confirmations import calculate_second_nonce
from orchestrator.gate.undo import undo_policy
from tests.unit.features.undo.undo_kit import an_office, cards, cmd, codes, done, pressed
from tests.unit.spine_kit import World, effect, press

ADDS = {
    "deal": effect("crm.deal.add", {"fields": {"TITLE": "Новая"}}),
    "task": effect("tasks.task.add", {"fields": {"TITLE": "Позвонить", "RESPONSIBLE_ID": 7}}),
    "comment": effect("crm.timeline.comment.add", {"fields": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "COMMENT": "Звонил"}}),
}


@pytest.mark.parametrize("kind", ADDS)
async def test_an_addition_is_taken_back_by_deleting_it(office: World, kind: str) -> None:
    """Two taps on a card, although the policy opens no deletion: the program has just made it."""
    effect_id = await done(office, ADDS[kind])
    (card,) = cards(await pressed(office, effect_id))
    assert (card["method"].endswith(".delete"), card["taps"]) == (True, 2)
    for nonce in (card["nonce"], calculate_second_nonce(card["nonce"])):
        await office.work(press({**card, "nonce": nonce}))
    assert office.portal.ledger[-1][0] == card["method"]


async def test_an_addition_that_somebody_works_on_stays(office: World) -> None:
    effect_id = await done(office, ADDS["deal"])
    number = max(number for kind, number in office.portal.records if kind == "deal")
    office.portal.records["deal", number]["TITLE"] = "Уже в работе"
    assert codes(await pressed(office, effect_id)) == ["undo-refused", "undo-changed"]


MADE = {"DATE_CREATE": "2026-11-21T12:00:00+03:00", "DATE_MODIFY": "2026-11-21T12:00:07+03:00", "CREATED_BY_ID": "1", "MODIFY_BY_ID": "1"}
MADE_TASK = {"createdDate": "2026-11-21T12:00:00+03:00", "changedDate": "2026-11-21T12:00:00+03:00", "status": "2"}


@pytest.mark.parametrize(
    ("kind", "since"),
    [
        ("deal", {"OPPORTUNITY": "900000.00", "DATE_MODIFY": "2026-11-21T12:05:00+03:00"}),
        ("deal", {"COMMENTS": "Ждут смету", "MODIFY_BY_ID": "8"}),
        ("deal", {"LAST_ACTIVITY_TIME": "2026-11-21T12:30:00+03:00"}),
        ("deal", {"DATE_MODIFY": "вчера"}),
        ("task", {"status": "3"}),
        ("task", {"changedDate": "2026-11-21T12:05:00+03:00"}),
        ("task", {"activityDate": "2026-11-21T12:05:00+03:00"}),
    ],
)
async def test_an_addition_stays_whatever_else_somebody_has_done_to_it(office: World, kind: str, since: dict[str, str]) -> None:
    """Another field, an activity or comment at the record, a task that was begun: its deletion would lose that."""
    effect_id = await done(office, ADDS[kind])
    number = max(number for held, number in office.portal.records if held == kind)
    office.portal.records[kind, number] |= {**(MADE if kind == "deal" else MADE_TASK), **since}
    assert codes(await pressed(office, effect_id)) == ["undo-refused", "undo-worked-on"]
    office.portal.records[kind, number] |= MADE | {"LAST_ACTIVITY_TIME": MADE["DATE_CREATE"]} if kind == "deal" else {}
    office.portal.records[kind, number] |= MADE_TASK | {"activityDate": MADE_TASK["createdDate"]} if kind == "task" else {}
    assert len(cards(await pressed(office, effect_id))) == 1


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("task.commentitem.add", {"TASKID": 8017, "FIELDS": {"POST_MESSAGE": "Звонил"}}),
        ("task.checklistitem.add", {"TASKID": 8017, "FIELDS": {"TITLE": "Смета"}}),
        ("crm.item.productrow.add", {"fields": {"ownerId": 481, "ownerType": "D", "productName": "Окно", "price": 10}}),
    ],
)
def test_a_part_that_its_number_alone_does_not_name_is_not_offered_for_undo(office: World, method: str, params: dict[str, Any]) -> None:
    """Its deletion would name another record; and without a row that was added, the portal computes another sum."""
    deps = office.gate.deps
    call = undo_policy.CompletedCall(effect_id="x", method=method, params=params, before={}, at=office.clock.now(), created="comment:1")
    parts = undo_policy.build_undo_parts(call, policy=deps.policy, catalogue=deps.catalogue)
    assert isinstance(parts, Notice)
    assert parts.code == "undo-none"


@pytest.mark.parametrize("slot", ["t2/1/1", "undo:{0}", "undo:{0}/2", "undo:unknown"])
async def test_only_what_the_undone_call_has_made_is_deleted_so(office: World, slot: str) -> None:
    """An engine that calls its effect an undo, or takes the place of one, deletes no other record, and none in a batch."""
    made = await done(office, ADDS["deal"])
    session = await office.session()
    for number, (method, params) in enumerate({"crm.deal.delete": {"id": 481}, "batch": {"cmd": cmd("crm.deal.delete?id=481")}}.items()):
        place = slot.format(made) + ("" if slot.startswith("undo:unknown") or number == 0 else f"/{number}")
        result = await office.submit(session, effect(method, params, slot=place, proposed_by="undo", requires_confirmation=True))
        assert (result.status, result.reason.code if result.reason else "") in {
            ("refused", "gate-delete"),
            ("refused", "gate-batch-delete"),
        }


async def test_a_policy_may_refuse_to_take_an_addition_back(tmp_path: Path) -> None:
    async with an_office(tmp_path, policy={"refuse_methods": ["crm.deal.delete"]}) as closed:
        assert codes(await pressed(closed, await done(closed, ADDS["deal"]))) == ["undo-refused", "undo-add-closed"]

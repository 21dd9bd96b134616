"""Records that this program made are found by their marks, whatever a portal's filter does; an odd answer is not taken for "none"."""

from datetime import timedelta
from typing import Any

import pytest

from bitrix.errors import BitrixError
from orchestrator.gate.call.effect import Call
from orchestrator.gate.call.ports import OwnRecord
from orchestrator.gate.normalize.normalize import normalize
from orchestrator.performers.bitrix import find_own_records
from orchestrator.performers.reconciliation import reconcile
from tests.unit.spine_kit import NOW, VERA, World, effect
from tests.unit.spine_portal import says

MARK = "0123456789abcdef0123456789abcdef"
DEAL = ("crm.deal.add", {"fields": {"TITLE": "Осина"}})
CONTACT = ("crm.contact.add", {"fields": {"NAME": "Иван"}})
ITEM = ("crm.item.add", {"entityTypeId": 2, "fields": {"title": "Осина"}})
LISTS = {DEAL[0]: "crm.deal.list", CONTACT[0]: "crm.contact.list", ITEM[0]: "crm.item.list"}


def proposed(world: World, what: tuple[str, dict[str, Any]]) -> Call:
    call = normalize(effect(*what), catalogue=world.gate.deps.catalogue, portal="p", actor=VERA, effect_id="e1")
    assert isinstance(call, Call), call
    return call


def listed(method: str, *rows: dict[str, Any]) -> Any:
    if method != ITEM[0]:
        return says(200, {"result": list(rows)})
    camel = {"ID": "id", "ORIGINATOR_ID": "originatorId", "ORIGIN_ID": "originId", "DATE_CREATE": "createdTime"}
    return says(200, {"result": {"items": [{camel[name]: value for name, value in row.items()} for row in rows]}})


def row(number: int, *, mark: str = MARK, by: str = "sdelka", when: timedelta = timedelta(hours=1)) -> dict[str, Any]:
    return {"ID": str(number), "ORIGINATOR_ID": by, "ORIGIN_ID": mark, "DATE_CREATE": (NOW + when).isoformat()}


@pytest.mark.parametrize("what", [DEAL, CONTACT, ITEM])
async def test_what_carries_our_mark_and_is_newer_is_found(world: World, what: tuple[str, dict[str, Any]]) -> None:
    """What another program made, what has no mark, and what is older does not count; of a batch's record the key of the command is cut."""
    rows = [row(1), row(2, by="shop"), row(3, mark=""), row(4, when=timedelta(days=-1)), row(5, mark=f"{MARK}:a"), row(6)]
    rows[5]["DATE_CREATE"] = "yesterday"
    world.portal.will(LISTS[what[0]], listed(what[0], *rows))
    call = proposed(world, what)
    assert await find_own_records(call, NOW, world.client) == [OwnRecord(call.entity, number, MARK) for number in (1, 5, 6)]
    _, asked = world.portal.requests[-1]
    time = "createdTime" if what is ITEM else "DATE_CREATE"
    assert f">={time}" in asked["filter"]


@pytest.mark.parametrize(
    "what",
    [
        ("crm.deal.update", {"id": 481, "fields": {"TITLE": "x"}}),
        ("tasks.task.add", {"fields": {"TITLE": "x", "RESPONSIBLE_ID": 7}}),
        ("crm.item.add", {"entityTypeId": 177, "fields": {"title": "x"}}),
        ("batch", {"cmd": {"a": "crm.deal.update?id=481&fields[TITLE]=x"}}),
    ],
)
async def test_what_leaves_no_mark_is_not_looked_for(world: World, what: tuple[str, dict[str, Any]]) -> None:
    assert await find_own_records(proposed(world, what), NOW, world.client) == []
    assert world.portal.requests == []


async def test_behind_a_full_page_the_rest_is_looked_for(world: World) -> None:
    """Fifty records that are known would hide the one that is not."""
    first = {"result": [row(number) for number in range(1, 51)], "next": 50, "total": 51}
    world.portal.will("crm.deal.list", says(200, first), says(200, {"result": [row(51)], "total": 51}))
    found = await find_own_records(proposed(world, DEAL), NOW, world.client)
    assert [one.number for one in found] == list(range(1, 52))


@pytest.mark.parametrize("answer", [{"result": [row(1)], "total": 2}, {"result": [row(1)], "next": 0, "total": 90}])
async def test_a_list_that_is_not_whole_tells_nothing(world: World, answer: dict[str, Any]) -> None:
    world.portal.will("crm.deal.list", says(200, answer))
    with pytest.raises(BitrixError):
        await find_own_records(proposed(world, DEAL), NOW, world.client)


async def test_of_a_batch_each_kind_is_looked_for_once(world: World) -> None:
    cmd = {
        name: f"crm.{kind}.add?fields[{field}]=x"
        for name, kind, field in (("a", "deal", "TITLE"), ("b", "contact", "NAME"), ("c", "deal", "TITLE"))
    }
    world.portal.will("crm.deal.list", listed("crm.deal.add", row(1)))
    world.portal.will("crm.contact.list", listed("crm.contact.add", row(2)))
    found = await find_own_records(proposed(world, ("batch", {"cmd": cmd})), NOW, world.client)
    assert found == [OwnRecord("deal", 1, MARK), OwnRecord("contact", 2, MARK)]
    assert [method for method, _ in world.portal.requests] == ["crm.deal.list", "crm.contact.list"]


@pytest.mark.parametrize("answer", ["text", None, {}, {"items": "x"}, {"items": [5]}, [None, 5], [{"ORIGIN_ID": "x"}], True])
@pytest.mark.parametrize("what", [DEAL, ITEM])
async def test_from_an_odd_answer_nothing_is_concluded(world: World, what: tuple[str, dict[str, Any]], answer: Any) -> None:
    """A call is neither said to be not made, nor are there said to be no records of ours."""
    world.portal.will(LISTS[what[0]], says(200, {"result": answer}), says(200, {"result": answer}))
    call = proposed(world, what)
    with pytest.raises(BitrixError):
        await find_own_records(call, NOW, world.client)
    assert (await reconcile(call, {}, world.client, world.gate.deps.records)).verdict == "unclear"

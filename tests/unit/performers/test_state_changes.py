"""What a call changes in agent_state, after the fold: the rows of the seed, word by word."""

from typing import Any

import pytest

from bitrix.catalogue.catalogue import Catalogue
from orchestrator.domain.effect import Outcome
from orchestrator.gate.call.effect import Call, Lookup
from orchestrator.gate.normalize.normalize import normalize
from orchestrator.performers.state_changes import build_changes, find_created_target
from state.model.session_state import AgentState
from tests.unit.gate.gate_kit import catalogue
from tests.unit.spine_kit import VERA, World, effect, reply, step
from tests.unit.spine_kit import message as typed
from tests.unit.spine_portal import says

HOOK = {"event": "ONCRMDEALADD", "handler": "https://hooks.example/x"}


async def after(world: World, *calls: tuple[str, dict[str, Any]]) -> AgentState:
    """agent_state after these calls of a lead, free or approved."""
    session = await world.session()
    for number, (method, params) in enumerate(calls, start=1):
        what = effect(method, params, slot=f"t1/1/{number}")
        call = normalize(what, catalogue=world.gate.deps.catalogue, portal="p", actor=VERA, effect_id=f"e{number}")
        assert isinstance(call, Call), call
        performed = await world.gate.deps.performers["bitrix"].execute(call)
        from orchestrator.gate.execute import executor  # noqa: PLC0415 - the shortest way to the journal

        order = executor.Order(
            effect_id=f"e{number}", turn_id="t1", slot=what.slot, call=call, requested_by=VERA.key, proposed_by="crm_agent", before={}
        )
        event = executor._build_outcome_event(order, performed, 0.1, params={})
        await session.commit(event, actor=VERA.key)
    return session.state.agent


@pytest.mark.req("S004-33", "S004-34", "S004-35", "S004-X5")
@pytest.mark.parametrize(
    ("calls", "objects", "links"),
    [
        (
            [("crm.deal.get", {"id": 481})],
            {"current_deal_id": 481, "current_contact_id": 43, "current_company_id": 5},
            {"deal:481": ["contact:43", "company:5"]},
        ),
        ([("crm.contact.get", {"id": 43})], {"current_contact_id": 43, "current_company_id": 5}, {"contact:43": ["company:5"]}),
        ([("crm.company.get", {"id": 5})], {"current_company_id": 5}, {}),
        ([("crm.deal.add", {"fields": {"TITLE": "x"}})], {"current_deal_id": 9001}, {}),
        ([("crm.deal.update", {"id": 482, "fields": {"TITLE": "x"}})], {"current_deal_id": 482}, {}),
        ([("tasks.task.add", {"fields": {"TITLE": "x", "RESPONSIBLE_ID": 7}})], {"current_task_id": 9001}, {}),
        ([("tasks.task.update", {"taskId": 8017, "fields": {"TITLE": "x"}})], {"current_task_id": 8017}, {}),
        (
            [("crm.item.get", {"entityTypeId": 2, "id": 481})],
            {"current_deal_id": 481, "current_contact_id": 43, "current_company_id": 5},
            {"deal:481": ["contact:43", "company:5"]},
        ),
        ([("crm.item.add", {"entityTypeId": 3, "fields": {"name": "x"}})], {"current_contact_id": 9001}, {}),
        ([("crm.item.get", {"entityTypeId": 177, "id": 5})], {}, {}),
        ([("crm.deal.list", {})], {}, {}),
        ([("crm.timeline.comment.add", {"fields": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "COMMENT": "x"}})], {}, {}),
        ([("crm.deal.get", {"id": 999})], {}, {}),
    ],
)
async def test_current_objects_follow_the_calls(world: World, calls: Any, objects: dict[str, int], links: dict[str, list[str]]) -> None:
    """Reads of single records and writes move them; lists, comments and failures do not."""
    found = await after(world, *calls)
    assert {key: value for key, value in found.objects.items() if key != "links" and value} == objects
    assert found.objects["links"] == links


@pytest.mark.req("S004-X5", "S004-X4")
async def test_done_holds_what_was_done_with_its_time_and_records(world: World) -> None:
    """Writes are named with their record, lists with their count; single reads and refusals are not done."""
    found = await after(
        world,
        ("crm.deal.list", {}),
        ("crm.deal.get", {"id": 481}),
        ("crm.deal.update", {"id": 481, "fields": {"TITLE": "x"}}),
        ("crm.deal.update", {"id": 999, "fields": {"TITLE": "x"}}),
        ("crm.timeline.comment.add", {"fields": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "COMMENT": "x"}}),
        ("crm.timeline.comment.list", {"filter": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal"}}),
    )
    assert [item["description"] for item in found.done] == [
        "crm.deal.list: 3",
        "crm.deal.update deal 481",
        "crm.timeline.comment.add comment 9001 of deal:481",
        "crm.timeline.comment.list: 1",
    ]
    assert found.done[1]["object_ids"] == {"current_deal_id": 481}
    assert all(item["timestamp"].endswith("Z") for item in found.done)


@pytest.mark.req("S004-75", "S004-X5")
async def test_bindings_follow_get_bind_and_unbind(world: World) -> None:
    """A get replaces, bind appends once, unbind removes the pair."""
    world.portal.bindings = [{"event": "OnCrmLeadAdd", "handler": "https://old.example/"}]
    found = await after(world, ("event.get", {}), ("event.bind", HOOK), ("event.bind", HOOK))
    assert found.event_bindings == [{"event": "ONCRMLEADADD", "handler": "https://old.example/"}, HOOK]


@pytest.mark.req("S004-75")
async def test_an_unbinding_removes_the_pair(world: World) -> None:
    """Only what was really unbound goes."""
    found = await after(world, ("event.bind", HOOK), ("event.unbind", HOOK))
    assert found.event_bindings == []


@pytest.mark.req("S004-75", "S004-X5")
@pytest.mark.parametrize("method", ["event.bind", "event.unbind"])
async def test_a_false_result_changes_no_binding(world: World, method: str) -> None:
    """Both only when the portal says true."""
    world.portal.bindings = [{**HOOK, "handler": "https://other.example/"}]
    world.portal.will(method, says(200, {"result": False}))
    found = await after(world, ("event.get", {}), (method, HOOK))
    assert found.event_bindings == [{**HOOK, "handler": "https://other.example/"}]
    assert found.done == []


@pytest.mark.req("S004-72", "S004-A9", "S004-X5")
async def test_a_batch_leaves_one_summary_from_two_successes_on(world: World) -> None:
    """Two successes: keys and methods; one: its own entry; the current objects and bindings of its commands count."""
    cmd = {"a": "crm.deal.get?id=481", "b": "crm.deal.update?id=482&fields[TITLE]=x", "c": "crm.deal.get?id=999", "d": "event.get"}
    world.portal.bindings = [HOOK]
    found = await after(
        world, ("batch", {"cmd": cmd}), ("batch", {"cmd": {"a": "crm.deal.update?id=481&fields[TITLE]=y", "b": "crm.deal.get?id=999"}})
    )
    assert [item["description"] for item in found.done] == [
        "batch: a crm.deal.get, b crm.deal.update, d event.get",
        "crm.deal.update deal 481",
    ]
    assert found.objects["current_deal_id"] == 481
    assert found.objects["current_contact_id"] == 43
    assert found.event_bindings == [HOOK]


@pytest.mark.parametrize(
    ("method", "params", "result", "target"),
    [
        ("crm.deal.add", {"fields": {"TITLE": "x"}}, 5, "deal:5"),
        ("crm.deal.add", {"fields": {"TITLE": "x"}}, "5", "deal:5"),
        ("crm.deal.add", {"fields": {"TITLE": "x"}}, True, ""),
        ("crm.deal.add", {"fields": {"TITLE": "x"}}, None, ""),
        ("crm.item.add", {"entityTypeId": 2, "fields": {"title": "x"}}, {"item": {"id": 5}}, "deal:5"),
        ("crm.item.add", {"entityTypeId": 31, "fields": {"title": "x"}}, {"item": {"id": 7}}, "item:31:7"),
        ("crm.item.add", {"entityTypeId": 177, "fields": {"title": "x"}}, {"item": {"id": "5"}}, "item:177:5"),
        ("tasks.task.add", {"fields": {"TITLE": "x", "RESPONSIBLE_ID": 7}}, {"task": {"id": "5"}}, "task:5"),
        ("crm.deal.update", {"id": 481, "fields": {"TITLE": "x"}}, True, ""),
    ],
)
async def test_the_record_an_add_made(world: World, method: str, params: dict[str, Any], result: Any, target: str) -> None:
    """In every form in which the portal names it; nothing is guessed."""
    call = normalize(effect(method, params), catalogue=world.gate.deps.catalogue, portal="p", actor=VERA, effect_id="e1")
    assert isinstance(call, Call)
    assert find_created_target(call, result) == target
    assert build_changes(call, result) is not None
    assert isinstance(world.gate.deps.catalogue, Catalogue)


@pytest.mark.req("S004-13", "S004-14")
async def test_the_new_state_is_stored_and_read_back(world: World) -> None:
    """A process that opens the session later sees the same state."""
    session = await world.session()
    world.model.will(reply(step("tasks.task.add", {"fields": {"TITLE": "x"}})), reply())
    await world.turn(session, typed("создай задачу"))
    again = await world.session()
    assert again.state == session.state
    assert again.state.agent.objects["current_task_id"] == 9001
    assert isinstance(await world.submit(again, effect("crm.deal.get", {"id": 481})), Outcome)


_ROW = {"productRow": {"id": 264, "ownerId": 419, "ownerType": "D"}}


@pytest.mark.req("S004-X5")
@pytest.mark.parametrize(
    ("method", "params", "result", "deal"),
    [
        ("crm.item.productrow.add", {"fields": {"ownerType": "D", "ownerId": 419, "price": 1}}, _ROW, 419),
        ("crm.item.productrow.update", {"id": 264, "fields": {"price": 1}}, _ROW, 419),
        ("crm.item.productrow.set", {"ownerType": "D", "ownerId": 419, "productRows": []}, {"productRows": []}, 419),
        ("crm.deal.productrows.set", {"id": 419, "rows": []}, True, 419),
        ("crm.deal.contact.add", {"id": 419, "fields": {"CONTACT_ID": 5}}, True, 419),
        ("crm.deal.contact.items.set", {"id": 419, "items": [{"CONTACT_ID": 5}]}, True, 419),
        ("crm.item.productrow.list", {"filter": {"=ownerType": "D", "=ownerId": 419}}, {"productRows": [{"id": 264}]}, None),
        ("crm.activity.todo.add", {"ownerTypeId": 2, "ownerId": 419, "deadline": "x"}, {"id": 1503}, None),
        ("crm.timeline.comment.add", {"fields": {"ENTITY_TYPE": "deal", "ENTITY_ID": 419, "COMMENT": "x"}}, 99, None),
    ],
)
def test_rows_and_links_are_part_of_a_deal_and_its_notes_are_not(
    method: str, params: dict[str, Any], result: Any, deal: int | None
) -> None:
    changes = build_changes(_build_call(method, params), result)
    assert changes.objects.get("current_deal_id") == deal


@pytest.mark.parametrize(
    ("method", "params", "result", "done"),
    [
        ("crm.activity.todo.updateDeadline", {"id": 1503, "ownerTypeId": 2, "ownerId": 412, "value": "x"}, {"id": 1503}, "activity 1503 of deal:412"),
        ("crm.activity.todo.add", {"ownerTypeId": 2, "ownerId": 412, "deadline": "x"}, {"id": 1503}, "activity 1503 of deal:412"),
        ("crm.timeline.comment.add", {"fields": {"ENTITY_TYPE": "deal", "ENTITY_ID": 412, "COMMENT": "x"}}, 99, "comment 99 of deal:412"),
        ("crm.item.productrow.add", {"fields": {"ownerType": "D", "ownerId": 412, "price": 1}}, _ROW, "productrow 264 of deal:412"),
        ("task.commentitem.add", {"TASKID": 8019, "FIELDS": {"POST_MESSAGE": "x"}}, 7, "comment 7 of task:8019"),
        ("crm.deal.update", {"id": 412, "fields": {"TITLE": "x"}}, True, "deal 412"),
    ],
)  # fmt: skip
def test_done_names_the_record_on_which_something_stands(method: str, params: dict[str, Any], result: Any, done: str) -> None:
    """After a call was moved, the deal that «там» means had to be read again."""
    assert build_changes(_build_call(method, params), result).done == f"{method} {done}"


def _build_call(method: str, params: dict[str, Any]) -> Call:
    spec = catalogue().find(method)
    assert spec is not None
    return Call.from_lookup(Lookup(spec=spec, params=params, catalogue=catalogue()), portal="", key="")

"""Asked, decided, executed: one query over the journal proves each triple, and nothing that ran lacks one (row 39; rows 25 and 26)."""

import dataclasses
import json
from typing import Any

import pytest

from orchestrator.runtime import dispatch
from state.clock import generate_id
from state.journal.store import StoreUnwritable
from tests.regression.approvals.approvals_kit import SECOND_TASK, TASK, UPDATE, House, card_of, cards_of, status_of
from tests.unit.spine_kit import ANNA, BORIS, CHAT, VERA, World, message, opening_of, press, raise_sum, reply, step
from tests.unit.spine_portal import lost

TRIPLES = """
select json_extract(started.data, '$.method'), asked.actor, asked.seq, decided.actor, json_extract(decided.data, '$.via'), decided.seq,
       started.seq, ended.type, ended.seq, json_extract(asked.data, '$.fingerprint') = json_extract(started.data, '$.fingerprint')
from events started
left join events asked on asked.stream = started.stream and asked.type = 'ConfirmationRequested'
     and json_extract(asked.data, '$.effect_id') = json_extract(started.data, '$.effect_id')
left join events decided on decided.stream = started.stream and decided.type = 'ConfirmationApproved'
     and json_extract(decided.data, '$.effect_id') = json_extract(started.data, '$.effect_id')
left join events ended on ended.stream = started.stream and ended.type in ('CallSucceeded', 'CallRefused', 'CallOutcomeUnknown')
     and json_extract(ended.data, '$.effect_id') = json_extract(started.data, '$.effect_id')
where started.type = 'CallStarted' order by started.seq
"""
"""The one query: every call that was sent, who asked, who decided, by what, and how it ended."""


def triples(world: World) -> list[tuple[Any, ...]]:
    with opening_of(world.sql) as connection:
        return list(connection.execute(TRIPLES))


@pytest.mark.req("S004-45", "S004-57", "G2")
async def test_one_query_proves_each_triple(house: House) -> None:
    """Approved by the requester, by a lead, lost on the way, refused by the portal, and free: who, why and how it ended, in this order."""
    async with house.started() as world:
        first, second, third = await cards_of(
            world, raise_sum(1, 481), raise_sum(2, 482), step("crm.deal.update", {"id": 481, "fields": {"STAGE_ID": "WON"}}), TASK,
            text="подними сумму 481, и подними 482, и закрой 481, и поставь задачу",
        )  # fmt: skip
        house.portal.will(UPDATE, lost, holding="482")
        await world.work(
            press(first), press(second, actor=VERA, via="typed", callback_id=""), press(third, approve=False), press(first, actor=BORIS)
        )
        rows = triples(world)
        asked_of_free = next(row for row in rows if row[0] == "tasks.task.add")
        assert asked_of_free[1:6] == (None, None, None, None, None)
        assert asked_of_free[7] == "CallSucceeded"
        rest = [row for row in rows if row[0] == UPDATE]
        assert [(row[1], row[3], row[4], row[7]) for row in rest] == [
            (ANNA.key, ANNA.key, "button", "CallSucceeded"),
            (ANNA.key, VERA.key, "typed", "CallOutcomeUnknown"),
        ]
        for row in rest:
            assert row[2] < row[5] < row[6] < row[8]
            assert row[9] == 1
        assert len(rows) == len(house.portal.ledger)
        denied = [event for event in world.events("ConfirmationDenied") if event.data["effect_id"] == third["effect_id"]]
        assert [(event.actor, event.data["via"], event.data["method"]) for event in denied] == [(ANNA.key, "button", UPDATE)]
        proposed = world.events("PlanRecorded")[0]
        assert {step_["slot"] for step_ in proposed.data["steps"]} >= {event.data["slot"] for event in world.events("CallStarted")}
        assert {event.data["proposed_by"] for event in world.events("CallStarted")} == {"crm_agent"}


@pytest.mark.req("G1", "S004-A2")
async def test_without_room_for_the_audit_there_is_no_call(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail closed: neither a free step nor an approved call goes out while nothing can be stored; with room again each runs once."""
    async with house.started() as world:
        entry = await card_of(world)
        commit = world.sql.commit

        def full(what: Any) -> Any:
            if any(change.status == "started" for one in (*what.earlier, what) for change in one.effects):
                raise StoreUnwritable("no space left")
            return commit(what)

        for row in (press(entry), message("и задачу поставь")):
            with monkeypatch.context() as disk:
                disk.setattr(world.sql, "commit", full)
                world.model.will(reply(SECOND_TASK))
                session = await world.session()
                await world.put(row)
                taken = await world.store.take_inbox(CHAT, row.lane)
                assert taken is not None
                with pytest.raises(StoreUnwritable):
                    await dispatch.run_input(taken, session, world.orchestrator.tools)
            world.model.script.clear()
            assert house.portal.ledger == []
    async with house.started() as world:
        world.model.will(*[lambda payload: reply(text="Готово.") if "Написать" in str(payload["messages"]) else reply(SECOND_TASK)] * 2)
        async with world.working():
            await world.idle()
        world.model.script.clear()
        assert status_of(world, entry) == "succeeded"
    assert sorted(method for method, _ in house.portal.ledger) == [UPDATE, "tasks.task.add"]


FORGED: dict[str, dict[str, Any]] = {
    "an unknown id": {"confirmation_id": "0000000000"},
    "another nonce": {"nonce": "00000000"},
    "no nonce": {"nonce": ""},
    "other params": {"params": {"id": 482, "fields": {"OPPORTUNITY": 1}}},
    "another actor in the body": {"actor": VERA.model_dump(mode="json"), "role": "admin"},
}


@pytest.mark.req("G2", "S004-A1")
@pytest.mark.parametrize("more", FORGED.values(), ids=FORGED.keys())
async def test_a_forged_decision_changes_nothing_of_what_is_approved(house: House, more: dict[str, Any]) -> None:
    """Pressed by a colleague with whatever the input claims: told, on record in the audit log, and never another call than the card's."""
    async with house.started() as world:
        entry = await card_of(world)
        row = press(entry, actor=BORIS)
        await world.work(dataclasses.replace(row, id=generate_id(), body={**row.body, **more}))
        assert house.portal.ledger == []
        assert status_of(world, entry) == "requested"
        noted = [json.loads(line) for line in world.audit().splitlines()]
        assert [item["outcome"]["notice"] for item in noted if item["type"] == "decision"] in (["card-outdated"], ["not-your-card"])
        own = press(entry)
        await world.work(dataclasses.replace(own, body={**{key: value for key, value in more.items() if key == "params"}, **own.body}))
    assert [params for _, params in house.portal.ledger] == [{"id": 481, "fields": {"OPPORTUNITY": 1_200_000}}]


@pytest.mark.req("G2")
async def test_who_loses_the_role_before_the_press_approves_nothing(house: House) -> None:
    """The actor in the input says lead; what counts is what the person is when it is worked: nobody's word of then, no cached right."""
    async with house.started() as world:
        entry = await card_of(world)
        now: dict[str, Any] = {VERA.key: VERA.model_copy(update={"role": "manager", "sees": "own"}), ANNA.key: ANNA, BORIS.key: BORIS}
        tools = dataclasses.replace(world.orchestrator.tools, refresh_actor=lambda actor: now[actor.key])
        world.orchestrator.tools = tools
        await world.work(press(entry, actor=VERA), press(entry, actor=BORIS.model_copy(update={"role": "admin", "sees": "all"})))
        assert world.codes().count("toast:not-your-card") == 2
        assert status_of(world, entry) == "requested"
        now[VERA.key] = VERA
        await world.work(press(entry, actor=VERA))
    assert len(house.portal.ledger) == 1

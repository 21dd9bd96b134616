"""The audit log out of the journal: what was lost with the files comes back, field by field."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.errors import ModelClientError
from orchestrator.gate.execute.recovery import DETAIL
from orchestrator.reports.log_rebuild.rebuild import rebuild_logs, rebuild_records
from state.audit_log.interaction_log import list_users, read_records
from state.events.base import Event, type_names
from state.events.calls import CallOutcomeUnknown, OutcomeReconciled
from state.journal.store import Commit, StoredEvent
from state.sql import open_store
from tests.unit.spine_kit import ANNA, BORIS, CHAT, VERA, World, a_world, message, press, raise_sum, reply, step
from tests.unit.spine_portal import lost, says

LIST = step("crm.deal.list", {"filter": {"CLOSED": "N"}})
LATER = datetime(2026, 11, 22, tzinfo=UTC)
UNTOLD = {"rebuilt", "mode"}
"""What the two are allowed to differ in: the mode of a turn without a plan is in no event."""


async def conversation(world: World) -> None:
    """Reads, refusals, cards approved, denied, changed and withdrawn, a broken answer, an outcome nobody heard, a choice, no model."""

    async def say(text: str, *answers: Any, actor: Any = ANNA, **body: Any) -> None:
        world.model.will(*answers)
        await world.work(message(text, actor=actor, **body))
        world.clock.advance(timedelta(seconds=7))

    async def decide(*, approve: bool, actor: Any = ANNA) -> None:
        entry = [row.body for row in world.outbox() if row.kind == "card"][-1]
        await world.work(press(entry, approve=approve, actor=actor))
        world.clock.advance(timedelta(seconds=7))

    world.portal.comments = [
        {"ID": str(number), "COMMENT": "звонил клиент " * 20, "ENTITY_ID": "481", "ENTITY_TYPE": "deal"} for number in range(40)
    ]
    await say(
        "мои сделки и комментарии",
        reply(LIST, step("crm.timeline.comment.list", {"filter": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal"}})),
        reply(text="Вот они."),
    )
    await say("создай задачу", "чепуха", reply(step("tasks.task.add", {"fields": {"TITLE": "Позвонить"}})), reply(text="Создана."))
    world.outbox()
    await say("подними сумму сделки 481 до 1 200 000", reply(raise_sum()))
    await decide(approve=True)
    await say("подними сумму сделки 481 до 1 300 000", reply(raise_sum(1_300_000)))
    await decide(approve=False)
    world.outbox()
    await say("удали всё", reply(step("crm.deal.nosuch", {"id": 481})), reply(text="Не вышло."), actor=VERA)
    world.portal.will("crm.deal.list", says(400, {"error": "ACCESS_DENIED", "error_description": "Access denied"}))
    await say("сделки", reply(LIST), reply(text="Портал занят."))
    world.portal.will("tasks.task.add", lost)
    await say("создай задачу Счёт 7", reply(step("tasks.task.add", {"fields": {"TITLE": "Счёт 7"}})))
    world.outbox()
    await say("поручи Анне", reply(step("tasks.task.add", {"fields": {"TITLE": "Отчёт", "RESPONSIBLE_ID": "@user:Анна"}})), actor=BORIS)
    question = world.events("NameAsked")[-1].data
    await say("", actor=BORIS, answers=question["question_id"], option=1, origin="choice")
    world.outbox()
    await say("сделки", ModelClientError("unreachable"), actor=VERA)
    await say("подними сумму сделки 481 до 1 400 000", reply(raise_sum(1_400_000)))
    change = step("card.change", {"card": "w1", "params": {"fields": {"OPPORTUNITY": 1_500_000}}}, last=True)
    await say("нет, полтора миллиона", reply(change))
    await say("нет, не надо", reply(step("card.withdraw", {"card": "w1"}, last=True)))


def told(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Everybody's records, without what may differ; of a refused read the journal has the portal's code, not our sentence for it."""
    found = {user: list(read_records(folder, user)) for user in list_users(folder)}
    for record in (record for records in found.values() for record in records):
        for key in UNTOLD & set(record):
            del record[key]
        for call in record["executed_actions"]:
            if call.get("class") == "R" and call["status"] == "refused":
                assert (call.pop("reason", "portal-refused"), call.pop("code", "ACCESS_DENIED")) == ("portal-refused", "ACCESS_DENIED")
    return found


@pytest.mark.req("S004-43", "S004-44", "S004-45", "S004-46", "S004-47")
async def test_a_rebuilt_log_tells_what_the_lost_one_told(tmp_path: Path) -> None:
    """Input, blocks, requests, answers, state, decisions and times of a whole conversation, for each person."""
    async with a_world(tmp_path) as world:
        await conversation(world)
        world.tools.audit.wait()
        before = told(world.logs)
        counts = rebuild_logs(world.sql, tmp_path / "rebuilt", names={VERA.key: VERA.name, BORIS.key: BORIS.name})
        after = told(tmp_path / "rebuilt")

    assert counts == {user: len(records) for user, records in before.items()}
    assert sum(counts.values()) == 22
    for user, records in before.items():
        for number, (old, new) in enumerate(zip(records, after[user], strict=True)):
            for key in (old | new).keys() - {"trace_id"}:  # which input a record goes back to only its turn tells afterwards
                assert new.get(key) == old.get(key), (user, number, key)
    assert {record["rebuilt"] for user in after for record in read_records(tmp_path / "rebuilt", user)} == {True}


@pytest.mark.parametrize(("verdict", "status"), [("done", "succeeded"), ("not_done", "refused"), ("", "unknown")])
async def test_a_call_that_a_stop_cut_off_ends_as_the_portal_was_found(tmp_path: Path, verdict: Any, status: str) -> None:
    """The decision is told once, with what the look after the restart found; where it found nothing it stays unknown."""
    async with a_world(tmp_path) as world:
        world.model.will(reply(raise_sum()))
        await world.work(message("подними сумму сделки 481 до 1 200 000"))
        await world.work(press([row.body for row in world.outbox() if row.kind == "card"][-1]))
        events = world.sql.read_events(f"session:{CHAT}")
        store = open_store("sqlite://")
        lease = store.acquire(CHAT, "x", LATER, LATER + timedelta(minutes=1))
        assert lease is not None
        for event in events:
            for actor, made in _cut_off(event, verdict):
                store.commit(Commit(stream=event.stream, epoch=lease.epoch, actor=actor, now=LATER, events=[made]))
        told_ = [record for _, record in rebuild_records(store, f"session:{CHAT}", {}) if record["type"] == "decision"]
        store.close()

    assert [(record["outcome"]["status"], record["executed_actions"]) for record in told_] == [
        (status, [{"method": "crm.deal.update", "status": status}])
    ]


def _cut_off(event: StoredEvent, verdict: Any) -> list[tuple[str, Event]]:
    """The event as it would be had the program been killed during the call."""
    if event.type != "CallSucceeded" or "R" in event.data["call_class"]:
        return [(event.actor, type_names[event.type](**event.data))]
    same = {key: event.data[key] for key in ("effect_id", "confirmation_id")}
    place = {key: event.data[key] for key in ("turn_id", "slot", "method", "call_class")}
    unknown: Event = CallOutcomeUnknown(detail=DETAIL, **same, **place)
    looked: Event = OutcomeReconciled(verdict=verdict or "done", detail="", **same)
    return [("system", unknown), *([("system", looked)] if verdict else [])]

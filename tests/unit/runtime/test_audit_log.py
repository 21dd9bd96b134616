"""The audit log of real conversations: every record fits the published schema, old ones load, and its trouble stops no answer."""

import resource
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson
import pytest
from jsonschema import Draft202012Validator

from orchestrator.reports.log_rebuild.rebuild import rebuild_logs
from orchestrator.reports.log_rebuild.verify import verify_logs
from state.audit_log.interaction_log import InteractionLogger, list_users, read_records
from state.clock import SystemClock
from tests.unit.spine_kit import World, a_world, message, press, raise_sum, reply, step
from tests.unit.spine_portal import lost

LATER = datetime(2100, 1, 1, tzinfo=UTC)
ROOT = Path(__file__).parents[3]


@lru_cache
def schema(version: str = "") -> Draft202012Validator:
    """The published description of a record."""
    found = orjson.loads((ROOT / "docs" / f"audit-record{version}.schema.json").read_bytes())
    Draft202012Validator.check_schema(found)
    return Draft202012Validator(found)


def everything(folder: Path) -> Iterator[dict[str, Any]]:
    return (record for user in list_users(folder) for record in read_records(folder, user))


async def talk(world: World) -> None:
    """Reads, a batch, a card approved and one denied, a refusal, an unheard outcome, a broken answer, a failing turn."""
    batch = step("batch", {"cmd": {"a": "crm.deal.get?id=481", "b": "crm.contact.get?id=43"}})
    world.model.will(reply(step("crm.deal.list", {"filter": {"CLOSED": "N"}}), batch, step("crm.deal.nosuch")), reply())
    await world.work(message("мои сделки"))
    for approve in (True, False):
        world.model.will("чепуха", reply(raise_sum(1_200_000 + approve)))
        await world.work(message(f"подними сумму сделки 481 до {1_200_000 + approve}"))
        await world.work(press([row.body for row in world.outbox() if row.kind == "card"][-1], approve=approve))
    world.portal.will("tasks.task.add", lost)
    world.model.will(reply(step("tasks.task.add", {"fields": {"TITLE": "Счёт"}})))
    await world.work(message("создай задачу"))
    world.model.will(RuntimeError("a mistake of ours"))
    await world.work(message("сделки"))


@pytest.mark.slow
@pytest.mark.req("S004-7", "S004-43", "S004-44", "S004-45", "S004-46", "S004-47", "S004-53")
@pytest.mark.parametrize("mode", ["full", "shadow"])
async def test_every_record_of_a_conversation_fits_the_schema(tmp_path: Path, mode: Any) -> None:
    """Whatever came up in it, and in a log that was written anew; and the check finds nothing in either."""
    async with a_world(tmp_path, mode=mode) as world:
        if mode == "full":
            await talk(world)
        else:
            world.model.will(reply(raise_sum()))
            await world.work(message("подними сумму сделки 481 до 1 200 000"))
        world.tools.audit.wait()
        rebuild_logs(world.sql, tmp_path / "rebuilt")
        for folder in (world.logs, tmp_path / "rebuilt"):
            records = list(everything(folder))
            assert [error.message for record in records for error in schema().iter_errors(record)] == []
            assert [one for one in verify_logs(world.sql, folder, now=LATER) if one.kind != "note"] == []
    kinds = {record["type"] for record in records}
    assert kinds == ({"iteration", "decision", "trouble"} if mode == "full" else {"iteration"})
    statuses = {call["status"] for record in records for call in record.get("executed_actions", ())}
    assert statuses >= ({"succeeded", "refused", "waiting", "unknown"} if mode == "full" else {"planned"})


def test_records_of_version_1_still_load_and_fit_theirs(tmp_path: Path) -> None:
    """Each kind of it; a new record follows them, and neither schema takes the other's records."""
    shutil.copy(ROOT / "tests" / "corpus" / "audit_v1.jsonl", tmp_path / "tg%3a1007.jsonl")
    InteractionLogger(tmp_path, clock=SystemClock()).record(
        "tg:1007", {"v": 2, "type": "trouble", "session": "s", "turn_id": "t", "errors": ["x"]}
    )
    *old, new = everything(tmp_path)
    assert {record["type"] for record in old} == {"iteration", "decision", "trouble"}
    assert all(schema(".v1").is_valid(record) and not schema().is_valid(record) for record in old)
    assert schema().is_valid(new)
    assert not schema(".v1").is_valid(new)


@pytest.mark.req("S004-52")
@pytest.mark.parametrize("trouble", ["no descriptor left", "no folder"])
async def test_the_answer_goes_out_whatever_the_log_suffers(tmp_path: Path, trouble: str, caplog: pytest.LogCaptureFixture) -> None:
    """EMFILE and a file where the folder should be: the person gets the answer, the program's log the trouble."""
    async with a_world(tmp_path) as world:
        world.model.will(reply(text="раз"), reply(text="два"))
        if trouble == "no folder":
            world.logs.write_text("")
        else:
            await world.work(message("привет"))
        world.outbox()
        session = await world.session(owner="one")
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        if trouble != "no folder":
            resource.setrlimit(resource.RLIMIT_NOFILE, (3, before[1]))
        try:
            await world.turn(session, message("и снова"))
            world.orchestrator.tools.audit.wait()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
        [row] = world.outbox()
        world.model.script.clear()

    assert row.body["parts"][0]["text"] in {"раз", "два"}
    assert "an interaction was not logged" in caplog.text

"""One decided call becomes one concrete call; what is known of it comes back, and nothing of the network is raised."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from bitrix.client.client import BitrixClient
from bitrix.limits.limiter import Limiter
from orchestrator.gate.call.effect import Call
from orchestrator.gate.call.ports import Performer, Rejected, Succeeded, Unknown
from orchestrator.gate.normalize.normalize import normalize
from orchestrator.performers import bitrix as performers
from orchestrator.performers.bitrix import call_bitrix
from tests.unit.spine_kit import ANNA, VERA, World, effect
from tests.unit.spine_portal import WEBHOOK, Fault, Portal, cut, html, lost, says, unreachable

LIMIT = says(503, {"error": "QUERY_LIMIT_EXCEEDED", "error_description": "Too many requests"})


@pytest.fixture
def performer(world: World) -> Performer:
    """The performer of the world at hand."""
    return world.gate.deps.performers["bitrix"]


def made(world: World, method: str, params: dict[str, Any], actor: Any = VERA) -> Call:
    call = normalize(effect(method, params), catalogue=world.gate.deps.catalogue, portal="p", actor=actor, effect_id="e1")
    assert isinstance(call, Call), call
    return call


TASK = ("tasks.task.add", {"fields": {"TITLE": "Позвонить"}})


@pytest.mark.req("S004-23", "S004-36", "S004-X8")
@pytest.mark.parametrize(
    ("faults", "kind", "sent", "made_times"),
    [
        ([], Succeeded, 1, 1),
        ([lost], Unknown, 1, 1),
        ([cut], Unknown, 1, 0),
        ([html], Unknown, 1, 0),
        ([says(500, {"error": "INTERNAL"})], Unknown, 1, 0),
        ([says(200, {"nonsense": 1})], Unknown, 1, 0),
        ([says(200, {"result": None})], Unknown, 1, 0),
        ([says(200, {"result": True})], Unknown, 1, 0),
        ([says(200, {"result": []})], Unknown, 1, 0),
        ([says(200, {"result": "8029abc"})], Unknown, 1, 0),
        ([says(400, {"error": "ERROR_CORE", "error_description": "нет"})], Rejected, 1, 0),
        ([unreachable] * 3, Rejected, 3, 0),
        ([unreachable], Succeeded, 2, 1),
        ([LIMIT], Succeeded, 2, 1),
    ],
)
async def test_a_write_is_sent_again_only_after_proof(
    world: World, performer: Performer, faults: list[Fault], kind: type, sent: int, made_times: int
) -> None:
    """Refused connection and full bucket prove that nothing happened; everything else after sending is said as it is."""
    world.portal.will("tasks.task.add", *faults)
    found = await performer.execute(made(world, *TASK))
    assert isinstance(found, kind)
    assert len([method for method, _ in world.portal.requests if method == "tasks.task.add"]) == sent
    assert len(world.portal.ledger) == made_times


async def test_a_refusal_carries_the_words_of_the_portal(world: World, performer: Performer) -> None:
    """Code and description, without the address."""
    world.portal.will("tasks.task.add", says(400, {"error": "E1", "error_description": f"см. {WEBHOOK} там"}))
    found = await performer.execute(made(world, *TASK))
    assert isinstance(found, Rejected)
    assert found.code == "E1"
    assert "topsecret" not in found.detail
    assert found.sent


async def test_a_write_that_never_left_says_so(world: World, performer: Performer) -> None:
    """Not sent is told apart from refused."""
    world.portal.will("tasks.task.add", *[unreachable] * 3)
    found = await performer.execute(made(world, *TASK))
    assert isinstance(found, Rejected)
    assert (found.sent, found.code) == (False, "not_sent")


async def test_a_write_is_given_up_after_five_seconds(world: World) -> None:
    """A queue at the portal's limit does not send a write into a world that has moved on."""
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    clock = [0.0]

    def now() -> float:
        clock[0] += 2.0
        return clock[0]

    portal = Portal()
    portal.will("tasks.task.add", *[unreachable] * 9)
    async with BitrixClient(
        WEBHOOK, limiter=Limiter.create_unlimited(clock=now, sleep=sleep), transport=httpx.MockTransport(portal)
    ) as client:
        found = await performers.BitrixPerformer(client, world.gate.deps.records).execute(made(world, *TASK))
    assert isinstance(found, Rejected)
    assert not found.sent
    assert portal.ledger == []
    assert len(portal.requests) < 3


async def test_a_list_is_read_to_its_end(world: World, performer: Performer) -> None:
    """Rows and total come from all pages; a list with its own `start` is read as asked."""
    found = await performer.execute(made(world, "crm.deal.list", {}))
    assert isinstance(found, Succeeded)
    assert (len(found.result), found.total, found.entity) == (3, 3, "deal")
    assert world.portal.requests[-1][1]["start"] == 0
    one = await performer.execute(made(world, "crm.deal.list", {"start": 50}))
    assert isinstance(one, Succeeded)
    assert world.portal.requests[-1][1]["start"] == 50


@pytest.mark.req("S004-26", "S004-71", "S004-X11")
@pytest.mark.parametrize(
    ("answer", "kind", "statuses"),
    [
        ({"result": {"a": 1, "b": True}, "result_error": []}, Succeeded, ["success", "success"]),
        ({"result": {"a": 1}, "result_error": {"b": {"error": "E", "error_description": "нет"}}}, Succeeded, ["success", "error"]),
        ({"result": [], "result_error": {"a": {"error": "E"}, "b": {"error": "E"}}}, Rejected, ["error", "error"]),
        ({"result": [], "result_error": []}, Unknown, []),
        ({"result": [], "result_error": {"b": {"error": "E"}}}, Unknown, []),
        ({"result": {"a": 1}, "result_error": []}, Succeeded, ["success", "unknown"]),
    ],
)
async def test_a_batch_is_read_command_by_command(world: World, performer: Performer, answer: Any, kind: type, statuses: list[str]) -> None:
    """HTTP 200 proves nothing: each command has its own word, and one that is not mentioned is unknown."""
    world.portal.will("batch", says(200, {"result": answer}))
    cmd = {"a": "tasks.task.add?fields[TITLE]=A&fields[RESPONSIBLE_ID]=7", "b": "crm.deal.update?id=481&fields[TITLE]=x"}
    found = await performer.execute(made(world, "batch", {"cmd": cmd}))
    assert isinstance(found, kind)
    assert [item.status for item in getattr(found, "commands", ())] == statuses
    if isinstance(found, Rejected):
        assert found.detail == "a tasks.task.add: E; b crm.deal.update: E"
    if isinstance(found, Unknown):  # no command is known to be done, and one may be: nobody goes on from that, and it is looked at later
        assert found.detail.startswith("a tasks.task.add: unknown; b crm.deal.update: ")


async def test_a_halted_batch_says_what_did_not_run(world: World, performer: Performer) -> None:
    """After the error come commands that were never tried."""
    cmd = {"a": "crm.deal.update?id=999&fields[TITLE]=x", "b": "crm.deal.update?id=481&fields[TITLE]=y"}
    found = await performer.execute(made(world, "batch", {"cmd": cmd, "halt": 1}))
    assert isinstance(found, Rejected)
    assert found.detail.endswith("b crm.deal.update: not_run")
    assert world.portal.ledger == []


async def test_what_a_batch_changed_comes_from_what_it_did(world: World, performer: Performer) -> None:
    """Only commands that succeeded move the current objects."""
    cmd = {"a": "crm.deal.update?id=481&fields[TITLE]=x", "b": "crm.deal.update?id=999&fields[TITLE]=y"}
    found = await performer.execute(made(world, "batch", {"cmd": cmd}))
    assert isinstance(found, Succeeded)
    assert found.changes.objects == {"current_deal_id": 481}
    assert found.changes.done == "crm.deal.update deal 481"


@pytest.mark.req("S004-23", "S004-40")
async def test_the_seeds_call_bitrix(world: World) -> None:
    """One call, its result; the HTTP verb has no meaning: it is always a POST."""
    assert (await call_bitrix(world.client, "crm.deal.get", {"id": 481}))["TITLE"] == "Ромашка"
    assert (await call_bitrix(world.client, "crm.deal.get", {"id": 481}, "GET"))["TITLE"] == "Ромашка"


async def test_text_that_cannot_be_stored_does_not_lose_the_answer(world: World) -> None:
    """A NUL or a number beyond 2**53 in a record of the portal: the read succeeds and is journalled."""
    world.portal.records["deal", 481]["COMMENTS"] = "a\x00b"
    world.portal.records["deal", 481]["UF_BIG"] = 2**60
    session = await world.session()
    found = await world.submit(session, effect("crm.deal.get", {"id": 481}), actor=ANNA)
    assert found.status == "succeeded"  # type: ignore[union-attr]
    changed = await world.submit(session, effect("crm.deal.update", {"id": 481, "fields": {"COMMENTS": "x"}}, slot="t1/1/2"), actor=ANNA)
    assert changed.status == "succeeded"  # type: ignore[union-attr]
    assert isinstance(world.logs, Path)


@pytest.mark.parametrize(("answer", "status"), [(9001, "success"), (None, "unknown"), (True, "unknown"), ("", "unknown")])
async def test_a_command_that_creates_a_record_is_done_only_if_the_answer_has_its_number(
    world: World, performer: Performer, answer: object, status: str
) -> None:
    """A batch answers per command, so a command without a number has an outcome that nobody knows."""
    call = made(world, "batch", {"cmd": {"a": "crm.deal.add?fields[TITLE]=x", "b": "crm.deal.update?id=481&fields[TITLE]=y"}})
    world.portal.will("batch", says(200, {"result": {"result": {"a": answer, "b": True}, "result_error": []}}))
    found = await performer.execute(call)
    assert isinstance(found, Succeeded)
    assert [report.status for report in found.commands] == [status, "success"]

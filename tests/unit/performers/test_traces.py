"""Adds that carry no mark are looked for by owner, text and time; what is found is a hint, and nothing found proves nothing."""

from datetime import timedelta
from typing import Any

import pytest

from orchestrator.gate.call.effect import Call
from orchestrator.gate.execute.recovery import SETTLED
from orchestrator.gate.normalize.normalize import normalize
from orchestrator.performers.reconciliation import find_traces
from tests.unit.spine_kit import NOW, VERA, World, effect
from tests.unit.spine_portal import cut, lost, says

COMMENT = ("crm.timeline.comment.add", {"fields": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "COMMENT": "Звонил  клиент"}})
TODO = ("crm.activity.todo.add", {"ownerTypeId": 2, "ownerId": 481, "deadline": "2026-12-01T10:00:00+03:00", "title": "Позвонить"})
BARE = ("crm.activity.todo.add", {"ownerTypeId": 2, "ownerId": 481, "deadline": "2026-12-01T10:00:00+03:00"})
TASK = ("tasks.task.add", {"fields": {"TITLE": "Позвонить", "RESPONSIBLE_ID": 7}})
LISTS = {COMMENT[0]: "crm.timeline.comment.list", TODO[0]: "crm.activity.list", TASK[0]: "tasks.task.list"}


def at(**shift: float) -> str:
    """A moment as the portal writes it."""
    return (NOW + timedelta(**shift)).isoformat()


SEEN: dict[str, dict[str, Any]] = {
    COMMENT[0]: {"ID": "77", "COMMENT": "Звонил клиент", "CREATED": at(seconds=3), "ENTITY_ID": "481"},
    TODO[0]: {"ID": "77", "SUBJECT": "Позвонить", "CREATED": at(seconds=3), "OWNER_ID": "481", "OWNER_TYPE_ID": "2"},
    TASK[0]: {"id": "77", "title": "Позвонить", "responsibleId": "7", "createdDate": at(seconds=3)},
}


def made(world: World, what: tuple[str, dict[str, Any]]) -> Call:
    """An add as it was sent."""
    call = normalize(effect(*what), catalogue=world.gate.deps.catalogue, portal="p", actor=VERA, effect_id="e1")
    assert isinstance(call, Call), call
    return call


def listed(method: str, *rows: Any, ahead: timedelta = timedelta(0)) -> Any:
    """Rows as that list gives them, a minute after the call, from a portal whose clock is `ahead` of ours."""
    moment = (NOW + timedelta(minutes=1) + ahead).isoformat()
    boxed = {"tasks": list(rows)} if method == TASK[0] else list(rows)
    return says(200, {"result": boxed, "time": {"date_start": moment, "date_finish": moment}})


@pytest.mark.parametrize("what", [COMMENT, TODO, TASK])
@pytest.mark.parametrize(
    ("other", "found"),
    [
        ({}, True),
        ({"when": at(minutes=1.9)}, True),
        ({"when": at(seconds=-20)}, True),
        ({"when": at(minutes=-1)}, False),
        ({"when": at(minutes=3)}, False),
        ({"when": "yesterday"}, False),
        ({"when": "2026-11-21T15:00:03"}, False),
        ({"text": "Другое"}, False),
    ],
)
async def test_the_same_text_from_that_very_time(
    world: World, what: tuple[str, dict[str, Any]], other: dict[str, str], *, found: bool
) -> None:
    """Everything is compared here, since a filter may have been dropped."""
    texts = {name: other["text"] for name in ("COMMENT", "SUBJECT", "title") if "text" in other}
    times = {name: other["when"] for name in ("CREATED", "createdDate") if "when" in other}
    row = {name: {**texts, **times}.get(name, value) for name, value in SEEN[what[0]].items()}
    world.clock.advance(timedelta(minutes=1))
    world.portal.will(LISTS[what[0]], listed(what[0], row))
    assert await find_traces(made(world, what), NOW, world.client) == ("probably done: found 77" if found else "")


@pytest.mark.parametrize("ahead", [timedelta(minutes=10), timedelta(minutes=-10)])
@pytest.mark.parametrize("what", [COMMENT, TODO, TASK])
async def test_a_portal_whose_clock_is_wrong(world: World, what: tuple[str, dict[str, Any]], ahead: timedelta) -> None:
    """Ours is found by the portal's own clock; what somebody wrote minutes before or after is not, though it bears our clock's very time."""
    world.clock.advance(timedelta(minutes=1))
    stamp = "createdDate" if what is TASK else "CREATED"
    ours, theirs = SEEN[what[0]] | {stamp: at(seconds=3 + ahead.total_seconds())}, SEEN[what[0]] | {"ID": "5", "id": "5"}
    world.portal.will(LISTS[what[0]], listed(what[0], theirs, ours, ahead=ahead), listed(what[0], theirs, ahead=ahead))
    assert await find_traces(made(world, what), NOW, world.client) == "probably done: found 77"
    assert await find_traces(made(world, what), NOW, world.client) == ""


@pytest.mark.parametrize("time", [{}, {"date_finish": "soon"}, {"date_start": "2026-11-21T15:00:03"}])
async def test_a_portal_that_does_not_say_the_time(world: World, time: dict[str, str]) -> None:
    """Then nothing can be said of when something was written."""
    world.portal.will(LISTS[COMMENT[0]], says(200, {"result": [SEEN[COMMENT[0]]], "time": time}))
    assert await find_traces(made(world, COMMENT), NOW, world.client) == ""


@pytest.mark.parametrize("answer", ["text", None, {}, {"tasks": "x"}, [None, 5, {"ID": None}], True])
@pytest.mark.parametrize("what", [COMMENT, TODO, TASK])
async def test_an_odd_answer_shows_nothing(world: World, what: tuple[str, dict[str, Any]], answer: Any) -> None:
    """And breaks nothing."""
    world.portal.will(LISTS[what[0]], says(200, {"result": answer}))
    assert await find_traces(made(world, what), NOW, world.client) == ""


async def test_what_leaves_no_trace_is_not_looked_for(world: World) -> None:
    """A plan without words, a change, a record whose owner another command makes."""
    cmd = {"a": "crm.deal.add?fields[TITLE]=x", "b": "crm.timeline.comment.add?fields[ENTITY_ID]=$result[a]&fields[ENTITY_TYPE]=deal&fields[COMMENT]=x"}  # fmt: skip
    for what in (BARE, ("crm.deal.update", {"id": 481, "fields": {"TITLE": "x"}}), ("batch", {"cmd": cmd})):
        assert await find_traces(made(world, what), NOW, world.client) == ""
    assert world.portal.requests == []


async def test_a_command_of_a_batch_is_named(world: World) -> None:
    """Its key stands before what was found."""
    cmd = {"b": "crm.timeline.comment.add?fields[ENTITY_ID]=481&fields[ENTITY_TYPE]=deal&fields[COMMENT]=Звонил клиент"}
    world.portal.will(LISTS[COMMENT[0]], listed(COMMENT[0], SEEN[COMMENT[0]]))
    world.clock.advance(timedelta(minutes=1))
    assert await find_traces(made(world, ("batch", {"cmd": cmd})), NOW, world.client) == "probably done: b: found 77"


@pytest.mark.req("S004-71")
@pytest.mark.parametrize("ahead", [timedelta(0), timedelta(minutes=10), timedelta(minutes=-10)])
@pytest.mark.parametrize("seen", [True, False])
async def test_the_verdict_stays_open_and_the_finding_is_told(world: World, *, seen: bool, ahead: timedelta) -> None:
    """Found or not, and whatever the portal's clock says, nobody but a person says that a comment was written."""
    session = await world.session()
    world.portal.will(COMMENT[0], lost if seen else cut)
    lost_one = await world.submit(session, effect(*COMMENT), actor=VERA)
    assert lost_one.status == "unknown"
    world.clock.advance(SETTLED + timedelta(seconds=1))
    row = await session.find_effect(lost_one.effect_id)
    assert row is not None
    moment = (world.clock.now() + ahead).isoformat()
    mine = SEEN[COMMENT[0]] | {"CREATED": at(seconds=3 + ahead.total_seconds())}
    world.portal.will(LISTS[COMMENT[0]], says(200, {"result": [mine] if seen else [], "time": {"date_finish": moment}}))
    found = await world.gate.reconcile(row, session, announce=lambda _: [])
    assert found.reconciled.verdict == "unclear"
    assert found.reconciled.detail.startswith("probably done: found 77") is seen
    again = await session.find_effect(lost_one.effect_id)
    assert again.status == "unknown"

"""Which record "@current" means: the one that was read or changed last and alone, never a guess."""

from typing import Any

import pytest

from orchestrator.directory.answers import Resolved, Unresolved
from orchestrator.directory.current_records import list_approved_records, list_current, list_numbers_in_hand
from orchestrator.directory.lookup import Lookup
from orchestrator.directory.naming import Naming
from orchestrator.directory.reference import ReferenceContext
from orchestrator.domain.effect import CommandReport
from orchestrator.gate.call.effect import Call
from orchestrator.gate.normalize.normalize import normalize
from orchestrator.performers.state_changes import build_batch_changes, build_changes
from state.model.card import Card
from state.model.session_state import HistoryLine, SessionState
from tests.unit.spine_kit import ANNA, World, effect

ROMASHKA = {"ID": "481", "TITLE": "Ромашка", "CONTACT_ID": "43", "COMPANY_ID": "5"}


def a_call(world: World, method: str, params: dict[str, Any]) -> Call:
    """The normalized call."""
    call = normalize(effect(method, params), catalogue=world.gate.deps.catalogue, portal="p", actor=ANNA, effect_id="e1")
    assert isinstance(call, Call), call
    return call


def talked(*done: tuple[str, dict[str, int | None]], **current: int) -> SessionState:
    """A state with current records, two messages (at 10:00 and 11:00), and what was done at which time."""
    state = SessionState()
    state.agent.objects |= current
    for hour, turn in ((10, "t1"), (11, "t2")):
        state.history.append(HistoryLine.create(role="user", text="…", ts=f"2026-11-21T{hour}:00:00Z", turn_id=turn))
    state.agent.done = [{"timestamp": at, "description": "…", "object_ids": ids} for at, ids in done]
    return state


@pytest.mark.parametrize(
    ("rows", "total", "found"),
    [([ROMASHKA], 1, 481), ([ROMASHKA], None, 481), ([ROMASHKA], 7, None), ([ROMASHKA, {"ID": "482"}], 2, None), ([], 0, None)],
)
async def test_a_list_of_one_row_makes_it_current_and_any_other_list_none(
    world: World, rows: list[dict[str, str]], total: int | None, found: int | None
) -> None:
    """The row of a cut page is one of many, too."""
    changes = build_changes(a_call(world, "crm.deal.list", {"filter": {"TITLE": "Ромашка"}}), rows, total)
    assert changes.objects["current_deal_id"] == found
    assert changes.objects.get("current_contact_id") == (43 if found else None)


@pytest.mark.parametrize(
    ("method", "params", "result", "current"),
    [
        ("crm.lead.get", {"id": 161}, {"ID": "161", "TITLE": "x"}, {"current_lead_id": 161}),
        ("crm.lead.list", {}, [{"ID": "161"}], {"current_lead_id": 161}),
        ("tasks.task.list", {}, {"tasks": [{"id": "8017"}]}, {"current_task_id": 8017}),
        ("crm.item.list", {"entityTypeId": 1}, {"items": [{"id": 161}]}, {"current_lead_id": 161}),
        ("crm.item.list", {"entityTypeId": 177}, {"items": [{"id": 161}]}, {}),
        ("crm.stagehistory.list", {"entityTypeId": 2}, {"items": [{"ID": 9}]}, {}),
    ],
)
async def test_leads_and_rows_of_all_lists_become_current(
    world: World, method: str, params: dict[str, Any], result: Any, current: dict[str, int]
) -> None:
    """A row that is no record of these kinds makes nothing current."""
    assert build_changes(a_call(world, method, params), result, None).objects == current


async def test_a_batch_about_two_deals_leaves_no_current_deal(world: World) -> None:
    """Which of them «её» means, nobody knows."""
    call = a_call(world, "batch", {"cmd": {"a": "crm.deal.get?id=481", "b": "crm.deal.get?id=482"}})
    reports = tuple(CommandReport(key=key, method="crm.deal.get", status="success") for key in ("a", "b"))
    assert build_batch_changes(call, reports, {"a": {"ID": "481"}, "b": {"ID": "482"}}).objects == {"current_deal_id": None}


def test_after_a_turn_that_changed_two_deals_there_is_no_current_one() -> None:
    """Changes of earlier turns do not count, nor those of the last one once this turn has changed a record."""
    both = [("2026-11-21T10:01:00Z", {"current_deal_id": 481}), ("2026-11-21T10:02:00Z", {"current_deal_id": 482})]
    assert list_current(talked(*both, current_deal_id=482)) == {}
    assert list_current(talked(("2026-11-21T09:01:00Z", {"current_deal_id": 481}), both[1], current_deal_id=482)) == {"deal": 482}
    assert list_current(talked(*both, ("2026-11-21T11:01:00Z", {"current_deal_id": 5}), current_deal_id=5)) == {"deal": 5}
    assert list_current(talked(both[0], current_deal_id=482)) == {"deal": 482}, "one was changed and another one read since"


def test_what_was_done_in_the_second_of_its_message_belongs_to_that_turn() -> None:
    """Times are whole seconds: a quick turn changes its records in the one in which it was asked to."""
    for hour in (10, 11):
        both = [(f"2026-11-21T{hour}:00:00Z", {"current_deal_id": number}) for number in (481, 482)]
        assert list_current(talked(*both, current_deal_id=482)) == {}


@pytest.mark.parametrize(
    ("current", "links", "found"),
    [
        ({"current_deal_id": 481, "current_contact_id": 43}, {"deal:481": ["contact:43", "company:5"]}, "deal:481"),
        ({"current_lead_id": 161}, {}, "lead:161"),
        ({"current_deal_id": 481, "current_contact_id": 44}, {"deal:481": ["contact:43"]}, ""),
        ({"current_deal_id": 481, "current_contact_id": 43, "current_company_id": 5}, {}, "deal:481"),
        ({"current_contact_id": 43, "current_company_id": 5}, {}, ""),
        ({"current_task_id": 8017}, {}, ""),
    ],
)
async def test_a_task_is_tied_to_the_only_current_record(world: World, current: dict[str, int], links: dict[str, Any], found: str) -> None:
    """The customer of a current deal is no rival of it; two rivals are a question."""
    state = talked(**current)
    state.agent.objects["links"] = links
    world.portal.records["deal", 481] = ROMASHKA
    reads = world.gate._deps.records
    place = ReferenceContext(
        method="tasks.task.add", params={"fields": {"UF_CRM_TASK": ["@current"]}}, actor=ANNA, state=state, text="поставь задачу по ней"
    )
    answer = await Lookup(reads, Naming(reads), world.clock).resolve("@current", place)  # type: ignore[arg-type]
    assert (answer.target if isinstance(answer, Resolved) else "") == found
    assert isinstance(answer, Resolved | Unresolved)


def test_records_in_hand_are_those_of_open_steps_and_of_the_last_changes() -> None:
    """«Попробуй ещё раз» is about the step that did not run; what was changed before the last two messages is in hand no more."""
    state = talked(("2026-11-21T09:30:00Z", {"current_deal_id": 480}), ("2026-11-21T10:30:00Z", {"current_deal_id": 481}))
    state.agent.next_planned_actions = [
        {"slot": "s", "method": "crm.timeline.comment.add", "params": {"fields": {"ENTITY_ID": 482, "ENTITY_TYPE": "deal"}}, "comment": ""}
    ]
    assert list_numbers_in_hand(state) == {"481", "482"}


@pytest.mark.parametrize(
    ("reason", "in_hand"),
    [
        ({"code": "gate-critical", "args": {"field": "OPPORTUNITY"}}, {"482"}),
        ({"code": "gate-taint-prose", "args": {}}, set()),
        ({"code": "gate-batch-asks", "args": {"reason": "gate-taint-prose"}}, set()),
    ],
)
def test_a_step_that_a_text_of_others_may_have_brought_about_puts_nothing_in_hand(reason: dict[str, Any], in_hand: set[str]) -> None:
    """Neither on a card nor left over: the next turn would take its record for named."""
    state = SessionState()
    state.agent.confirmations = {"c": Card.create(confirmation_id="c", status="requested", params={"id": 482}, reasons=[reason])}
    state.agent.next_planned_actions = [{"slot": "s", "method": "crm.deal.update", "params": {"id": 483}, "prose": True}]
    assert list_numbers_in_hand(state) == in_hand


def _build_card(**other: Any) -> Card:
    """A to-do of deal 412 that Анна asked to move and moved herself, between the two messages."""
    preview = {"record": "activity:1503", "place": "deal:412"}
    people = {"requested_by": "tg:1006", "approved_by": "tg:1006"}
    values = {"confirmation_id": "c", "status": "executed", "executed_at": "2026-11-21T10:30:00Z", "preview": preview, **people, **other}
    return Card.create(**values)


@pytest.mark.parametrize(
    ("other", "found"),
    [
        ({}, {"activity:1503", "deal:412"}),
        ({"preview": {"record": "deal:481"}, "created": "activity:9"}, {"deal:481", "activity:9"}),
        ({"executed_at": "2026-11-21T09:59:00Z"}, set()),
        ({"status": "denied"}, set()),
        ({"status": "refused"}, set()),
        ({"status": "unknown"}, set()),
        ({"approved_by": "tg:1008"}, set()),
        ({"approved_by": ""}, set()),
        ({"requested_by": "tg:1008", "approved_by": "tg:1008"}, set()),
        ({"provenance": {"prose": True}}, set()),
        ({"provenance": {"pasted": True}}, set()),
        ({"reasons": ({"code": "gate-taint-prose"},)}, set()),
        ({"reasons": ({"code": "gate-batch-asks", "args": {"reason": "gate-taint-prose"}},)}, set()),
        ({"reasons": ({"code": "gate-taint-target"},)}, {"activity:1503", "deal:412"}),
        ({"preview": {"record": "deal:412", "items": [{"record": "deal:412"}]}}, set()),
        ({"preview": {"record": "user:8"}}, set()),
    ],
)
def test_what_the_person_has_just_approved_is_spoken_of_without_a_name(other: dict[str, Any], found: set[str]) -> None:
    """Only what they asked for and pressed themselves, alone, since the message before, and not what a text of others led to."""
    state = talked()
    state.agent.confirmations["c"] = _build_card(**other)
    assert list_approved_records(state, "tg:1006") == found
    assert list_current(state) == {}


def test_nothing_is_approved_before_the_first_message() -> None:
    """After /new the conversation begins anew, though the cards stay."""
    state = talked()
    state.agent.confirmations["c"] = _build_card()
    state.history = state.history[1:]
    assert list_approved_records(state, "tg:1006") == frozenset()
    assert list_approved_records(SessionState(), "tg:1006") == list_approved_records(talked(), "") == frozenset()

"""The documented test vectors of writes, by number: 12-19, 23-25, 27."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from tests.contract.sandbox_portal_kit import Caller

DEAL = {"entityTypeId": 2, "id": 410}
CONTACT = {"entityTypeId": 3, "id": 43}


def _refusal(answer: httpx.Response) -> tuple[int, Any, str]:
    body = answer.json()
    return answer.status_code, body["error"], body["error_description"]


async def _deal(portal: Caller, number: int) -> dict[str, Any]:
    return dict(await portal.result("crm.deal.get", {"id": number}))


async def _phones(portal: Caller) -> list[tuple[str, str]]:
    contact = await portal.result("crm.contact.get", {"id": 43})
    return [(phone["ID"], phone["VALUE"]) for phone in contact.get("PHONE", [])]


async def _hears(portal: Caller) -> None:
    """Let an outgoing webhook, whose handler is away, ask for every event of deals."""
    events = ["ONCRMDEALADD", "ONCRMDEALUPDATE", "ONCRMDEALDELETE", "ONCRMDEALMOVETOCATEGORY"]
    await portal.http.post("/sandbox/outgoing", json={"handler": "http://127.0.0.1:9/", "events": events})


async def _events_until(portal: Caller, last: str) -> list[str]:
    """The events sent so far, as soon as the awaited one is among them."""
    async with asyncio.timeout(30):
        while True:
            lines = (await portal.http.get("/sandbox/changes")).json()["changes"]
            events = [line["event"] for line in lines if line["kind"] == "event"]
            if last in events:
                return events
            await asyncio.sleep(0.005)


async def test_vector_12_an_add_never_dedupes_and_drops_unknown_fields(portal: Caller) -> None:
    """Two equal adds make two deals with defaults; a field that does not exist vanishes; a nameless deal is called by its id."""
    fields = {"TITLE": "A", "OPPORTUNITY": 100, "NOPE": 1, "ORIGINATOR_ID": "sdelka", "ORIGIN_ID": "e1"}
    first = await portal.result("crm.deal.add", {"fields": fields})
    second = await portal.result("crm.deal.add", {"fields": fields})
    assert type(first) is int
    assert first != second
    deal = await _deal(portal, first)
    assert (deal["TITLE"], deal["OPPORTUNITY"], deal["CLOSEDATE"]) == ("A", "100.00", "2026-11-28T03:00:00+03:00")
    assert (deal["STAGE_ID"], deal["CATEGORY_ID"], deal["ASSIGNED_BY_ID"], deal["OPENED"]) == ("NEW", "0", "1", "Y")
    assert "NOPE" not in deal
    nameless = await portal.result("crm.deal.add", {"fields": {"OPPORTUNITY": 1}})
    assert str(nameless) in (await _deal(portal, nameless))["TITLE"]
    assert (await portal.call("crm.deal.list", {"filter": {"ORIGINATOR_ID": "sdelka", "ORIGIN_ID": "e1"}}))["total"] == 2


async def test_vector_13_fields_must_be_an_array(portal: Caller) -> None:
    """A string as fields is refused."""
    answer = await portal.send("crm.deal.add", {"fields": "x"})
    assert _refusal(answer) == (400, "", "Parameter 'fields' must be array.")


async def test_vector_14_a_foreign_stage_is_ignored_with_a_success(portal: Caller) -> None:
    """crm.deal.update answers true and leaves stage and funnel."""
    fields = {"STAGE_ID": "C1:NEW", "CATEGORY_ID": 1}
    assert await portal.result("crm.deal.update", {"id": 410, "fields": fields}) is True
    deal = await _deal(portal, 410)
    assert (deal["STAGE_ID"], deal["CATEGORY_ID"]) == ("PREPARATION", "0")


async def test_vector_15_moving_to_another_funnel_is_its_own_event(portal: Caller) -> None:
    """The deal moves, one history row of type 5 appears, and the event is that of a move and not of an update."""
    await _hears(portal)
    moved = await portal.result("crm.item.update", {**DEAL, "fields": {"categoryId": 1, "stageId": "C1:NEW"}})
    assert (moved["item"]["categoryId"], moved["item"]["stageId"]) == (1, "C1:NEW")
    history = await portal.result("crm.stagehistory.list", {"entityTypeId": 2, "filter": {"OWNER_ID": 410}})
    assert [row["TYPE_ID"] for row in history["items"]] == [1, 5]
    assert await _events_until(portal, "ONCRMDEALMOVETOCATEGORY") == ["ONCRMDEALMOVETOCATEGORY"]


async def test_vector_16_a_universal_save_without_a_difference_is_skipped(portal: Caller) -> None:
    """Identical values succeed, leave updatedTime and raise nothing."""
    await _hears(portal)
    before = (await portal.result("crm.item.get", DEAL))["item"]
    assert portal.clock is not None
    portal.clock.move(hours=1)
    after = await portal.result("crm.item.update", {**DEAL, "fields": {"opportunity": 1000000, "title": before["title"]}})
    assert after["item"] == before
    assert (await portal.ledger("crm.item.update"))[0]["applied"] is False
    await portal.result("crm.deal.add", {"fields": {}})
    assert await _events_until(portal, "ONCRMDEALADD") == ["ONCRMDEALADD"]


async def test_vector_17_deleting_twice_says_not_found(portal: Caller) -> None:
    """The old delete gives true, then 400; the universal one gives an empty list."""
    assert await portal.result("crm.deal.delete", {"id": 411}) is True
    assert _refusal(await portal.send("crm.deal.delete", {"id": 411})) == (400, "", "Not found")
    assert await portal.result("crm.item.delete", DEAL) == []
    assert _refusal(await portal.send("crm.item.delete", DEAL))[:2] == (400, "NOT_FOUND")


async def test_vector_18_phones_in_the_old_form(portal: Caller) -> None:
    """An element with only an ID removes the phone; one without ID adds each time."""
    assert [number for number, _ in await _phones(portal)] == ["156", "157"]
    assert await portal.result("crm.contact.update", {"id": 43, "fields": {"PHONE": [{"ID": 156}]}}) is True
    assert [number for number, _ in await _phones(portal)] == ["157"]
    for times in (1, 2):
        new = {"PHONE": [{"VALUE": "+7", "VALUE_TYPE": "WORK"}]}
        assert await portal.result("crm.contact.update", {"id": 43, "fields": new}) is True
        assert [value for _, value in await _phones(portal)].count("+7") == times


@pytest.mark.parametrize(
    ("fm", "changed", "phones"),
    [({"157": {"valueType": "WORK", "value": "+7"}}, False, 2), ([{"typeId": "PHONE", "valueType": "WORK", "value": "+7"}], True, 3)],
)
async def test_vector_19_phones_in_the_universal_form(portal: Caller, fm: Any, changed: bool, phones: int) -> None:  # noqa: FBT001  (a row of the table)
    """An element without typeId succeeds and does nothing; an array adds."""
    before = await _phones(portal)
    assert (await portal.result("crm.item.update", {**CONTACT, "fields": {"fm": fm}}))["item"]["id"] == 43
    after = await _phones(portal)
    assert (after != before, len(after)) == (changed, phones)


async def test_vector_23_a_todo_needs_a_deadline(portal: Caller) -> None:
    """A to-do is answered with its id; no deadline is code 100, a bad one WRONG_DATETIME_FORMAT."""
    owner = {"ownerTypeId": 2, "ownerId": 410, "title": "x"}
    made = await portal.result("crm.activity.todo.add", {**owner, "deadline": "2026-12-01T10:00:00+03:00"})
    assert list(made) == ["id"]
    shown = await portal.result("crm.activity.get", {"id": made["id"]})
    assert (shown["SUBJECT"], shown["DEADLINE"], shown["OWNER_ID"]) == ("x", "2026-12-01T10:00:00+03:00", "410")
    assert _refusal(await portal.send("crm.activity.todo.add", owner))[:2] == (400, "100")
    bad = await portal.send("crm.activity.todo.add", {**owner, "deadline": "soon"})
    assert _refusal(bad)[:2] == (400, "WRONG_DATETIME_FORMAT")


async def test_vector_24_comments_want_lower_case_fields_and_a_text(portal: Caller) -> None:
    """A comment is an int; FIELDS is code 100, an empty text INVALID_ARG_VALUE; a delete gives null."""
    fields = {"ENTITY_ID": 410, "ENTITY_TYPE": "deal", "COMMENT": "hi"}
    number = await portal.result("crm.timeline.comment.add", {"fields": fields})
    assert type(number) is int
    assert _refusal(await portal.send("crm.timeline.comment.add", {"FIELDS": fields}))[:2] == (400, "100")
    empty = await portal.send("crm.timeline.comment.add", {"fields": fields | {"COMMENT": ""}})
    assert _refusal(empty)[:2] == (400, "INVALID_ARG_VALUE")
    gone = await portal.call("crm.timeline.comment.delete", {"id": number})
    assert gone["result"] is None
    assert _refusal(await portal.send("crm.timeline.comment.get", {"id": number}))[0] == 400


async def test_vector_25_a_task_of_the_old_version_is_made_of_strings(portal: Caller) -> None:
    """The new task waits (status 2) without a deadline; no title ends in a <br>, no fields is code 100."""
    task = (await portal.result("tasks.task.add", {"fields": {"TITLE": "t", "RESPONSIBLE_ID": 1}}))["task"]
    assert (task["id"], task["status"], task["deadline"]) == (str(int(task["id"])), "2", None)
    status, code, text = _refusal(await portal.send("tasks.task.add", {"fields": {"RESPONSIBLE_ID": 1}}))
    assert (status, code, text.endswith("<br>")) == (400, "ERROR_CORE", True)
    assert _refusal(await portal.send("tasks.task.add", {}))[:2] == (400, "100")


async def test_vector_27_completing_twice_is_not_allowed(portal: Caller) -> None:
    """The first complete gives the task, the second is refused with the code 0 as text."""
    done = await portal.result("tasks.task.complete", {"taskId": 8017})
    assert (done["task"]["id"], done["task"]["status"]) == ("8017", "5")
    again = await portal.send("tasks.task.complete", {"taskId": 8017})
    assert _refusal(again) == (400, "0", "Action on the task is not allowed")

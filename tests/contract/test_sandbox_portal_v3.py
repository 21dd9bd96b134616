"""REST v3 of the sandbox portal beyond the numbered vectors: lists, selects, writes, batch, what is around the tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.contract.sandbox_portal_kit import Caller, in_process, listener

V3 = "BITRIX_REST_V3_EXCEPTION_"
INVALID = "VALIDATION_REQUESTVALIDATIONEXCEPTION"
NEW = {"title": "t", "creatorId": 1, "responsibleId": 7}
FIRST, COUNT = 8017, 12  # the tasks of the sample firm


async def _ask(portal: Caller, method: str, body: Any) -> httpx.Response:
    return await portal.http.post(f"/rest/api/1/sandbox/{method}", json=body)


def _ids(answer: httpx.Response) -> list[int]:
    items = answer.json()["result"]["items"]
    assert all(list(item) == ["id"] for item in items)
    return [item["id"] for item in items]


LISTS: list[tuple[str, Any, list[int]]] = [
    ("only ids without a select", {}, list(range(FIRST, FIRST + COUNT))),
    ("shorthand for equal", {"filter": [["id", 8018]]}, [8018]),
    ("all of a level", {"filter": [["id", ">", 8018], ["id", "<=", 8020]]}, [8019, 8020]),
    ("not equal and in", {"filter": [["id", "in", [8017, 8018]], ["id", "!=", 8017]]}, [8018]),
    ("between", {"filter": [["id", "between", [8018, 8019]]]}, [8018, 8019]),
    ("a group of or", {"filter": [{"logic": "or", "conditions": [["id", [8017]], ["id", ">=", 8028]]}]}, [8017, 8028]),
    ("newest first, second page", {"order": {"id": "DESC"}, "pagination": {"page": 2, "limit": 2}}, [8026, 8025]),
    ("offset", {"pagination": {"offset": 10}}, [8027, 8028]),
    ("beyond the end", {"pagination": {"page": 9, "limit": 1000}}, []),
]


@pytest.mark.parametrize(("body", "ids"), [row[1:] for row in LISTS], ids=[row[0] for row in LISTS])
async def test_a_list_is_filtered_ordered_and_cut(portal: Caller, body: Any, ids: list[int]) -> None:
    """Triples, groups, order and pages pick the tasks; there is neither total nor next."""
    answer = await _ask(portal, "tasks.task.list", body)
    assert set(answer.json()) == {"result", "time"}
    assert _ids(answer) == ids


REFUSED: list[tuple[str, str, Any, int, str]] = [
    ("a field that is not there", "list", {"filter": [["nope", "=", 1]]}, 400, "UNKNOWNDTOPROPERTYEXCEPTION"),
    ("only the id can be filtered", "list", {"filter": [["title", "=", "x"]]}, 400, INVALID),
    ("no LIKE", "list", {"filter": [["id", "%", 1]]}, 400, "UNKNOWNFILTEROPERATOREXCEPTION"),
    ("a text for a number", "list", {"filter": [["id", "=", "x"]]}, 400, INVALID),
    ("the filter of the old version", "list", {"filter": {">ID": 0}}, 400, "INVALIDFILTEREXCEPTION"),
    ("an order by nothing known", "list", {"order": {"id": "UP"}}, 400, "INVALIDORDEREXCEPTION"),
    ("a limit of words", "list", {"pagination": {"limit": "abc"}}, 400, "INVALIDPAGINATIONEXCEPTION"),
    ("a limit of nothing", "list", {"pagination": {"limit": 0}}, 400, "INVALIDPAGINATIONEXCEPTION"),
    ("a select of words", "list", {"select": "id"}, 400, "INVALIDSELECTEXCEPTION"),
    ("a related field that is not there", "get", {"id": FIRST, "select": ["responsible.stageId"]}, 400, "UNKNOWNDTOPROPERTYEXCEPTION"),
    ("a task that is not there", "get", {"id": 999999}, 400, "ENTITYNOTFOUNDEXCEPTION"),
    ("a task to change that is not there", "update", {"id": 999999, "fields": {"title": "x"}}, 403, "ACCESSDENIEDEXCEPTION"),
    ("a task to delete that is not there", "delete", {"id": 999999}, 403, "ACCESSDENIEDEXCEPTION"),
    ("no fields", "add", {}, 400, INVALID),
    ("no creator", "add", {"fields": {"title": "t", "responsibleId": 7}}, 400, INVALID),
    ("nobody responsible", "add", {"fields": NEW | {"responsibleId": 999}}, 400, INVALID),
    ("a deadline that is no time", "add", {"fields": NEW | {"deadline": "soon"}}, 400, INVALID),
    ("another creator", "update", {"id": FIRST, "fields": {"creatorId": 7}}, 400, INVALID),
    ("an id as text", "update", {"id": str(FIRST), "fields": {"title": "x"}}, 400, INVALID),
    ("a method of no version", "nope", {}, 404, "METHODNOTFOUNDEXCEPTION"),
]


@pytest.mark.parametrize(("verb", "body", "status", "name"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
async def test_a_refusal_has_the_shape_of_v3_and_changes_nothing(portal: Caller, verb: str, body: Any, status: int, name: str) -> None:
    """Code and message stand inside `error`, wrong fields beside them; nothing is written."""
    answer = await _ask(portal, f"tasks.task.{verb}", body)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], bool(error["message"])) == (status, V3 + name, True)
    assert ("validation" in error) is (name == INVALID)
    (line,) = await portal.ledger()
    assert (line["outcome"], line["applied"]) == (V3 + name, False)


async def test_a_task_lives_in_v3_and_shows_in_v2(portal: Caller) -> None:
    """Add, read with related fields, change, delete; both versions see one task; unknown own fields fall away."""
    fields = NEW | {"deadline": "2026-12-01T10:00:00+00:00", "priority": "high", "crmItemIds": ["D_410"], "nope": 1}
    item = (await _ask(portal, "tasks.task.add", {"fields": fields})).json()["result"]["item"]
    assert (item["status"], item["priority"], item["crmItemIds"]) == ("pending", "high", ["D_410"])
    assert item["deadline"] == "2026-12-01T13:00:00+03:00"
    select = ["id", "stageId", "responsible.name", "responsible.email"]
    shown = (await _ask(portal, "tasks.task.get", {"id": item["id"], "select": select})).json()["result"]["item"]
    assert shown == {"id": item["id"], "responsible": {"name": "Борис", "email": shown["responsible"]["email"]}}
    changed = await _ask(portal, "tasks.task.update", {"id": item["id"], "fields": {"title": "u", "deadline": None}})
    assert changed.json()["result"] == {"result": True}
    old = (await portal.result("tasks.task.get", {"taskId": item["id"]}))["task"]
    assert (old["title"], old["deadline"], old["priority"]) == ("u", None, "2")
    assert (await _ask(portal, "tasks.task.delete", {"id": item["id"]})).json()["result"] == {"result": True}
    assert await portal.result("tasks.task.get", {"taskId": item["id"]}) == []


async def test_a_batch_is_all_or_nothing() -> None:
    """Results come in order; the error of one command is the whole answer, and the task of another is gone with its event."""
    async with in_process() as portal, listener() as (url, got):
        add = {"method": "tasks.task.add", "query": {"fields": NEW}}
        update = {"method": "tasks.task.update", "query": {"id": FIRST, "fields": {"title": "changed"}}}
        lost = {"method": "tasks.task.get", "query": {"id": 999999}}
        await portal.http.post("/sandbox/outgoing", json={"handler": url, "events": ["ONTASKADD"]})
        broken = await _ask(portal, "batch", [add, update, lost, add])
        assert (broken.status_code, broken.json()["error"]["code"]) == (400, V3 + "ENTITYNOTFOUNDEXCEPTION")
        assert "result" not in broken.json()
        assert (await portal.result("tasks.task.get", {"taskId": FIRST}))["task"]["title"] != "changed"
        assert (await portal.call("tasks.task.list"))["total"] == COUNT
        lines = await portal.ledger()
        states = {line["key"]: (line["outcome"], line["applied"]) for line in lines if line["http"] == "batch"}
        gone = ("rolled_back", False)
        assert states == {"0": gone, "1": gone, "2": (V3 + "ENTITYNOTFOUNDEXCEPTION", False)}
        feed = (await portal.http.get("/sandbox/changes")).json()["changes"]
        assert [line for line in feed if line["kind"] == "change"] == []
        good = (await _ask(portal, "batch", [add, {"method": "tasks.task.get", "query": {"id": FIRST, "select": ["id"]}}])).json()
        assert good["result"][1] == {"item": {"id": FIRST}}
        made = good["result"][0]["item"]["id"]
        _, first_event = await asyncio.wait_for(got.get(), 30)
        assert f"data%5BFIELDS_AFTER%5D%5BID%5D={made}&" in first_event


BATCHES: list[tuple[str, Callable[[str], Any], str, int, str]] = [
    ("the old form", lambda _: {"cmd": {"a": "tasks.task.get?id=1"}}, "1/sandbox/", 400, "INVALIDSELECTEXCEPTION"),
    ("no command", lambda _: [{"query": {}}], "1/sandbox/", 400, "INVALIDSELECTEXCEPTION"),
    ("an application has no place for its token", lambda _: [], "", 401, "ACCESSDENIEDEXCEPTION"),
]


@pytest.mark.parametrize(("body", "who", "status", "name"), [row[1:] for row in BATCHES], ids=[row[0] for row in BATCHES])
async def test_what_is_no_batch(portal: Caller, body: Callable[[str], Any], who: str, status: int, name: str) -> None:
    """The body must be an array of commands, which leaves no place for an application's token."""
    answer = await portal.http.post(f"/rest/api/{who}batch", json=body(""))
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, V3 + name)


async def test_a_lost_answer_is_asked_for_again(portal: Caller) -> None:
    """The answer is cut after the commit; the repeat under the same key finds the task that was made."""
    await portal.arm(kind="commit_then_drop", method="tasks.task.add")
    headers = {"Idempotency-Key": "after-the-cut"}
    with pytest.raises(httpx.TransportError):
        await portal.http.post("/rest/api/1/sandbox/tasks.task.add", json={"fields": NEW}, headers=headers)
    again = await portal.http.post("/rest/api/1/sandbox/tasks.task.add", json={"fields": NEW}, headers=headers)
    assert (again.headers["idempotent-replayed"], again.json()["result"]["item"]["id"]) == ("true", FIRST + COUNT)
    assert (await portal.call("tasks.task.list"))["total"] == COUNT + 1


async def test_what_stands_around_the_methods(portal: Caller) -> None:
    """Scopes and the OpenAPI name every method, by GET too; a missing scope is 403 in the shape of v3; a method of v3 is unknown to v2."""
    scopes = (await portal.http.get("/rest/api/1/sandbox/rest.scope.list")).json()["result"]["items"]
    assert {"method": "tasks.task.add", "scope": "tasks"} in scopes
    openapi = (await portal.http.get("/rest/api/1/sandbox/documentation")).json()["result"]
    assert {path.strip("/") for path in openapi["paths"]} == {entry["method"] for entry in scopes}
    assert (await portal.call("rest.scope.list"))["error"] == "ERROR_METHOD_NOT_FOUND"
    await portal.arm(kind="403_scope")
    denied = await _ask(portal, "tasks.task.list", {})
    assert (denied.status_code, denied.json()["error"]["code"]) == (403, V3 + "INSUFFICIENTSCOPEEXCEPTION")

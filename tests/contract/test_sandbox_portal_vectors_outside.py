"""The documented test vectors of events, OAuth, REST v3 and faults, by number: 35-40."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import httpx
import pytest

from tests.contract.sandbox_portal_kit import Caller, as_process, in_process, listener

CHANGE = {"id": 410, "fields": {"OPPORTUNITY": 777}}
V3 = "BITRIX_REST_V3_EXCEPTION_"
TASK = {"fields": {"title": "Once", "creatorId": 1, "responsibleId": 7}}


async def _application(portal: Caller, **wanted: Any) -> dict[str, Any]:
    return dict((await portal.http.post("/sandbox/oauth", json=wanted)).json())


async def test_vector_35_only_an_application_binds_events(portal: Caller) -> None:
    """A webhook is 403; an application binds once, sees it, unbinds it; a name that is no event is refused."""
    token = (await _application(portal))["access_token"]
    bound = {"event": "onCrmDealUpdate", "handler": "http://127.0.0.1:9/events"}

    async def ask(method: str, **params: Any) -> httpx.Response:
        return await portal.send(method, {**params, "auth": token}, "/rest/")

    for method in ("event.bind", "event.get", "event.unbind", "events"):
        refused = await portal.send(method, bound)
        assert (method, refused.status_code, refused.json()["error"]) == (method, 403, "WRONG_AUTH_TYPE")
    assert (await ask("event.bind", **bound)).json()["result"] is True
    again = await ask("event.bind", **bound)
    assert (again.status_code, "error" in again.json()) == (400, True)
    listed = (await ask("event.get")).json()["result"]
    assert listed == [{"event": "ONCRMDEALUPDATE", "handler": bound["handler"], "auth_type": "0", "offline": 0}]
    assert (await ask("event.unbind", **bound)).json()["result"] == {"count": 1}
    assert (await ask("event.get")).json()["result"] == []
    unknown = await ask("event.bind", event="X", handler=bound["handler"])
    assert (unknown.status_code, unknown.json()["error"]) == (400, "ERROR_EVENT_NOT_FOUND")


async def test_vector_36_an_event_is_a_bracketed_form() -> None:
    """The POST after an update names event, handler, id, time and the application's token, as a form."""
    async with in_process() as portal, listener() as (url, got):
        pair = await _application(portal)
        bind = {"event": "ONCRMDEALUPDATE", "handler": url, "auth": pair["access_token"]}
        await portal.http.post("/rest/event.bind", data=bind)
        await portal.result("crm.deal.update", CHANGE)
        kind, body = await asyncio.wait_for(got.get(), 30)
        event = dict(parse_qsl(body, strict_parsing=True))
        assert kind == "application/x-www-form-urlencoded"
        assert (event["event"], event["event_handler_id"], event["data[FIELDS][ID]"]) == ("ONCRMDEALUPDATE", "1", "410")
        assert event["ts"] == str(int(portal.portal.now.timestamp())) if portal.portal else False
        named = {"application_token": pair["application_token"], "member_id": pair["member_id"], "domain": "portal.test"}
        assert {name: event[f"auth[{name}]"] for name in named} == named
        assert "auth[refresh_token]" not in event
        mine = await portal.send("profile", {"auth": event["auth[access_token]"]}, "/rest/")
        assert mine.json()["result"]["ID"] == "1"
        assert event["auth[access_token]"] not in str(await portal.ledger())


@pytest.mark.parametrize("verb", ["GET", "POST"])
async def test_vector_37_an_expired_token_is_refreshed_once(portal: Caller, verb: str) -> None:
    """An old token is 401 expired_token; the refresh gives a new pair and spends the old refresh token."""
    pair = await _application(portal, user_id=7, expires_in=60)
    assert portal.clock is not None
    portal.clock.move(seconds=61)
    late = await portal.http.get("/rest/profile", params={"auth": pair["access_token"]})
    assert (late.status_code, late.json()["error"]) == (401, "expired_token")
    client = {"client_id": pair["client_id"], "client_secret": pair["client_secret"]}
    wanted = {"grant_type": "refresh_token", "refresh_token": pair["refresh_token"], **client}

    async def renew(**other: str) -> httpx.Response:
        given = wanted | other
        if verb == "GET":
            return await portal.http.get("/oauth/token/", params=given)
        return await portal.http.post("/oauth/token/", data=given)

    assert (await renew(client_secret="x")).json()["error"] == "invalid_client"
    fresh = (await renew()).json()
    assert fresh["access_token"] != pair["access_token"]
    assert fresh["refresh_token"] != pair["refresh_token"]
    profile = await portal.http.post("/rest/profile", data={"auth": fresh["access_token"]})
    assert profile.json()["result"]["ID"] == "7"
    spent = await renew()
    assert (spent.status_code, spent.json()["error"]) == (400, "invalid_grant")
    assert "access_token" in (await renew(refresh_token=fresh["refresh_token"])).json()


async def test_vector_38_a_v3_task_is_added_once_under_a_key(portal: Caller) -> None:
    """A repeat gives the same id and says so; another body is 422; a bad key is 400; a failure is not stored; a day later it is new."""

    async def add(key: str, body: Any = None, prefix: str = "/rest/api/1/sandbox/") -> httpx.Response:
        return await portal.http.post(f"{prefix}tasks.task.add", json=body or TASK, headers={"Idempotency-Key": key})

    first, again = await add("K"), await add("K")
    assert (first.status_code, first.headers["idempotency-key"], "idempotent-replayed" in first.headers) == (200, "K", False)
    assert (again.status_code, again.headers["idempotent-replayed"], again.json()) == (200, "true", first.json())
    number = first.json()["result"]["item"]["id"]
    assert type(number) is int
    other = await add("K", {"fields": TASK["fields"] | {"title": "Another"}})
    assert (other.status_code, other.json()["error"]["code"]) == (422, V3 + "IDEMPOTENCYKEYREUSEDEXCEPTION")
    for key in ("", "k" * 256, "tab\there"):
        bad = await add(key)
        assert (bad.status_code, bad.json()["error"]["code"]) == (400, V3 + "INVALIDIDEMPOTENCYKEYEXCEPTION")
    assert (await add("failed", {"fields": {}})).status_code == 400
    retried = await add("failed")
    assert (retried.status_code, "idempotent-replayed" in retried.headers) == (200, False)
    colleague = await add("K", prefix="/rest/api/7/sandbox/")
    assert "idempotent-replayed" not in colleague.headers
    token = (await _application(portal))["access_token"]
    application = await add("K", {**TASK, "auth": token}, "/rest/api/")
    assert "idempotent-replayed" not in application.headers
    ids = [answer.json()["result"]["item"]["id"] for answer in (first, retried, colleague, application)]
    assert ids == list(range(number, number + 4))
    assert portal.clock is not None
    portal.clock.move(hours=23, minutes=59)
    assert (await add("K")).json() == first.json()
    portal.clock.move(minutes=1)
    assert (await add("K")).json()["result"]["item"]["id"] == number + 4


async def test_vector_39_v3_reads_json_bodies_only(portal: Caller) -> None:
    """A query is not read, so the id is missing; a form is no JSON; whoever is not known gets one and the same 401."""
    by_query = await portal.http.get("/rest/api/1/sandbox/tasks.task.get?id=8017")
    error = by_query.json()["error"]
    assert (by_query.status_code, error["code"]) == (400, V3 + "VALIDATION_REQUESTVALIDATIONEXCEPTION")
    assert [entry["field"] for entry in error["validation"]] == ["id"]
    for broken in ({"data": {"id": "8017"}}, {"content": b"{broken", "headers": {"Content-Type": "application/json"}}):
        answer = await portal.http.post("/rest/api/1/sandbox/tasks.task.get", **broken)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, V3 + "INVALIDJSONEXCEPTION")
    old = (await _application(portal, expires_in=0))["access_token"]
    strangers: list[tuple[str, dict[str, Any]]] = [
        ("1/wrong/", {}),
        ("99/sandbox/", {}),
        ("", {}),
        ("", {"auth": "x"}),
        ("", {"auth": old}),
    ]
    for who, body in strangers:
        denied = await portal.http.post(f"/rest/api/{who}tasks.task.get", json=body | {"id": 8017})
        assert (denied.status_code, denied.json()["error"]["code"]) == (401, V3 + "ACCESSDENIEDEXCEPTION")


# kind, HTTP status (None: the line is cut), what stands in the answer, whether the write was done
FAULTS: list[tuple[str, int | None, str, bool]] = [
    ("commit_then_drop", None, "", True),
    ("500_before", 500, "INTERNAL_SERVER_ERROR", False),
    ("500_after", 500, "INTERNAL_SERVER_ERROR", True),
    ("504_html", 504, "<html>", True),
    ("302", 302, "", False),
    ("delay", 200, "true", True),
    ("403_scope", 403, "insufficient_scope", False),
    ("no_operating", 200, "true", True),
]


async def test_vector_40_every_fault_mode(tmp_path: Path) -> None:
    """Over a real connection each fault answers as named, is done or not done as named, and stands so in the ledger."""
    async with as_process(tmp_path) as (portal, _):
        for kind, status, text, applied in FAULTS:
            await portal.http.patch("/sandbox/records/deal/410", json={"OPPORTUNITY": 1})
            await portal.http.delete("/sandbox/ledger")
            await portal.arm(kind=kind, seconds=0.05, method="crm.deal.update")
            try:
                answer = await portal.send("crm.deal.update", CHANGE)
            except httpx.TransportError:
                assert (kind, status) == (kind, None)
            else:
                assert (kind, answer.status_code) == (kind, status)
                assert text in answer.text, kind
                assert ("operating" in answer.text) is (status == 200 and kind != "no_operating")
                if status == 302:
                    assert answer.headers["location"] == "https://renamed.example/rest/1/sandbox/crm.deal.update"
            (row,) = await portal.ledger()
            assert (kind, row["applied"], row["fault"], row["status"] is None) == (kind, applied, kind, status is None)
            stored = (await portal.http.get("/sandbox/records/deal/410")).json()["OPPORTUNITY"]
            assert (kind, stored) == (kind, "777.00" if applied else "1.00")
        await portal.arm(kind="no_operating", method="batch")
        inner = await portal.call("batch", {"cmd": {"a": "server.time"}})
        assert "operating" not in str(inner)

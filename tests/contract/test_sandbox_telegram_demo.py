"""The page's side of the Telegram sandbox: deals and calls from the portal, the audit tail, the tour, the supervisor."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.contract.sandbox_telegram_kit import opened

DEAL = {"ID": 481, "TITLE": "Ромашка", "STAGE_ID": "C2:WON", "OPPORTUNITY": "150000.50", "ASSIGNED_BY_ID": "7"}
RECORDS: dict[str, Any] = {
    "deal": {"records": [DEAL, {"ID": "490", "TITLE": "Вектор", "STAGE_ID": "LOSE", "STAGE_SEMANTIC_ID": "F"}]},
    "user": [{"ID": "7", "NAME": "Борис", "LAST_NAME": "Лапин"}],
    "status": {"result": {"1": {"ENTITY_ID": "DEAL_STAGE_2", "STATUS_ID": "C2:WON", "NAME": "Успех", "SEMANTICS": "S"}}},
}


async def test_deals_come_with_names_instead_of_codes(tmp_path: Path) -> None:
    """Stage, owner and sum are readable, newest first, however the portal wraps its records; calls pass through."""
    async with _portal() as portal, opened(tmp_path, portal_url=portal) as kit:
        deals = (await kit.control("/demo/crm"))["deals"]
        calls = (await kit.control("/demo/ledger?after=4"))["calls"]
        config = await kit.control("/demo/config")

    assert [deal["id"] for deal in deals] == [490, 481]
    won = deals[1]
    assert (won["stage"], won["semantics"], won["owner"], won["sum"]) == ("Успех", "S", "Борис Лапин", 150000.5)
    assert (deals[0]["stage"], deals[0]["semantics"], deals[0]["currency"]) == ("", "F", "RUB")
    assert deals[0]["owner"] == "", "an unknown employee is no number on the page"
    assert [(call["seq"], call["told"]["kind"], call["told"]["verb"]) for call in calls] == [(5, "deal", "change")]
    assert (config["portal"], config["audit"], config["supervisor"]) == (True, False, False)


async def test_what_is_missing_or_silent_is_said(tmp_path: Path) -> None:
    """Without an address the answer is a 404 with a sentence; a portal that is down is a 502 with one."""
    async with opened(tmp_path / "bare") as kit:
        bare = [await kit.http.get(path) for path in ("/demo/crm", "/demo/ledger", "/demo/audit")]
        kill = await kit.http.post("/demo/kill")
        audit = await kit.control("/demo/tour")
    async with opened(tmp_path / "down", portal_url="http://127.0.0.1:9", supervisor_url="http://127.0.0.1:9") as kit:
        down = await kit.http.get("/demo/crm")
        killed = await kit.http.post("/demo/kill")
        prepared = await kit.http.post("/demo/prepare", json={"person": 1007})

    assert {answer.status_code for answer in [*bare, kill]} == {404}
    assert bare[0].json()["detail"] == "this sandbox was started without a portal"
    assert down.status_code == 502
    assert json.loads(killed.text) == {"error": "no-supervisor"}
    assert (prepared.status_code, prepared.json()) == (502, {"code": "no-supervisor"})
    assert [stop["id"] for stop in audit["tour"]] == [
        "my-deals",
        "third-of-the-list",
        "count-by",
        "documents",
        "change-sum",
        "ambiguous-name",
        "voice",
        "injection",
        "kill-bot",
        "who-did-it",
        "scenario-lead",
        "scenario-discount",
        "flow-proposal",
        "flow-pipeline",
        "workflow-dossier",
        "workflow-notes",
    ]


async def test_every_step_of_the_tour_is_one_the_page_knows(tmp_path: Path) -> None:
    """A step has one action the page can do; each stop has a title, a description and a person who exists."""
    async with opened(tmp_path) as kit:
        tours = [(await kit.control(f"/demo/tour?language={language}"))["tour"] for language in ("ru", "en")]
        people = {person["telegram_id"] for person in (await kit.control("/sandbox/users"))["users"]}

    assert len(tours[0]) == len(tours[1])
    assert not re.search("[а-яё]", "".join(str([stop["title"], stop["description"]]) for stop in tours[1]))
    for stop in (stop for tour in tours for stop in tour):
        assert isinstance(stop["title"], str), stop
        assert stop["title"], stop
        assert stop["description"], stop
        assert stop["person"] in people, stop
        for step in stop["steps"]:
            assert set(step) <= {"say", "voice", "press", "post", "words", "sum", "note", "tab", "filter"}, step
            assert len(set(step) - {"filter", "words", "sum"}) == 1, step
            assert step.get("press", "approve") in {"approve", "deny", "choice"}, step


async def test_the_audit_tail_survives_whatever_the_files_hold(tmp_path: Path) -> None:
    """Torn, foreign and binary lines are skipped, the newest comes first, words filter, and a missing folder is empty."""
    logs = tmp_path / "logs"
    logs.mkdir()
    record = {"ts": "2026-11-21T10:00:02Z", "input": "подними сумму 481", "approved_by": {"name": "Анна"}}
    call = {"method": "crm.deal.update", "status": "ok"}
    lines = [
        b'{"ts": "2026-11-21T10:00:01Z", "input": "a"}',
        b"\xff\xfe\x00",
        b"[1, 2]",
        json.dumps({**record, "requests": [call, "batch"]}).encode(),
        b'{"ts": "2026-11-21T10:00:03Z", "inp',
    ]
    (logs / "1007.jsonl").write_bytes(b"\n".join(lines))
    (logs / "1008.jsonl").write_bytes(b'{"time": "2026-11-21T10:00:05Z", "user_id": "1008", "message": {"text": "b"}}\n')
    (logs / "1007.jsonl.20261121T090000Z.gz").write_bytes(b"old")
    async with opened(tmp_path / "data", audit_dir=logs) as kit:
        records = (await kit.control("/demo/audit"))["records"]
        found = (await kit.control("/demo/audit?find=СУММУ"))["records"]
    async with opened(tmp_path / "data", audit_dir=tmp_path / "nowhere") as kit:
        nothing = (await kit.control("/demo/audit"))["records"]

    assert [(item["user"], item["text"]) for item in records] == [("1008", "b"), ("1007", "подними сумму 481"), ("1007", "a")]
    assert records[1]["decision"] == {"code": "approved", "by": "Анна"}
    assert [(item["kind"], item["verb"], item["state"]) for item in records[1]["calls"]] == [
        ("deal", "change", "succeeded"),
        ("batch", "run", "other"),
    ]
    assert [item["text"] for item in found] == ["подними сумму 481"]
    assert nothing == []


async def test_the_supervisor_reports_line_by_line(tmp_path: Path) -> None:
    """The page's request reaches the supervisor with its body, and its progress comes back as it was written."""
    async with _portal() as supervisor, opened(tmp_path, supervisor_url=supervisor) as kit:
        answer = await kit.http.post("/demo/kill", json={"person": 1007, "chat_id": 1007})

    assert [json.loads(line) for line in answer.text.splitlines()] == [{"text": "person 1007"}, {"text": "готово"}]


@asynccontextmanager
async def _portal() -> AsyncIterator[str]:
    async def records(request: web.Request) -> web.Response:
        return web.json_response(RECORDS[request.match_info["kind"]])

    async def ledger(request: web.Request) -> web.Response:
        after = int(request.query["after"])
        return web.json_response({"calls": [{"seq": after + 1, "method": "crm.deal.update"}]})

    async def kill(request: web.Request) -> web.StreamResponse:
        given = await request.json()
        answer = web.StreamResponse()
        await answer.prepare(request)
        for text in (f"person {given['person']}", "готово"):
            await answer.write(json.dumps({"text": text}).encode() + b"\n")
        await answer.write_eof()
        return answer

    app = web.Application()
    app.router.add_get("/sandbox/records/{kind}", records)
    app.router.add_get("/sandbox/ledger", ledger)
    app.router.add_post("/demo/kill", kill)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()

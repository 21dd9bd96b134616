"""The sandbox portal's switches for measurements: limits, slowness, counters, another host, bulk deals, a seed."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from sandbox.portal.portal import Portal, Settings
from tests.contract.sandbox_portal_kit import Caller, as_process, in_process

CHANGE = {"id": 410, "fields": {"OPPORTUNITY": 777}}


async def _set(portal: Caller, address: str, **body: Any) -> dict[str, Any]:
    answer = await portal.http.post(f"/sandbox/{address}", json=body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def test_a_bucket_may_begin_hot_and_be_switched(portal: Caller) -> None:
    """At the full level the first call is refused and half a second lets one pass; the level of the portal is told; off lets all pass."""
    assert portal.clock is not None
    shown = await _set(portal, "limits", bucket="2/50", level=50)
    assert (shown["bucket"], shown["level"]) == ("2/50", 50)
    assert [(await portal.send("server.time")).status_code for _ in range(2)] == [503, 503]
    portal.clock.move(seconds=0.5)
    assert [(await portal.send("server.time")).status_code for _ in range(2)] == [200, 503]
    await _set(portal, "limits", bucket="5/250", level=248)
    assert [(await portal.send("server.time")).status_code for _ in range(3)] == [200, 200, 503]
    portal.clock.move(seconds=10)
    assert (await portal.http.get("/sandbox/limits")).json()["level"] == 200
    await _set(portal, "limits", bucket="off")
    assert (await portal.send("server.time")).status_code == 200
    await portal.http.post("/sandbox/limits", json={"bucket": "2/50", "level": 50})
    await portal.http.post("/sandbox/reset")
    assert (await portal.send("server.time")).status_code == 200
    assert (await portal.http.post("/sandbox/limits", json={"bucket": "fast"})).status_code == 422


async def test_the_time_budget_counts_inside_a_batch_for_each_method_and_webhook(portal: Caller) -> None:
    """Commands of a batch spend the budget of their own method, `result_time` shows it, another webhook has its own."""
    await _set(portal, "limits", operating=10, window=60, cost={"crm.deal.update": 4})
    update = "crm.deal.update?id=410&fields[OPPORTUNITY]="
    report = await portal.result("batch", {"cmd": {f"u{n}": f"{update}{n}" for n in range(4)} | {"g": "crm.deal.get?id=410"}})
    spent = {key: times["operating"] for key, times in report["result_time"].items()}
    assert [round(spent[f"u{n}"]) for n in range(3)] == [4, 8, 12]
    assert spent["g"] == 0
    assert report["result_error"] == {
        "u3": {"error": "OPERATION_TIME_LIMIT", "error_description": "Method is blocked due to operation time limit."}
    }
    assert (await portal.send("crm.deal.update", CHANGE)).status_code == 429
    assert (await portal.send("crm.deal.update", CHANGE, "/rest/7/sandbox/")).status_code == 200
    assert (await portal.send("batch", {"cmd": ["server.time"]})).status_code == 200
    stats = (await portal.http.get("/sandbox/stats")).json()
    assert stats["refused_429"] == 2
    assert stats["committed"] == {"crm.deal.update": 4}
    assert portal.clock is not None
    portal.clock.move(seconds=60)
    assert (await portal.send("crm.deal.update", CHANGE)).status_code == 200


async def test_slow_answers_overlap(portal: Caller) -> None:
    """A request takes its own seconds and those of its commands; several wait beside each other, and `time` tells."""
    await _set(portal, "latency", request=0.05, command=0.1)
    commands = {"cmd": {f"k{n}": "server.time" for n in range(10)}}
    started = time.perf_counter()
    answers = await asyncio.gather(*[portal.call("batch", commands) for _ in range(10)])
    took = time.perf_counter() - started
    assert 1.04 < took < 7  # one takes 1.05; ten in a row would take 10.5
    assert answers[0]["result"]["result_time"]["k0"]["duration"] >= 0.1
    assert (await portal.http.post("/sandbox/latency", json={"request": -1})).status_code == 422


async def test_the_counters_tell_requests_refusals_and_writes(portal: Caller) -> None:
    """A batch is one request, its commands count for their methods, a write without effect is not committed."""
    same = "crm.item.update?entityTypeId=2&id=410&fields[opportunity]=1000000"
    await portal.call("batch", {"cmd": [same, "crm.deal.update?id=410&fields[TITLE]=x", "crm.deal.get?id=999999"]})
    await portal.call("crm.nope")
    await _set(portal, "limits", bucket="2/50", level=50)
    await portal.call("crm.deal.update", CHANGE)
    stats = (await portal.http.get("/sandbox/stats")).json()
    assert (stats["requests"], stats["refused_503"], stats["statuses"]) == (3, 1, {"200": 1, "404": 1, "503": 1})
    assert stats["committed"] == {"crm.deal.update": 1}
    assert stats["methods"]["crm.deal.update"] == {"calls": 2, "committed": 1, "refused_503": 1}
    assert stats["methods"]["crm.item.update"]["committed"] == 0
    await portal.http.delete("/sandbox/stats")
    assert (await portal.http.get("/sandbox/stats")).json()["requests"] == 0


@pytest.mark.parametrize("path", ["/rest/1/sandbox/crm.deal.update", "/rest/api/1/sandbox/tasks.task.list?x=1"])
async def test_a_renamed_portal_sends_its_callers_on(portal: Caller, path: str) -> None:
    """Under its old name it answers 302 with the whole address under the new one and runs nothing; under the new one it works."""
    await _set(portal, "rename", host="renamed.test:8080")
    moved = await portal.http.post(path, json=CHANGE)
    assert (moved.status_code, moved.headers["location"]) == (302, f"http://renamed.test:8080{path}")
    assert [(line["status"], line["applied"]) for line in await portal.ledger()] == [(302, False)]
    assert (await portal.http.post(path, json={}, headers={"Host": "renamed.test:8080"})).status_code in {200, 400}
    await _set(portal, "rename", host=None)
    assert (await portal.http.post(path, json=CHANGE)).status_code == 200


async def test_bulk_deals_are_read_by_chained_pages_and_follow_a_change() -> None:
    """A chain of `$result` pages gives every deal once; a changed deal is shown changed though its page was ready before."""
    async with in_process(bulk_deals=300, seed=3) as portal:
        page = "crm.deal.list?select[]=*&select[]=UF_*&order[ID]=ASC&start=-1&filter[>ID]="
        chain = {"p0": f"{page}0"} | {f"p{n}": f"{page}$result[p{n - 1}][49][ID]" for n in range(1, 6)}
        first = await portal.result("batch", {"cmd": chain})
        ids = [int(row["ID"]) for rows in first["result"].values() for row in rows]
        assert len(ids) == 300
        assert ids == sorted(set(ids))
        last = ids[-1]
        await portal.result("crm.deal.update", {"id": last, "fields": {"OPPORTUNITY": 12345, "COMMENTS": "после"}})
        second = await portal.result("batch", {"cmd": chain})
        pairs = [(a, b) for key in chain for a, b in zip(first["result"][key], second["result"][key], strict=True) if a != b]
        assert [(b["ID"], b["OPPORTUNITY"], b["COMMENTS"]) for _, b in pairs] == [(str(last), "12345.00", "после")]
        assert pairs[0][1] == await portal.result("crm.deal.get", {"id": last})
        await portal.result("crm.deal.delete", {"id": last})
        gone = await portal.result(
            "crm.deal.list", {"select": ["*", "UF_*"], "filter": {">ID": last - 2}, "order": {"ID": "ASC"}, "start": -1}
        )
        assert [int(row["ID"]) for row in gone][:1] == [last - 1]
        assert last not in {int(row["ID"]) for row in gone}


def test_the_seed_decides_the_bulk_deals() -> None:
    """The same seed gives the same sums, another one others."""
    sums = []
    for seed in (1, 1, 2):
        portal = Portal(Settings(bulk_deals=20, seed=seed))
        sums.append([row["OPPORTUNITY"] for row in portal.store.walk("deal")][-20:])
        portal.close()
    assert sums[0] == sums[1] != sums[2]


async def test_a_folder_keeps_everything_over_a_restart(tmp_path: Path) -> None:
    """After a stop and a start with the same folder records, bulk deals and answers under a key are those of before."""
    more = ("--bulk-deals", "30", "--seed", "5")
    task = {"json": {"fields": {"title": "t", "creatorId": 1, "responsibleId": 7}}, "headers": {"Idempotency-Key": "K"}}
    async with as_process(tmp_path, *more) as (portal, process):
        number = await portal.result("crm.deal.add", {"fields": {"TITLE": "Перед остановкой"}})
        made = await portal.http.post("/rest/api/1/sandbox/tasks.task.add", **task)  # type: ignore[arg-type]
        before = (await portal.http.get("/sandbox/records/deal")).json()
        process.terminate()
        await process.wait()
    async with as_process(tmp_path, *more) as (again, _):
        assert (await again.http.get("/sandbox/records/deal")).json() == before
        assert before[-1]["ID"] == str(number)
        repeated: httpx.Response = await again.http.post("/rest/api/1/sandbox/tasks.task.add", **task)  # type: ignore[arg-type]
        assert (repeated.headers["idempotent-replayed"], repeated.json()) == ("true", made.json())

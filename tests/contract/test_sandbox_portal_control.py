"""The sandbox portal's switches for measurements: its limits of requests and of time."""

from __future__ import annotations

from typing import Any

from tests.contract.sandbox_portal_kit import Caller

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

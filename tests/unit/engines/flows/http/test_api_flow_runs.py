"""Runs of flows over HTTP: starting, polling, looking, controlling, each only for callers who may."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from engines.flows.http.run_events import FlowHistory
from orchestrator.sessions import session as sessions
from tests.unit.bot.http_api.api_kit import an_api
from tests.unit.bot.http_api.chat_kit import error_of
from tests.unit.engines.flows.flow_kit import flow, step
from tests.unit.engines.flows.http.flows_kit import FLOWS, FlowApi, a_running_flow_api
from tests.unit.engines.flows.test_checks import mend
from tests.unit.runs.runs_kit import steps

pytestmark = pytest.mark.req("S002-X3")

PRICES = {"budget": {"currency": "RUB", "prices": {"gpt-5-thinking": {"input": 1000, "output": 3000}}}}


async def publish(api: FlowApi, *steps: Any, **fields: Any) -> dict[str, Any]:
    """A published flow "plan" of these steps with the agent "writer"."""
    await api.hire()
    return await api.publish(await api.create(flow(*(steps or (step("one", success="two"), step("two"))), **fields)))


async def begin(api: FlowApi, flow_id: str = "plan", caller: str = "site", **body: Any) -> str:
    answer = await api.post(f"/api/flows/{flow_id}/start", body, caller)
    assert answer.status_code == 202, answer.text
    assert answer.headers["location"] == f"/api/flows/{answer.json()['sessionId']}"
    return str(answer.json()["sessionId"])


async def follow(api: FlowApi, session: str, *until_status: str) -> list[dict[str, Any]]:
    """Every answer of a client that polls until the run is over or has that status, as the seed's client does."""
    ends = until_status or ("COMPLETED", "FAILED", "ABORTED", "CANCELLED")
    answers: list[dict[str, Any]] = []
    seen: dict[str, Any] = {"sinceEventId": 0}
    while not answers or answers[-1]["status"] not in ends:
        answer = await api.get(f"/api/flows/{session}", "site", timeout=10, **seen)
        assert answer.status_code == 200, answer.text
        answers.append(answer.json())
        seen = {"sinceEventId": answers[-1]["lastEventId"], "stateVersion": answers[-1]["stateVersion"]}
    return answers


@pytest.mark.req("S002-X5", "S002-41")
async def test_the_seed_s_flow_is_started_and_polled_to_its_result(tmp_path: Path) -> None:
    """The mended sample, its agents by UUID: every event comes once, and at the end the result."""
    async with a_running_flow_api(tmp_path, PRICES) as (api, world):
        sample = mend()
        for one in sample["steps"]:
            hired = await api.hire(f"a{one['agentVersionId'][0]}")
            one["agentVersionId"] = hired["id"]
        await api.publish(await api.create(sample))
        world.model.will("требования", '{"draft": "План", "summary": "Коротко"}', '{"recommendations": ["Раз"]}')
        session = await begin(api, "solution-workshop", parameters={"problemStatement": "Склад"}, sharedContext={"канал": "сайт"})
        answers = await follow(api, session)
        events = [event for answer in answers for event in answer["events"]]
        assert [event["type"] for event in events if event["type"].startswith("FLOW")] == ["FLOW_STARTED", "FLOW_COMPLETED"]
        done = [event["stepId"] for event in events if event["type"] == "STEP_COMPLETED"]
        assert done == ["gather_requirements", "generate_solution", "review_solution"]
        assert len({event["eventId"] for event in events}) == len(events)
        last = answers[-1]
        assert (last["status"], last["result"]) == (
            "COMPLETED",
            {"payload": {"solution": "План", "nextActions": ["Раз"]}, "summary": {"steps.generate_solution.output.summary": "Коротко"}},
        )
        assert {one["id"]: one["status"] for one in last["steps"]}["abort_flow"] == "SKIPPED"
        assert json.loads(world.model.prompts[0][-1]["content"]) == {
            "context": {"канал": "сайт"},
            "parameters": {"problemStatement": "Склад"},
        }
        quiet = await api.get(f"/api/flows/{session}", "site", sinceEventId=last["lastEventId"], stateVersion=last["stateVersion"])
        assert (quiet.status_code, quiet.content) == (204, b"")
        whole = (await api.get(f"/api/flows/{session}/snapshot", "site")).json()
        assert (whole["parameters"], whole["sharedContext"]) == ({"problemStatement": "Склад"}, {"канал": "сайт"})
        [made] = next(one["executions"] for one in whole["steps"] if one["id"] == "generate_solution")
        assert (made["output"]["draft"], made["visit"], made["attempt"], made["status"]) == ("План", 1, 1, "COMPLETED")
        assert {one["id"]: [entry["version"] for entry in one["versions"]] for one in whole["channels"]} == {
            "context": [1],
            "decision-log": [1],
        }
        assert whole["definition"]["document"]["flowId"] == "solution-workshop"
        assert whole["definition"]["id"] in (await api.get(FLOWS)).text


async def test_a_poll_wakes_with_the_news_and_does_nothing_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is answered within a second of what happens, and reads no event again while nothing does."""
    async with a_running_flow_api(tmp_path) as (api, world):
        await publish(api, step("one"))
        world.model.gate = answered = asyncio.Event()
        monkeypatch.setattr(sessions, "BUFFER_SECONDS", 0.05)
        world.model.will("раз")
        session = await begin(api)
        seen = (await follow(api, session, "RUNNING"))[-1]
        assert [one["status"] for one in seen["steps"]] == ["RUNNING"]
        asked = {"sinceEventId": seen["lastEventId"], "stateVersion": seen["stateVersion"]}
        assert (await api.get(f"/api/flows/{session}", "site", timeout=0, **asked)).status_code == 204
        added: list[int] = []
        add = FlowHistory.add
        monkeypatch.setattr(FlowHistory, "add", lambda self, event: added.append(event.seq) or add(self, event))  # type: ignore[func-returns-value]
        waiting = asyncio.ensure_future(api.get(f"/api/flows/{session}", "site", timeout=20, **asked))
        await asyncio.sleep(1.2)
        assert not waiting.done()
        assert len(added) == len(set(added))
        begun = time.monotonic()
        answered.set()
        answer = await waiting
        assert (answer.status_code, time.monotonic() - begun < 15) == (200, True)
        assert "STEP_COMPLETED" in [event["type"] for event in answer.json()["events"]]


async def test_who_sees_what_was_said(tmp_path: Path) -> None:
    """The owner and an administrator see words; a lead where it stands; another manager not even that it exists."""
    async with a_running_flow_api(tmp_path) as (api, world):
        await publish(api, step("one"), outputs={"resultPayload": {"text": "$steps.one.output.content"}})
        world.model.will("секретное слово")
        session = await begin(api, parameters={}, sharedContext={"тайна": "тайное"})
        await follow(api, session)
        for path in (f"/api/flows/{session}", f"/api/flows/{session}/snapshot"):
            texts = {caller: (await api.get(path, caller)).text for caller in ("site", "chief", "head")}
            assert [("слово" in text) for text in texts.values()] == [True, True, False], path
            assert "тайное" not in texts["head"]
            assert error_of(await api.get(path, "other")) == (404, "run_not_found")
        assert error_of(await order(api, session, "cancel", "other")) == (404, "run_not_found")
        assert error_of(await api.get(f"/api/flows/{session}/events", "other")) == (404, "run_not_found")
        for name in ("sinceEventId", "stateVersion"):
            answer = await api.get(f"/api/flows/{session}", "site", **{name: 10**12})
            assert error_of(answer) == (400, "invalid_cursor")
            assert answer.json()["error"]["message"].startswith(f"{name}: "), "what the caller called it"
        assert error_of(await api.get(f"/api/flows/{session}", "site", timeout=31)) == (400, "invalid_request")


async def test_a_preview_counts_memory_as_long_as_its_writer_may_make_it(tmp_path: Path) -> None:
    """Not as long as the reader's own answer may be; and no more entries than the channel keeps."""
    async with a_running_flow_api(tmp_path) as (api, _):
        await api.hire(defaultOptions={"maxTokens": 8000})
        write = step("write", success="read", memoryWrites=[{"channel": "log"}])
        read = step("read", memoryReads=[{"channel": "log", "limit": 50}], overrides={"maxTokens": 100})
        made = await api.create(flow(write, read, memory={"sharedChannels": [{"id": "log", "retentionVersions": 3}]}))
        planned = (await api.post(f"{FLOWS}/{made['id']}/launch-preview")).json()["steps"][1]
        assert planned["completionTokens"] == 100
        assert 3 * 8000 <= planned["promptTokens"] < 3 * 8000 + 100


async def test_a_run_of_another_engine_is_no_flow(tmp_path: Path) -> None:
    async with an_api(tmp_path, documents={("steps", "short"): steps({"say": "Готово"})}) as api:
        run = (await api.post("/runs", {"engine": "steps", "definition": "short"})).json()["id"]
        await api.world.idle()
        for path in ("", "/snapshot", "/events"):
            assert error_of(await api.get(f"/api/flows/{run}{path}")) == (404, "run_not_found")


async def order(api: FlowApi, session: str, action: str, caller: str = "site", **more: str) -> httpx.Response:
    return await api.post(f"/api/flows/{session}/control", {"action": action, **more}, caller)


async def control(api: FlowApi, session: str, action: str, **more: str) -> dict[str, Any]:
    """The run after an order that was carried out."""
    answer = await order(api, session, action, **more)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())

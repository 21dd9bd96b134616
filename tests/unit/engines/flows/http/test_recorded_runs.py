"""What the addresses of flows answer about runs, compared with what they answered when it was recorded."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from sqlalchemy import text

from bot.access.access_file import TokenGrant
from bot.http_api.audit.session_events import StreamReader
from bot.http_api.server.endpoint_context import EndpointContext, Submitted
from orchestrator.runtime import worker
from state.journal.store import StoreError
from tests.unit.engines.flows.flow_kit import SILENT, agent, flow, step
from tests.unit.engines.flows.http.flows_kit import AGENTS, FLOWS, a_running_flow_api
from tests.unit.engines.flows.http.recording_kit import UNKNOWN, Recorder, compare, write_corpus
from tests.unit.spine_kit import World, until

PRICE = {"input": 1000, "output": 3000}
PRICES = {"budget": {"currency": "RUB", "prices": {"gpt-5-thinking": PRICE, "scripted": PRICE}}}
PARAMETERS = [
    {"name": "client", "description": "Кто"},
    {"name": "sum", "type": "number", "required": False, "default": 5},
    {"name": "kind", "required": False, "choices": ["a", "b"]},
]
PROPOSAL = '{"operations": [{"method": "crm.deal.update", "params": {"id": 481, "fields": {"OPPORTUNITY": 150000}}}]}'
FULL = flow(
    step("one", success="two", failure="three", maxAttempts=2, overrides={"maxTokens": 100}, memoryWrites=[{"channel": "log"}]),
    step(
        "two",
        success="one",
        memoryReads=[{"channel": "log", "limit": 3}],
        memoryWrites=[{"channel": "log", "mode": "STATIC", "payload": {"a": 1}}],
    ),
    step("three", agentVersionId="tooled"),
    flowId="full",
    launchParameters=PARAMETERS,
    memory={"sharedChannels": [{"id": "log", "retentionVersions": 5}]},
    defaults={"context": {"a": 1}},
)


@pytest.mark.slow
@pytest.mark.req("S002-X3", "S002-X4", "S002-X5", "S002-X6")
@pytest.mark.parametrize("name", ["starts", "runs"])
async def test_runs_are_answered_as_they_were_recorded(tmp_path: Path, name: str) -> None:
    """Status, headers and every byte of the body or of the stream, of each request that succeeds and of each that is refused."""
    compare(name, await DRIVES[name](tmp_path))


async def record_starts(folder: Path) -> list[str]:
    """Previews and starts, and all that is refused before a run begins."""
    async with a_running_flow_api(folder, PRICES) as (api, world):
        recorder = Recorder(api)
        ask, make = recorder.ask, recorder.make
        world.model.will(*["раз"] * 7)
        writer = await make(AGENTS, agent(title="Автор"), key="writer")
        tooled = await make(AGENTS, agent(tools=["crm.deal.get"], model="strong", defaultOptions={"maxTokens": 300}), key="tooled")
        full = await make(FLOWS, FULL)
        plain = await make(
            FLOWS, flow(step("one"), launchParameters=PARAMETERS, outputs={"resultPayload": {"x": "$steps.one.output.content"}})
        )
        draft = await make(FLOWS, flow(step("one", success="one")), is_published=False)
        closed = await make(FLOWS, {**flow(step("one")), "flowId": "closed", "triggers": {"api": False}})
        await make(FLOWS, {**flow(step("one")), "flowId": "unpublished"}, is_published=False)
        for version in (full, plain, draft, closed, UNKNOWN, writer, "plan"):
            await ask("POST", f"{FLOWS}/{version}/launch-preview")
        good: dict[str, Any] = {"parameters": {"client": "Ромашка", "sum": 7, "kind": "a"}, "sharedContext": {"канал": "сайт"}}
        bad = {"parameters": {"sum": "много", "colour": "red", "kind": "c"}}
        bodies = (
            good, bad, {}, {"parameters": {"client": 2**60}, "sharedContext": {"b": "x\x00y"}}, {"shared_context": {}}, {"x": 1}, [], 5,
            {"parameters": []}, {"parameters": {"": 1}}, {"parameters": {"n" * 101: 1}}, {"sharedContext": {str(at): at for at in range(201)}},
        )  # fmt: skip
        for body in bodies:
            await ask("POST", f"{FLOWS}/{plain}/launch-preview", body)
            await ask("POST", "/api/flows/plan/start", body, caller="site")
        for raw in (b"{", b'{"parameters": NaN}', b'{"a": 1, "a": 2}', b"x" * 20_000):
            await ask("POST", f"{FLOWS}/{plain}/launch-preview", content=raw)
            await ask("POST", "/api/flows/plan/start", content=raw)
        await ask("POST", "/api/flows/plan/start", content=b"{}", kind="text/plain")
        for wanted in (plain, plain.upper(), draft, closed, "closed", "unpublished", "nowhere", UNKNOWN, writer, "a b", "x" * 65):
            await ask("POST", f"/api/flows/{wanted}/start", good, caller="site")
        for caller in ("", "head", "site"):
            await ask("POST", "/api/flows/plan/start", good, caller=caller)
            await ask("POST", f"{FLOWS}/{plain}/launch-preview", good, caller=caller)
        for key in ("k1", "k1", "k" * 256, "a b"):
            await ask("POST", "/api/flows/plan/start", good, caller="site", Idempotency_Key=key)
        await ask("POST", "/api/flows/plan/start", {"parameters": {"client": "x"}}, caller="site", Idempotency_Key="k1")
        await world.idle()
        api.grants["site"] = TokenGrant(name="site", customers=True)
        await ask("POST", "/api/flows/plan/start", good, caller="site")
        await ask("POST", f"{FLOWS}/{plain}/launch-preview", good, caller="site")
        await ask("POST", f"{AGENTS}/{tooled}/switch", {"active": False})
        await ask("POST", f"{FLOWS}/{full}/launch-preview", good)
        await ask("POST", f"{FLOWS}/{plain}/switch", {"active": False})
        await ask("POST", "/api/flows/plan/start", good)
        await ask("POST", f"{FLOWS}/{plain}/launch-preview", good)
        await _start_superseded(recorder, world)
        with world.sql._database._dialect.engine.begin() as connection:
            connection.execute(text("UPDATE definition_texts SET document = '{}'"))
        await ask("POST", "/api/flows/full/start", good)
        await ask("POST", f"/api/flows/{full}/start", good)
        await ask("POST", f"{FLOWS}/{full}/launch-preview", good)
        return recorder.lines


async def _start_superseded(recorder: Recorder, world: World) -> None:
    """Of three versions only the one in force is started: not the older one that it replaced, and not a draft between them."""
    replaced = await recorder.make(FLOWS, flow(step("one"), flowId="thrice"))
    between = await recorder.make(FLOWS, flow(step("one"), step("two"), flowId="thrice"), is_published=False)
    in_force = await recorder.make(FLOWS, flow(step("one", success="two"), step("two"), flowId="thrice"))
    world.model.will("раз", "два")
    for version in (replaced, between, in_force):
        await recorder.ask("POST", f"{FLOWS}/{version}/launch-preview")
        await recorder.ask("POST", f"/api/flows/{version}/start", {}, caller="chief")
    await world.idle()


async def record_runs(folder: Path) -> list[str]:
    """Runs that end in each way, as polls, snapshots and streams tell of them, and orders to them."""
    with patch.object(worker, "POLL", 0.02):
        async with a_running_flow_api(folder, PRICES) as (api, world):
            recorder = Recorder(api)
            await recorder.make(AGENTS, agent(effects=["crm.deal.update"]), key="writer")
            await recorder.make(
                FLOWS,
                flow(
                    step("one", success="two"),
                    step("two"),
                    launchParameters=[],
                    outputs={"resultPayload": {"x": "$steps.two.output.draft"}, "summaryFields": ["steps.one.output.content"]},
                ),
            )
            await recorder.make(FLOWS, FULL | {"steps": [*FULL["steps"][:2], step("three")]})
            await recorder.make(FLOWS, flow(step("one"), flowId="single"))
            await _play_to_the_end(recorder, world)
            await _play_with_memory(recorder, world)
            await _play_failures(recorder, world)
            await _play_orders(recorder, world)
            await _play_operations(recorder, world)
            await _lose_rights(recorder, world)
            return recorder.lines


async def _start(recorder: Recorder, flow_id: str = "plan", **body: Any) -> str:
    started = await recorder.ask("POST", f"/api/flows/{flow_id}/start", body, caller="site")
    return f"/api/flows/{started.json()['sessionId']}"


async def _show(recorder: Recorder, run: str, *callers: str) -> int:
    """The last event, as each address of reading tells of the run to these callers."""
    last = 0
    for caller in callers or ("site",):
        for part in ("?sinceEventId=0&timeout=0", "/snapshot"):
            shown = await recorder.ask("GET", f"{run}{part}", caller=caller)
            last = shown.json().get("lastEventId", last)
    return last


async def _play_to_the_end(recorder: Recorder, world: World) -> None:
    ask = recorder.ask
    world.model.will("первое", '{"draft": "второе", "token": "sk-0123456789abcdef0123456789abcdef"}')
    run = await _start(recorder, parameters={}, sharedContext={"тайна": "тайное"})
    await world.idle()
    last = await _show(recorder, run, "site", "chief", "head", "other", "")
    for query in ("timeout=0", "stateVersion=0&timeout=0"):
        await ask("GET", f"{run}?{query}", caller="site")
    for caller in ("site", "head", "other", ""):
        await ask("GET", f"{run}/events", caller=caller)
    for seen in (str(last), str(last - 1000), "0", str(last + 1), "x", "1" * 16):
        await ask("GET", f"{run}/events", caller="site", Last_Event_ID=seen)
    for query in (
        f"sinceEventId={last}", f"sinceEventId={last}&stateVersion={last // 1000}", f"sinceEventId={last + 1}", "stateVersion=9999",
        "timeout=31", "timeout=-1", "timeout=x", "sinceEventId=-1", "x=1", f"sinceEventId={10**15 + 1}", "since_event_id=0",
    ):  # fmt: skip
        await ask("GET", f"{run}?{query}", caller="site")
    await _refuse_orders(recorder, run)
    with patch.object(EndpointContext, "store", property(_lose_store)):
        for part in ("", "/snapshot", "/events"):
            await ask("GET", f"{run}{part}", caller="site")
    await _damage(recorder, world, run)


async def _refuse_orders(recorder: Recorder, run: str) -> None:
    """Orders that come too late or are none, and addresses of nothing."""
    ask = recorder.ask
    for action in ("pause", "resume", "cancel", "retryStep"):
        await ask("POST", f"{run}/control", {"action": action}, caller="site")
    bodies = (None, {}, {"action": "stop"}, {"action": "retryStep", "stepId": "one"}, {"action": "pause", "stepId": "one"}, {"action": "retryStep", "stepId": "x" * 65}, {"action": "pause", "step_id": "one"}, {"action": "pause", "x": 1}, [], 5)  # fmt: skip
    for body in bodies:
        await ask("POST", f"{run}/control", body, caller="site")
    await ask("POST", f"{run}/control", content=b"{", caller="site")
    for caller in ("other", "head", ""):
        await ask("POST", f"{run}/control", {"action": "cancel"}, caller=caller)
    for wrong in (UNKNOWN, "x", "x" * 65):
        for part in ("", "/snapshot", "/events"):
            await ask("GET", f"/api/flows/{wrong}{part}", caller="site")
        await ask("POST", f"/api/flows/{wrong}/control", {"action": "pause"}, caller="site")
    for method, target in (("POST", run), ("GET", f"{run}/control"), ("DELETE", run), ("GET", f"{run}/else"), ("GET", "/api/flows")):
        await ask(method, target, caller="site")


async def _damage(recorder: Recorder, world: World, run: str) -> None:
    """A text that was changed by hand, and put right again."""
    with world.sql._database._dialect.engine.begin() as connection:
        texts = connection.execute(text("SELECT digest, document FROM definition_texts WHERE document LIKE '%\"plan\"%'")).all()
        connection.execute(text("UPDATE definition_texts SET document = '{}' WHERE document LIKE '%\"plan\"%'"))
    await _show(recorder, run)
    await recorder.ask("GET", f"{run}/events", caller="site")
    with world.sql._database._dialect.engine.begin() as connection:
        for digest, document in texts:
            connection.execute(
                text("UPDATE definition_texts SET document = :document WHERE digest = :digest"), {"digest": digest, "document": document}
            )


def _lose_store(_desk: EndpointContext) -> Any:
    raise StoreError("gone")


async def _play_with_memory(recorder: Recorder, world: World) -> None:
    """Steps that are visited twice, and attempts that are repeated until another step goes on."""
    world.model.will("раз", "два", "три", SILENT)
    run = await _start(recorder, "full", parameters={"client": "Ромашка"})
    await world.idle()
    await _show(recorder, run, "site", "head")
    world.model.will(SILENT)
    run = await _start(recorder, "full", parameters={"client": "Ромашка"})
    await world.idle()
    await _show(recorder, run)
    world.model.will("  ", "три")
    world.clock.advance(timedelta(seconds=1.1))
    await world.idle()
    await _show(recorder, run)
    await recorder.ask("GET", f"{run}/events", caller="site")


async def _play_failures(recorder: Recorder, world: World) -> None:
    world.model.will("раз", SILENT)
    run = await _start(recorder)
    await world.idle()
    await _show(recorder, run, "site", "head")
    await recorder.ask("GET", f"{run}/events", caller="site")
    for body in ({"stepId": "one"}, {"stepId": "nothing"}):
        await recorder.ask("POST", f"{run}/control", {"action": "retryStep", **body}, caller="site")
    world.model.will("два")
    await recorder.ask("POST", f"{run}/control", {"action": "retryStep", "stepId": "two"}, caller="site", goes_on=True)
    await world.idle()
    world.clock.advance(timedelta(seconds=1.1))
    await world.idle()
    await _show(recorder, run)
    await recorder.ask("GET", f"{run}/events", caller="site")


async def _play_orders(recorder: Recorder, world: World) -> None:
    world.model.gate = asyncio.Event()
    world.model.will("раз")
    before = len(world.model.prompts)
    run = await _start(recorder)
    await until(lambda: len(world.model.prompts) == before + 1)
    await recorder.ask("POST", f"{run}/control", {"action": "pause"}, caller="site")
    world.model.gate.set()
    await world.idle()
    await _show(recorder, run)
    for action in ("pause", "retryStep"):
        await recorder.ask("POST", f"{run}/control", {"action": action}, caller="site")
    world.model.will("два")
    await recorder.ask("POST", f"{run}/control", {"action": "resume"}, caller="chief", goes_on=True)
    await world.idle()
    await _show(recorder, run)
    submit = EndpointContext.submit

    async def give_up(desk: EndpointContext, *given: Any, **more: Any) -> Submitted:
        return replace(await submit(desk, *given, **more), status="waiting")

    world.model.gate = asyncio.Event()
    before = len(world.model.prompts)
    world.model.will("раз")
    run = await _start(recorder)
    await until(lambda: len(world.model.prompts) == before + 1)
    with patch.object(EndpointContext, "submit", give_up):
        await recorder.ask("POST", f"{run}/control", {"action": "cancel"}, caller="site")
    world.model.gate.set()
    world.model.gate = None
    await world.idle()
    await recorder.ask("GET", f"{run}/events", caller="site")


async def _play_operations(recorder: Recorder, world: World) -> None:
    world.model.will(PROPOSAL, '{"operations": [{"method": "crm.deal.delete", "params": {"id": 481}}]}')
    run = await _start(recorder, "single")
    await world.idle()
    await _show(recorder, run)
    await recorder.ask("POST", f"{run}/control", {"action": "cancel"}, caller="site")
    await _show(recorder, run)
    await recorder.ask("GET", f"{run}/events", caller="site")
    run = await _start(recorder, "single")
    await world.idle()
    await _show(recorder, run)


async def _lose_rights(recorder: Recorder, world: World) -> None:
    """Streams that cannot go on, and a silent one."""
    world.model.gate = asyncio.Event()
    world.model.will("раз")
    before = len(world.model.prompts)
    run = await _start(recorder)
    await until(lambda: len(world.model.prompts) == before + 1)
    await recorder.ask("GET", f"{run}?sinceEventId=1000&timeout=0", caller="site")
    seen = await _show(recorder, run)
    await recorder.ask("GET", f"{run}?sinceEventId={seen}&timeout=0", caller="site")
    for error in (StoreError("gone"), None):
        with patch.object(StreamReader, "wait_for", _fail_after_a_beat(error)):
            await recorder.ask("GET", f"{run}/events", caller="site", Last_Event_ID="0")
    world.model.gate.set()
    world.model.gate = None
    world.model.will("два")
    await world.idle()


def _fail_after_a_beat(error: Exception | None) -> Any:
    waited, calls = StreamReader.wait_for, 0

    async def wait_for(streams: StreamReader, client: Any, stream: Any, look: Any, wait: float) -> Any:
        nonlocal calls
        calls += 1
        if calls > 2:  # the first told what was new, the second that nothing is
            raise error or stream.missing
        return await waited(streams, client, stream, look, 0 if calls > 1 else wait)

    return wait_for


DRIVES = {"starts": record_starts, "runs": record_runs}
if __name__ == "__main__":
    write_corpus(DRIVES)

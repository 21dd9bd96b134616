"""The demo model goes wrong on request, in every way a real one does; and it starts and refuses to start clearly."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest

from orchestrator.domain.errors import ModelClientError
from orchestrator.engines.crm_agent.blocks import parse
from tests.contract.sandbox_model_kit import ROOT, model, raw, turn
from tests.forker import forked

DEALS = turn("мои сделки")


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    """A fresh model for each test."""
    async with model() as ready:
        yield ready


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The demo model as its own process on a free port; it must end on SIGTERM."""
    process = subprocess.Popen(forked("-m", "sandbox.model", "--port", "0"), stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    try:
        base = json.loads(process.stdout.readline())["model"]
        assert base.startswith("http://127.0.0.1:")
        yield base
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


async def order(client: httpx.AsyncClient, **fault: Any) -> None:
    """Order a fault."""
    assert (await client.post("/sandbox/faults", json=fault)).status_code == 200


async def test_errors_last_as_long_as_ordered_and_cost_no_scripted_answer(client: httpx.AsyncClient) -> None:
    """500 twice, then 429 with Retry-After, then the scripted answer arrives."""
    await client.post("/sandbox/script", json={"answers": ["scripted"]})
    await order(client, kind="500", times=2)
    await order(client, kind="429", retry_after=1.5)
    answers = [await client.post("/v1/chat/completions", json={"messages": DEALS}) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [500, 500, 429, 200]
    assert answers[2].headers["retry-after"] == "1.5"
    assert answers[2].json()["error"]["code"] == "rate_limit_exceeded"
    assert answers[3].json()["choices"][0]["message"]["content"] == "scripted"
    logged = (await client.get("/sandbox/requests")).json()["requests"]
    assert [item["fault"] for item in logged] == ["500", "500", "429", None]


@pytest.mark.parametrize(("kind", "finish"), [("no_format", "stop"), ("truncated", "length")])
async def test_a_broken_answer_is_refused_by_the_products_parser(client: httpx.AsyncClient, kind: str, finish: str) -> None:
    """Answers without format or cut in the middle cannot be read; the scripted answer waits for the retry."""
    await client.post(
        "/sandbox/script", json={"answers": ['THOUGHT: t\nACTION: [{"method": "crm.deal.get", "params": {"id": 1}}]\nASSISTANT: a']}
    )
    await order(client, kind=kind)
    answer = (await client.post("/v1/chat/completions", json={"messages": DEALS})).json()["choices"][0]
    assert answer["finish_reason"] == finish
    with pytest.raises(ModelClientError):
        parse(answer["message"]["content"])
    assert parse(await raw(client, DEALS)).steps[0].method == "crm.deal.get"


async def test_empty_and_garbage(client: httpx.AsyncClient) -> None:
    """An empty answer is an empty text; garbage is a 200 that is no JSON."""
    await order(client, kind="empty")
    await order(client, kind="garbage")
    assert await raw(client, DEALS) == ""
    garbage = await client.post("/v1/chat/completions", json={"messages": DEALS})
    assert garbage.status_code == 200
    with pytest.raises(ValueError, match="Expecting value"):
        garbage.json()


async def test_embeddings_fail_only_when_they_are_meant(client: httpx.AsyncClient) -> None:
    """A fault is for chats unless it names embeddings; DELETE takes the rest away; an unknown kind is refused."""
    await order(client, kind="500", target="embeddings", times=5)
    assert await raw(client, DEALS)
    assert (await client.post("/v1/embeddings", json={"input": "a"})).status_code == 500
    assert (await client.delete("/sandbox/faults")).json() == {"waiting": 0}
    assert (await client.post("/v1/embeddings", json={"input": "a"})).status_code == 200
    assert (await client.post("/sandbox/faults", json={"kind": "explode"})).status_code == 400


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("kind", ["drop", "drop_mid_stream"])
async def test_a_dropped_connection_is_really_dropped(server: str, kind: str, *, stream: bool) -> None:
    """The client sees its connection die, before the answer or in the middle of it; the next request is served."""
    async with httpx.AsyncClient(base_url=server.removesuffix("/v1")) as client:
        await order(client, kind=kind)
        with pytest.raises(httpx.RequestError) as caught:
            await client.post("/v1/chat/completions", json={"messages": DEALS, "stream": stream})
        assert isinstance(caught.value, httpx.RemoteProtocolError | httpx.ReadError)
        assert "crm.deal.list" in await raw(client, DEALS)


async def test_a_stall_holds_the_answer_back(server: str) -> None:
    """During a stall no byte arrives; a client that gives up frees the server at once."""
    async with httpx.AsyncClient(base_url=server.removesuffix("/v1")) as client:
        await order(client, kind="stall", seconds=600)
        with pytest.raises(httpx.ReadTimeout):
            await client.post("/v1/chat/completions", json={"messages": DEALS}, timeout=httpx.Timeout(30, read=0.2))
        await order(client, kind="stall", seconds=0.05)
        begun = time.monotonic()
        answer = await client.post("/v1/chat/completions", json={"messages": DEALS})
        assert answer.status_code == 500
        assert time.monotonic() - begun >= 0.05


async def test_streams_are_held_half_way_until_they_are_let_go(server: str) -> None:
    """A second hold lets the first stream end and holds the next; what is asked for whole is not held."""
    async with httpx.AsyncClient(base_url=server.removesuffix("/v1")) as client:
        body = {"messages": DEALS, "stream": True}
        lines: list[list[str]] = [[], []]

        async def read(number: int) -> None:
            async with client.stream("POST", "/v1/chat/completions", json=body) as answer:
                lines[number].extend([line async for line in answer.aiter_lines() if line])

        before = await _count_prompts(client)
        assert (await client.post("/sandbox/hold")).json() == {"held": True}
        first = asyncio.create_task(read(0))
        await _until_asked(client, before + 1)
        assert await raw(client, DEALS)
        await client.post("/sandbox/hold")
        await first
        second = asyncio.create_task(read(1))
        await _until_asked(client, before + 3)
        assert not second.done()
        assert (await client.delete("/sandbox/hold")).json() == {"held": False}
        await second
        assert [texts[-1] for texts in lines] == ["data: [DONE]"] * 2
        await read(0)


async def _count_prompts(client: httpx.AsyncClient) -> int:
    return int((await client.get("/sandbox/requests")).json()["last"])


async def _until_asked(client: httpx.AsyncClient, number: int) -> None:
    async with asyncio.timeout(30):
        while await _count_prompts(client) < number:  # noqa: ASYNC110  (another process: only asking helps)
            await asyncio.sleep(0.01)


def test_a_busy_port_is_one_sentence_and_code_2() -> None:
    """No traceback: the port is named, the exit code is 2."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        command = forked("-m", "sandbox.model", "--port", str(port))
        ended = subprocess.run(
            command, capture_output=True, text=True, timeout=60, env={**os.environ, "PYTHONIOENCODING": "utf-8"}, cwd=ROOT, check=False
        )
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert str(port) in ended.stderr
    assert "Traceback" not in ended.stderr

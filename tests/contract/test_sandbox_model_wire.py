"""The demo model on the wire: OpenAI shapes, streaming, scripted answers, the request log, embeddings."""

import base64
import json
import math
import struct
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tests.contract.sandbox_model_kit import model, observed, raw, said, turn


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    """A fresh model for each test."""
    async with model() as ready:
        yield ready


async def events(client: httpx.AsyncClient, body: dict[str, Any]) -> list[Any]:
    """Every event of a stream, parsed, [DONE] as a string."""
    answer = await client.post("/v1/chat/completions", json={**body, "stream": True})
    assert answer.headers["content-type"].startswith("text/event-stream")
    lines = [line.removeprefix("data: ") for line in answer.text.split("\n\n") if line]
    return [line if line == "[DONE]" else json.loads(line) for line in lines]


@pytest.mark.parametrize("text", ["мои сделки", "что ты умеешь?", "hand all Anna's deals over to Boris", "🙂 подними Ромашку до 2 млн"])
async def test_a_stream_carries_the_same_answer(client: httpx.AsyncClient, text: str) -> None:
    """Deltas joined are the plain answer; role first, finish_reason last, usage on request, then [DONE]."""
    body = {"messages": turn(text), "model": "gpt-5-thinking", "stream_options": {"include_usage": True}}
    plain = (await client.post("/v1/chat/completions", json=body)).json()
    *chunks, usage, done = await events(client, body)
    assert done == "[DONE]"
    assert "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks) == plain["choices"][0]["message"]["content"]
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    assert chunks[-1]["choices"][0]["finish_reason"] == plain["choices"][0]["finish_reason"] == "stop"
    assert usage["usage"] == plain["usage"]
    assert len(chunks) > 5


async def test_usage_adds_up_and_the_model_names_itself(client: httpx.AsyncClient) -> None:
    """Total is prompt plus completion, both above zero; the answer does not pretend to be the model asked for."""
    answer = (await client.post("/chat/completions", json={"messages": turn("мои сделки"), "model": "gpt-5-thinking"})).json()
    assert answer["usage"]["total_tokens"] == answer["usage"]["prompt_tokens"] + answer["usage"]["completion_tokens"]
    assert min(answer["usage"].values()) > 0
    assert (answer["object"], answer["model"], answer["created"]) == ("chat.completion", "demo-rules", 1_795_000_000)
    names = [item["id"] for item in (await client.get("/v1/models")).json()["data"]]
    assert "demo-rules" in names


async def test_the_same_request_always_gets_the_same_answer(client: httpx.AsyncClient) -> None:
    """Nothing random is in the rules, and content given as parts reads like a string."""
    messages = turn("передай Ромашку Борису")
    parts: list[dict[str, Any]] = [*messages[:2], {"role": "user", "content": [{"type": "text", "text": "передай Ромашку Борису"}]}]
    assert await raw(client, messages) == await raw(client, messages) == await raw(client, parts)


@pytest.mark.parametrize("body", [{}, {"messages": []}, {"messages": "hi"}, {"messages": ["hi"]}])
async def test_a_broken_request_is_a_400_of_the_wire(client: httpx.AsyncClient, body: dict[str, Any]) -> None:
    """A request without messages gets an OpenAI error object."""
    answer = await client.post("/v1/chat/completions", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == "invalid_request_error"


async def test_odd_messages_never_break_it(client: httpx.AsyncClient) -> None:
    """No person's message, null content, unknown roles, broken STATE or observation: still one readable answer."""
    broken: list[list[dict[str, Any]]] = [
        [{"role": "system", "content": "STATE {broken"}],
        [{"role": "user", "content": None}],
        [{"role": "tool", "content": 5}, {"content": "x"}],
        turn("мои сделки", said("…"), {"role": "user", "content": "OBSERVATION 1\n<<<DATA a\nnot json\n[1]\n{}\nDATA a>>>"}),
        turn("подними Ромашку на 10%", said("…"), {"role": "user", "content": "OBSERVATION 1\n<<<DATA a\n\nDATA a>>>"}),
        turn("(" * 500 + "«" * 500),
        turn("а" * 20_000),
    ]
    for messages in broken:
        assert await raw(client, messages)


async def test_scripted_answers_come_first_in_order(client: httpx.AsyncClient) -> None:
    """Queued answers are used literally, one a request, then the rules speak again; DELETE forgets the rest."""
    assert (await client.post("/sandbox/script", json={"answers": ["one", "two", "three"]})).json() == {"queued": 3}
    assert [await raw(client, turn("мои сделки")) for _ in range(2)] == ["one", "two"]
    await client.delete("/sandbox/script")
    assert "crm.deal.list" in await raw(client, turn("мои сделки"))


async def test_a_scripted_answer_may_wait_for_its_message(client: httpx.AsyncClient) -> None:
    """With `match` an answer serves only turns whose person's message contains it, later iterations included."""
    await client.post("/sandbox/script", json={"answers": ["first", "second"], "match": "Ромашк"})
    await client.post("/sandbox/script", json={"answers": ["any"]})
    assert await raw(client, turn("мои сделки")) == "any"
    assert await raw(client, turn("покажи Ромашку")) == "first"
    assert await raw(client, turn("покажи Ромашку", said("first"), observed({"method": "crm.deal.get", "status": "ok"}))) == "second"


@pytest.mark.parametrize("body", [{}, {"answers": []}, {"answers": [1]}, {"answers": ["x"], "mach": "y"}])
async def test_a_wrong_script_is_refused(client: httpx.AsyncClient, body: dict[str, Any]) -> None:
    """A typo in a test is told, not swallowed."""
    assert (await client.post("/sandbox/script", json=body)).status_code == 400


async def test_requests_are_kept_without_headers(client: httpx.AsyncClient) -> None:
    """The log holds messages, answer and rule of each request, can be read from a number on, and never a key."""
    await client.post("/sandbox/script", json={"answers": ["literal"]})
    for text in ("привет", "мои сделки"):
        await client.post("/v1/chat/completions", json={"messages": turn(text)}, headers={"Authorization": "Bearer sk-very-secret"})
    answer = await client.get("/sandbox/requests")
    assert [(item["n"], item["rule"]) for item in answer.json()["requests"]] == [(1, "script"), (2, "deals.mine")]
    assert answer.json()["requests"][0]["answer"] == "literal"
    assert answer.json()["requests"][1]["messages"] == turn("мои сделки")
    assert "sk-very-secret" not in answer.text
    later = (await client.get("/sandbox/requests", params={"after": 1})).json()
    assert ([item["n"] for item in later["requests"]], later["last"]) == ([2], 2)


async def test_embeddings_are_unit_vectors_that_know_likeness(client: httpx.AsyncClient) -> None:
    """Equal texts give equal vectors, forms of one word lie nearer than other words, base64 is the same vector."""
    texts = ["поставка кабеля", "поставку кабелей", "аренда склада", ""]
    answer = (await client.post("/v1/embeddings", json={"input": texts, "model": "any"})).json()
    one, near, far, empty = (item["embedding"] for item in answer["data"])
    assert all(math.isclose(math.hypot(*values), 1.0, abs_tol=1e-9) for values in (one, near, far, empty))
    assert _dot(one, near) > 0.5 > _dot(one, far)
    packed = (await client.post("/embeddings", json={"input": texts[0], "encoding_format": "base64"})).json()["data"][0]["embedding"]
    assert struct.unpack("<256f", base64.b64decode(packed)) == pytest.approx(one, abs=1e-6)
    small = (await client.post("/v1/embeddings", json={"input": [[1, 2], [3]], "dimensions": 8})).json()["data"]
    assert [len(item["embedding"]) for item in small] == [8, 8]


def _dot(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


async def test_it_says_when_it_is_ready(client: httpx.AsyncClient) -> None:
    """Health answers 200 and says what this is."""
    answer = await client.get("/sandbox/health")
    assert answer.status_code == 200
    assert answer.json()["note"] == "демо-модель: правила вместо ИИ"

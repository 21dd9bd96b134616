"""The two functions of seed 001: they never raise, and answer in the standard form."""

import json
import logging
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from orchestrator.model_client.client import ModelClient
from orchestrator.model_client.plain_calls import PlainCalls
from orchestrator.model_client.settings import ModelSettings

KEY = "very-secret-0123456789"
CHAT = {"messages": [{"role": "user", "content": "да или нет?"}], "temperature": 0.001, "max_tokens": 1}
BODY = {"choices": [{"message": {"role": "assistant", "content": "да"}, "finish_reason": "length", "index": 0}], "model": "GigaChat"}
VECTORS = {"object": "list", "data": [{"object": "embedding", "embedding": [0.5], "index": 0}], "model": "Embeddings"}


def calls(*answers: httpx.Response | Exception) -> tuple[PlainCalls, list[httpx.Request]]:
    """Return the functions over a wire with these answers, and the list of the requests that it got."""
    left, seen = list(answers), list[httpx.Request]()

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        come = left.pop(0)
        if isinstance(come, Exception):
            raise come
        return come

    told = ModelSettings(base_url="https://llm/v1", api_key=SecretStr(KEY), max_attempts=1)
    client = ModelClient(told, transport=httpx.MockTransport(answer))
    return PlainCalls(client, model="GigaChat-2-Max", embedding_model="Embeddings"), seen


@pytest.mark.req("S001-7", "S001-8", "S001-9", "S001-12")
async def test_a_completion_is_the_standard_body_and_parameters_pass_through() -> None:
    """Without a model the default one is asked; also an answer of one token that ended at its length is an answer."""
    plain, seen = calls(httpx.Response(200, json=BODY), httpx.Response(200, json=BODY))
    assert await plain.post_chat_completions(CHAT) == BODY
    await plain.post_chat_completions({**CHAT, "model": "other"})
    sent = [json.loads(one.content) for one in seen]
    assert seen[0].url.path == "/v1/chat/completions"
    assert {name: sent[0][name] for name in CHAT} == CHAT
    assert [one["model"] for one in sent] == ["GigaChat-2-Max", "other"]


@pytest.mark.req("S001-13", "S001-14", "S001-15", "S001-18")
async def test_vectors_are_the_standard_body() -> None:
    """Without a model the default embedding model is asked."""
    plain, seen = calls(httpx.Response(200, json=VECTORS))
    assert await plain.post_embeddings({"input": ["а"]}) == VECTORS
    assert seen[0].url.path == "/v1/embeddings"
    assert json.loads(seen[0].content) == {"input": ["а"], "model": "Embeddings"}


@pytest.mark.req("S001-10", "S001-16")
@pytest.mark.parametrize("verbose", [True, False])
async def test_payload_and_response_are_logged_only_when_asked(verbose: bool, caplog: pytest.LogCaptureFixture) -> None:  # noqa: FBT001 - as pytest hands it in
    """At debug level, the payload before and the response after; the key never."""
    plain, _ = calls(httpx.Response(200, json=BODY | {"echo": KEY}), httpx.Response(200, json=VECTORS))
    with caplog.at_level(logging.DEBUG, logger="orchestrator"):
        await plain.post_chat_completions(CHAT, verbose)
        await plain.post_embeddings({"input": "а"}, verbose)
    lines = [(one.levelname, one.getMessage().partition(":")[0]) for one in caplog.records]
    told = ["chat completions request", "chat completions response", "embeddings request", "embeddings response"]
    assert lines == ([("DEBUG", one) for one in told] if verbose else [])
    assert KEY not in caplog.text


FAILURES: list[Any] = [
    httpx.ConnectError("no route"),
    httpx.ReadTimeout("slow"),
    httpx.Response(500, json={"message": "broken"}),
    httpx.Response(200, content=b"<html>"),
    httpx.Response(302, headers={"location": "http://169.254.169.254/"}),
    ValueError("a bug"),
]


@pytest.mark.req("S001-11", "S001-17", "S001-6")
@pytest.mark.parametrize("failure", FAILURES, ids=lambda one: type(one).__name__ + str(getattr(one, "status_code", "")))
@pytest.mark.parametrize("name", ["post_chat_completions", "post_embeddings"])
async def test_any_error_is_a_value_and_its_stack_trace_is_critical(name: str, failure: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is raised, and the text has no secret."""
    plain, seen = calls(failure)
    answer = await getattr(plain, name)(CHAT | {"input": "а"})
    assert list(answer) == ["error"]
    assert answer["error"]
    (record,) = [one for one in caplog.records if one.levelno == logging.CRITICAL]
    assert record.exc_info
    assert KEY not in caplog.text + answer["error"]
    assert len(seen) == 1


@pytest.mark.req("S001-8", "S001-14")
@pytest.mark.parametrize("payload", [{}, {"messages": [], "input": []}, {"messages": object(), "input": object()}, None])
@pytest.mark.parametrize("name", ["post_chat_completions", "post_embeddings"])
async def test_a_payload_without_its_mandatory_part_is_an_error_and_not_sent(name: str, payload: Any) -> None:
    """Also one that is no payload at all."""
    plain, seen = calls()
    assert list(await getattr(plain, name)(payload)) == ["error"]
    assert seen == []


@pytest.mark.req("S001-X6", "S001-11", "S001-17")
@pytest.mark.parametrize("name", ["post_chat_completions", "post_embeddings"])
async def test_the_error_text_has_status_and_body(name: str) -> None:
    """Of a body that is JSON and of one that is a page, in one line and without the key."""
    bodies = [
        httpx.Response(422, json={"status": 422, "message": "Invalid params: top_p"}),
        httpx.Response(413, text=f"<h1>Too large</h1>\n{KEY}"),
    ]
    plain, _ = calls(*bodies)
    told = [(await getattr(plain, name)(CHAT | {"input": "а"}))["error"] for _ in range(2)]
    assert told == ["The model service answers 422: Invalid params: top_p.", "The model service answers 413: <h1>Too large</h1> ***."]


@pytest.mark.req("S001-A8", "S001-10")
async def test_a_long_payload_and_response_are_logged_whole(caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is cut off in the log: who asks for it wants to see all of it."""
    text = "длинное сообщение " * 5_000
    plain, _ = calls(httpx.Response(200, json=BODY | {"echo": text}))
    with caplog.at_level(logging.DEBUG, logger="orchestrator"):
        await plain.post_chat_completions({"messages": [{"role": "user", "content": text}]}, verbose=True)
    assert [text in one.getMessage() for one in caplog.records] == [True, True]


@pytest.mark.req("S001-6", "S001-A8")
@pytest.mark.parametrize("failure", [httpx.Response(429), httpx.Response(503), httpx.ConnectError("refused")])
@pytest.mark.parametrize("name", ["post_chat_completions", "post_embeddings"])
async def test_two_retries_are_made_and_the_answer_is_the_third(name: str, failure: Any) -> None:
    """On 429, 5xx and broken connections; the caller sees only the answer."""
    answers = [failure, failure, httpx.Response(200, json=BODY)]

    def answer(_: httpx.Request) -> httpx.Response:
        come = answers.pop(0)
        if isinstance(come, Exception):
            raise come
        return come

    async def skip(_seconds: float) -> None:
        """Skip the pause."""

    told = ModelSettings(base_url="https://llm/v1", api_key=SecretStr(KEY))
    client = ModelClient(told, transport=httpx.MockTransport(answer), sleep=skip)
    plain = PlainCalls(client, embedding_model="Embeddings")
    assert await getattr(plain, name)(CHAT | {"input": "а"}) == BODY
    assert answers == []


@pytest.mark.req("S001-8", "S001-14")
@pytest.mark.parametrize("name", ["post_chat_completions", "post_embeddings"])
async def test_other_parameters_pass_through_as_they_are(name: str) -> None:
    """Also those that this program does not know; only `stream` is never taken from the payload, because the body is returned whole."""
    sent: list[Any] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(json.loads(request.content))
        return httpx.Response(200, json=BODY)

    client = ModelClient(ModelSettings(base_url="https://llm/v1", api_key=SecretStr(KEY)), transport=httpx.MockTransport(answer))
    plain = PlainCalls(client, model="m", embedding_model="m")
    payload = {"messages": [{"role": "user", "content": "?"}], "input": ["а"], "functions": [{"name": "f"}], "repetition_penalty": 1.1}
    assert await getattr(plain, name)(payload) == BODY
    streamed = {"stream": False} if name == "post_chat_completions" else {}
    assert sent == [payload | {"model": "m"} | streamed]
    assert await plain.post_chat_completions({**payload, "stream": True}) == BODY
    assert sent[1]["stream"] is False

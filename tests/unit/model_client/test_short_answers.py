"""A request for one word: an answer that ends at its limit counts, and one that is no answer has an error of its own."""

import json
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.models import MalformedAnswer, ModelOptions, ModelRequest, UnusableAnswer
from orchestrator.model_client.client import ModelClient
from orchestrator.model_client.providers import OpenAiProvider
from orchestrator.model_client.settings import ModelSettings
from tests.unit.model_client.test_model_client import delta, sse

ONE_WORD = ModelOptions(max_tokens=1, may_be_cut=True)


class Wire:
    """Answers in order, and keeps the bodies of the requests."""

    def __init__(self, *bodies: bytes) -> None:
        self.bodies, self.sent = list(bodies), list[dict[str, Any]]()

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(json.loads(request.content))
        return httpx.Response(200, content=self.bodies.pop(0))


async def ask(wire: Wire, options: ModelOptions = ONE_WORD) -> str:
    """Return the text of the answer."""
    client = ModelClient(ModelSettings(api_key=SecretStr("sk-x")), transport=httpx.MockTransport(wire))
    request = ModelRequest(messages=({"role": "user", "content": "да?"},), role="tool", options=options)
    try:
        return (await OpenAiProvider(client, model="m").chat(request)).text
    finally:
        await client.aclose()


@pytest.mark.req("S001-X2")
async def test_an_answer_that_ends_at_its_limit_counts_where_a_word_was_asked_for() -> None:
    """One request is made, with one token."""
    wire = Wire(sse(delta("да"), delta(None, "length"), "[DONE]"))
    assert await ask(wire) == "да"
    assert [one["max_tokens"] for one in wire.sent] == [1]


async def test_elsewhere_it_is_cut_off() -> None:
    """Nobody may take half of an answer for the whole."""
    with pytest.raises(UnusableAnswer, match="cut off"):
        await ask(Wire(sse(delta("да"), delta(None, "length"), "[DONE]")), ModelOptions(max_tokens=1))


@pytest.mark.parametrize(
    "first",
    [
        (delta(None, "length"),),
        (delta("<think>"), delta(None, "length")),
        ({"choices": [{"index": 0, "delta": {"reasoning": "х"}, "finish_reason": "length"}]},),
    ],
)
async def test_a_model_that_thinks_first_is_asked_again_without_a_limit(first: tuple[Any, ...]) -> None:
    """It has not got to its word; the second request has no limit."""
    wire = Wire(sse(*first, "[DONE]"), sse(delta("<think>ну</think>да"), delta(None, "stop"), "[DONE]"))
    assert await ask(wire) == "да"
    assert "max_tokens" not in wire.sent[1]


@pytest.mark.req("S001-A2")
@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b'{"choices": []}',
        b'{"choices": [{"index": 0, "message": null}]}',
        b'{"choices": [{"index": 0, "message": "\xd0\xb4\xd0\xb0", "finish_reason": "stop"}]}',
        b'{"choices": "x"}',
        b'{"choices": [{"index": 0, "message": {"content": 5}, "finish_reason": "stop"}]}',
        b'{"choices": [{"index": 0, "message": {"tool_calls": [{"id": "a"}]}, "finish_reason": "tool_calls"}]}',
    ],
)
async def test_an_answer_without_choice_message_or_text_is_malformed(body: bytes) -> None:
    """The tool agent tells it apart from a request that failed."""
    with pytest.raises(MalformedAnswer):
        await ask(Wire(body))


@pytest.mark.parametrize("body", [b"<html>", b"", sse(delta("да"))])
async def test_what_is_no_answer_at_all_is_a_failed_request(body: bytes) -> None:
    """A page, nothing, or a stream that broke off say nothing about the model's words."""
    with pytest.raises(ModelClientError) as caught:
        await ask(Wire(*[body] * 5))
    assert not isinstance(caught.value, MalformedAnswer | UnusableAnswer)

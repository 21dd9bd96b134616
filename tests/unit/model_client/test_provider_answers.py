"""Answers in the forms of real services: thinking within the text or beside it, errors at the top of a body or in a stream."""

import itertools
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.models import ModelAnswer, ModelOptions, ModelRequest, ProviderUnavailable, ToolCall, UnusableAnswer
from orchestrator.model_client.failures import RejectedRequest, TryAgainError
from orchestrator.model_client.providers import OpenAiProvider, ThinkingFilter, drop_thinking
from tests.unit.model_client.test_model_client import PAYLOAD, Wire, completion, delta, sse

ASK = ({"role": "user", "content": "?"},)


def answer(text: str, *calls: ToolCall) -> ModelAnswer:
    return ModelAnswer(text=text, prompt_tokens=1, completion_tokens=1, model="m", finish_reason="stop", seconds=0.0, calls=calls)


TEXTS = {
    "<think>a</think>b": "b",
    "\n<think>\na\n</think>\n\nb": "b",
    "<THINKING>a</THINKING> b": "b",
    "<reasoning >a</reasoning >b": "b",
    "a, b\n</think>\n\nc": "c",
    "plain": "plain",
    "see <think>a</think> there": "see <think>a</think> there",
    "<thinker>a</thinker>": "<thinker>a</thinker>",
    "<think></think>\n\nb <think> c": "b <think> c",
}


@pytest.mark.parametrize("text", TEXTS)
def test_only_thinking_at_the_beginning_is_cut_off(text: str) -> None:
    """Also where the opening tag stood in the prompt; what merely speaks of such a tag is kept."""
    assert drop_thinking(answer(text)).text == TEXTS[text]


@pytest.mark.parametrize("text", ["<think>a", "<think>a</think>", " <think>a</think>\n "])
def test_thinking_alone_is_no_answer(text: str) -> None:
    """It was paid all the same; a call of a tool beside it is an answer."""
    with pytest.raises(UnusableAnswer, match="only thought") as why:
        drop_thinking(answer(text))
    assert why.value.answer == answer(text)
    call = ToolCall(id="1", name="look")
    assert drop_thinking(answer(text, call)) == answer("", call)


@given(st.sampled_from([one for one in TEXTS if not one.startswith("a, b")]), st.lists(st.integers(0, 40), max_size=6))
async def test_the_pieces_of_a_stream_show_what_the_answer_is(text: str, cuts: list[int]) -> None:
    """However the service cuts it."""
    shown: list[str] = []

    async def show(piece: str) -> None:
        shown.append(piece)

    taker = ThinkingFilter(show)
    edges = sorted({0, len(text), *(min(cut, len(text)) for cut in cuts)})
    for start, end in itertools.pairwise(edges):
        await taker.take(text[start:end])
    assert "".join(shown) == drop_thinking(answer(text)).text
    assert "" not in shown


async def test_people_get_the_answer_whole_and_engines_without_thinking() -> None:
    """The engine that talks to people decides by the whole answer what is thinking."""
    stream = sse(delta("<think>x"), delta("</think>\n"), delta("да", "stop"), "[DONE]")
    wire = Wire(*(httpx.Response(200, content=stream) for _ in range(2)))
    provider = OpenAiProvider(wire.client())
    shown: list[str] = []

    async def show(piece: str) -> None:
        shown.append(piece)

    assert (await provider.chat(ModelRequest(messages=ASK), show)).text == "<think>x</think>\nда"
    shown.clear()
    assert (await provider.chat(ModelRequest(messages=ASK, role="tool"), show)).text == "да"
    assert shown == ["да"]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_a_limit_that_went_into_thinking_is_said(field: str) -> None:
    """Whether the service calls it cut off or done; the thinking is in no text."""
    for finish in ("length", "stop"):
        wire = Wire(httpx.Response(200, content=sse(delta("", None, **{field: "Секрет"}), delta("", finish), "[DONE]")))
        with pytest.raises(UnusableAnswer, match="whole answer for thinking: raise max_tokens") as why:
            await wire.client().stream_chat(PAYLOAD)
        assert why.value.answer.text == ""


ERRORS: dict[str, tuple[dict[str, Any], str, type[ModelClientError]]] = {
    "vLLM, older": (
        {"object": "error", "message": "CUDA is out", "type": "InternalServerError", "code": 500},
        "500, InternalServerError, CUDA is out",
        TryAgainError,
    ),
    "vLLM": (
        {"error": {"message": "too long", "type": "BadRequestError", "param": None, "code": 400}},
        "400, BadRequestError, too long",
        ModelClientError,
    ),
    "GigaChat": ({"status": 429, "message": "Too many requests"}, "Too many requests", TryAgainError),
    "Ollama": ({"error": "llama runner process has terminated"}, "llama runner", ModelClientError),
    "OpenRouter": (
        {
            "id": "x",
            "error": {"code": 502, "message": "Provider returned error"},
            "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}],
        },
        "502, Provider returned error",
        TryAgainError,
    ),
}


@pytest.mark.req("S004-20")
@pytest.mark.parametrize("name", ERRORS)
async def test_an_error_within_a_stream_is_an_error_in_every_form(name: str) -> None:
    """Of the stream and of an answer that is not streamed, both with status 200."""
    event, says, kind = ERRORS[name]
    wire = Wire(*(httpx.Response(200, content=sse(event, "[DONE]")) for _ in range(3)))
    with pytest.raises(kind, match=says):
        await wire.client().stream_chat(PAYLOAD)
    wire = Wire(*(httpx.Response(200, json=event) for _ in range(3)))
    with pytest.raises(kind, match=says):
        await wire.client().post_chat_completions(PAYLOAD)


@pytest.mark.parametrize("finish", ["insufficient_system_resource", "error"])
async def test_a_service_that_gives_up_in_the_middle_is_unavailable(finish: str) -> None:
    """So another provider may be asked; it is no answer that was paid."""
    wire = Wire(httpx.Response(200, content=sse(delta("да"), delta("", finish), "[DONE]")))
    with pytest.raises(ProviderUnavailable, match="failed in the middle"):
        await wire.client().stream_chat(PAYLOAD)


@pytest.mark.parametrize(
    ("status", "body", "kind", "says", "asked"),
    [
        (402, {"error": {"message": "Insufficient Balance"}}, ProviderUnavailable, "402: Insufficient Balance", 1),
        (408, {"error": {"message": "timed out"}}, TryAgainError, "408: timed out", 3),
        (404, b"404 page not found", RejectedRequest, "404: 404 page not found; check the base address, .* ends in /v1", 1),
        (405, b"", RejectedRequest, "405: no explanation; check the base address", 1),
        (404, {"error": {"message": "model not found"}}, RejectedRequest, r"404: model not found\.$", 1),
    ],
)
async def test_what_a_status_means_for_the_next_request(
    status: int, body: Any, kind: type[ModelClientError], says: str, asked: int
) -> None:
    """An empty account shuts the provider, a late one is asked again, a wrong address is suspected where nobody explains the status."""
    given_body: dict[str, Any] = {"content": body} if isinstance(body, bytes) else {"json": body}
    wire = Wire(*(httpx.Response(status, **given_body) for _ in range(3)))
    with pytest.raises(kind, match=says):
        await wire.client().stream_chat(PAYLOAD)
    assert len(wire.requests) == asked


def test_an_effort_that_nobody_knows_is_refused() -> None:
    """On the port, before anything is sent."""
    with pytest.raises(ValueError, match="reasoning_effort of a model is 'huge'"):
        ModelOptions(reasoning_effort="huge")  # type: ignore[arg-type]  # on purpose


async def test_a_message_beside_choices_is_no_error() -> None:
    """Only a body without an answer is one."""
    wire = Wire(httpx.Response(200, json={**completion("да"), "message": "ok"}))
    assert (await wire.client().stream_chat(PAYLOAD)).text == "да"

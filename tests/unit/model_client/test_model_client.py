"""The model client against a replaced transport: what is sent, what is accepted, what is tried again, what never leaks."""

import json
import logging
import traceback
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from orchestrator.domain.errors import ModelClientError, SettingsError
from orchestrator.model_client.client import MAX_BODY, ModelClient
from orchestrator.model_client.settings import ModelSettings

KEY = "very-secret-0123456789"
PAYLOAD = {"messages": [{"role": "user", "content": "Привет"}]}
Handler = Callable[[httpx.Request], httpx.Response]


def sse(*events: object) -> bytes:
    """Return an event stream; a string stands as it is, anything else as JSON."""
    return "".join(f"data: {e if isinstance(e, str) else json.dumps(e)}\n\n" for e in events).encode()


def delta(content: object, finish: str | None = None, **extra: object) -> dict[str, Any]:
    """Return one chunk of a streamed completion."""
    return {"model": "m-1", "choices": [{"index": 0, "delta": {"content": content, **extra}, "finish_reason": finish}]}


def completion(content: object, finish: str = "stop", **extra: object) -> dict[str, Any]:
    """Return a completion as one body."""
    message = {"role": "assistant", "content": content, **extra}
    usage = {"prompt_tokens": 3, "completion_tokens": 2}
    return {"model": "m-1", "choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": usage}


USAGE = {"model": "m-1", "choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 5}}


class Wire:
    """A transport that answers from a list, remembers the requests, and refuses one request too many."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        """Keep the answers in order."""
        self.answers = list(answers)
        self.requests: list[httpx.Request] = []
        self.pauses: list[float] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        """Answer the next request."""
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def sleep(self, seconds: float) -> None:
        """Remember a pause instead of making it."""
        self.pauses.append(seconds)

    def client(self, **settings: Any) -> ModelClient:
        """Return a client over this wire."""
        told = ModelSettings(**({"api_key": SecretStr(KEY)} | settings))
        return ModelClient(told, transport=httpx.MockTransport(self), sleep=self.sleep)


def body(*events: object) -> httpx.Response:
    """Return a successful answer with these events."""
    return httpx.Response(200, content=sse(*events), headers={"content-type": "text/event-stream"})


GOOD = (delta("", role="assistant"), delta("При"), delta("вет"), delta(None, "stop"), USAGE, "[DONE]")


@pytest.mark.req("S004-16", "S004-17", "S004-18")
async def test_request_carries_model_key_and_base() -> None:
    """A call goes to the given base with the key, the default model and streaming with usage; the payload is kept."""
    wire = Wire(body(*GOOD), body(*GOOD), body(*GOOD))
    await wire.client().stream_chat({**PAYLOAD, "temperature": 0.1})
    await wire.client(base_url="https://llm.example/api/v2/").stream_chat({**PAYLOAD, "model": "other"})
    await wire.client(base_url="http://127.0.0.1:9/v1", api_key=None).stream_chat(PAYLOAD)
    first, second, third = wire.requests
    assert str(first.url) == "https://api.openai.com/v1/chat/completions"
    assert first.headers["authorization"] == f"Bearer {KEY}"
    assert json.loads(first.content) == {
        **PAYLOAD,
        "temperature": 0.1,
        "model": "gpt-5-thinking",
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert str(second.url) == "https://llm.example/api/v2/chat/completions"
    assert json.loads(second.content)["model"] == "other"
    assert "authorization" not in third.headers


@pytest.mark.req("S004-16")
async def test_stream_is_handed_out_and_summed_up() -> None:
    """Each piece is handed out as it arrives and the answer tells text, tokens, model and why it ended."""
    pieces: list[str] = []

    async def keep(piece: str) -> None:
        pieces.append(piece)

    answer = await Wire(body(*GOOD)).client().stream_chat(PAYLOAD, keep)
    assert pieces == ["При", "вет"]
    assert (answer.text, answer.model, answer.finish_reason) == ("Привет", "m-1", "stop")
    assert (answer.prompt_tokens, answer.completion_tokens) == (7, 5)
    assert answer.seconds >= 0


ACCEPTED: dict[str, tuple[bytes, str]] = {
    "plain JSON": (json.dumps(completion("да")).encode(), "да"),
    "plain JSON after blanks": (b" \n" + json.dumps(completion("да")).encode(), "да"),
    "plain JSON, not escaped": (json.dumps(completion("да 🙂"), ensure_ascii=False).encode(), "да 🙂"),
    "no usage, no DONE": (sse(delta("да"), delta(None, "stop")), "да"),
    "no last blank line": (sse(delta("да"), delta(None, "stop")).rstrip(), "да"),
    "comments between": (b": ping\n\n" + sse(delta("да", "stop")) + b": ping\n\n", "да"),
    "after DONE nothing counts": (sse(delta("да", "stop"), "[DONE]", delta("нет")), "да"),
    "other choice is skipped": (sse({"choices": [{"index": 1, "delta": {"content": "x"}}]}, delta("да", "stop")), "да"),
    "reasoning is skipped": (sse(delta(None, reasoning_content="hm"), delta("да", "stop")), "да"),
    "character in two halves": (sse(delta("\ud83d"), delta("\ude42", "stop")), "🙂"),
    "null error and usage": (sse({**delta("да", "stop"), "error": None, "usage": None}), "да"),
    "another natural end": (sse(delta("да", "eos")), "да"),
    "STOP of Gemini and Qwen": (sse(delta("да"), delta("", "STOP"), "[DONE]"), "да"),
    "COMPLETE of Cohere": (sse(delta("да", "COMPLETE"), "[DONE]"), "да"),
    "null as a word while it goes on": (sse(delta("д", "null"), delta("а", "null"), delta("", "stop")), "да"),
    "an empty reason behind the last": (sse(delta("да", "stop"), delta("", ""), "[DONE]"), "да"),
    "DONE without a reason": (sse(delta("да"), "[DONE]"), "да"),
    "plain JSON without a reason": (json.dumps({"choices": [{"message": {"content": "да"}}]}).encode(), "да"),
    "content in parts": (json.dumps(completion([{"type": "text", "text": "д"}, {"type": "text", "text": "а"}])).encode(), "да"),
    "content in parts with thinking": (
        sse(delta([{"type": "thinking", "thinking": [{"type": "text", "text": "хм"}]}, {"type": "text", "text": "да"}], "stop")),
        "да",
    ),
    "content is one part": (sse(delta({"type": "text", "text": "да"}, "stop")), "да"),
    "a part that is no text": (sse(delta([{"type": "reference", "reference_ids": [1]}, "да"], "stop")), "да"),
    "the index is null": (sse({"choices": [{"index": None, "delta": {"content": "да"}, "finish_reason": "stop"}]}), "да"),
    "the index is a text": (sse({"choices": [{"index": "0", "delta": {"content": "да"}, "finish_reason": "stop"}]}), "да"),
}


@pytest.mark.req("S004-16")
@pytest.mark.parametrize("name", ACCEPTED)
async def test_accepts_what_compatible_services_send(name: str) -> None:
    """Servers that ignore streaming, leave out DONE or the usage, or send comments are understood."""
    content, text = ACCEPTED[name]
    pieces: list[str] = []

    async def keep(piece: str) -> None:
        pieces.append(piece)

    answer = await Wire(httpx.Response(200, content=content)).client().stream_chat(PAYLOAD, keep)
    assert answer.text == text == "".join(pieces)


REFUSED: dict[str, tuple[bytes, str]] = {
    "cut off": (sse(delta("да"), delta(None, "length"), "[DONE]"), "cut off"),
    "cut off, plain": (json.dumps(completion("да", "length")).encode(), "cut off"),
    "content filter": (sse(delta("да", "content_filter")), "content filter"),
    "tool calls": (sse(delta("да", "tool_calls")), "tool_calls"),
    "no end": (sse(delta("да")), "broke off"),
    "nothing before DONE": (sse("[DONE]"), "broke off"),
    "MAX_TOKENS": (sse(delta("да", "MAX_TOKENS")), "cut off"),
    "SAFETY": (sse(delta("да", "SAFETY")), "content filter"),
    "empty": (sse(delta("", "stop"), "[DONE]"), "empty"),
    "blank": (sse(delta(" \n", "stop"), "[DONE]"), "empty"),
    "empty, plain": (json.dumps(completion("")).encode(), "empty"),
    "null content": (json.dumps(completion(None)).encode(), "empty"),
    "content is a number": (json.dumps(completion(7)).encode(), "not text"),
    "content of numbers": (json.dumps(completion([7])).encode(), "not text"),
    "only thinking in parts": (json.dumps(completion([{"type": "thinking", "thinking": "хм"}])).encode(), "for thinking"),
    "refusal": (sse(delta(None, refusal="I cannot"), delta(None, "stop")), "refused"),
    "refusal, plain": (json.dumps(completion(None, refusal="I cannot")).encode(), "refused"),
    "error in the stream": (sse(delta("да"), {"error": {"message": "overloaded"}}), "overloaded"),
    "error text in the stream": (sse({"error": "overloaded"}), "overloaded"),
    "error, plain": (b'{"error": {"code": "bad", "message": "no such model."}}', "bad, no such model"),
    "nothing": (b"", "broke off"),
    "a page": (b"<html>busy</html>", "broke off"),
    "broken event": (sse('{"choices": [{"del'), "not JSON"),
    "event is a list": (sse("[1]"), "not an object"),
    "broken JSON": (b'{"choices": ', "not JSON"),
    "deep JSON": (b'{"a":' * 100_000, "not JSON"),
    "choices are no list": (b'{"choices": 1}', "no choices"),
    "choices of numbers": (sse({"choices": [1]}), "no choices"),
    "message is text": (sse({"choices": [{"message": "да"}]}), "without a message"),
    "not UTF-8": (b"data: \xff\n\n", "not UTF-8"),
    "not UTF-8, plain": (b'{"a": "\xff"}', "not UTF-8"),
    "half of a character": (sse(delta("\ud83d", "stop")), "broke off"),
    "wrong half": (sse(delta("\ude42x", "stop")), "half of a character"),
    "endless text": (sse(*[delta("x" * 50_000)] * 5), "longer than"),
    "endless body": ((b":" + b"x" * 500_000 + b"\n") * (MAX_BODY // 500_000), "more than"),
}


@pytest.mark.req("S004-20", "S004-21")
@pytest.mark.parametrize("name", REFUSED)
async def test_refuses_what_is_no_whole_answer(name: str) -> None:
    """An answer that is cut off, empty, refused, broken or endless is a ModelClientError, asked for once only."""
    content, says = REFUSED[name]
    wire = Wire(httpx.Response(200, content=content))
    with pytest.raises(ModelClientError, match=says):
        await wire.client().stream_chat(PAYLOAD)


@pytest.mark.req("S004-17", "S004-21")
@pytest.mark.parametrize(
    "settings",
    [
        {"api_key": None},
        {"api_key": SecretStr("  ")},
        {"api_key": None, "base_url": "http://11.0.0.5/v1"},
        {"api_key": None, "base_url": "https://127.0.0.1.example/v1"},
        {"api_key": SecretStr("sk-secret\nX: y")},
        {"api_key": SecretStr("сгкрет-ключ")},
    ],
)
async def test_no_usable_key_is_one_clear_sentence(settings: dict[str, Any]) -> None:
    """Without a key nothing is sent and the reason names the setting, not its value."""
    wire = Wire()
    for call in (wire.client(**settings).stream_chat, wire.client(**settings).post_chat_completions):
        with pytest.raises(ModelClientError, match="OPENAI_API_KEY") as caught:
            await call(PAYLOAD)
        assert "secret" not in caught.value.reason
    assert wire.requests == []


@pytest.mark.parametrize("base", ["http://127.0.0.1:11434/v1", "http://10.0.0.5:8000/v1", "http://ollama:11434/v1", "http://gpu.local/v1"])
async def test_a_service_within_the_own_network_needs_no_key(base: str) -> None:
    """Ollama and vLLM have none; then no header is sent."""
    wire = Wire(httpx.Response(200, content=sse(*GOOD)))
    assert (await wire.client(api_key=None, base_url=base).stream_chat(PAYLOAD)).text == "Привет"
    assert "authorization" not in wire.requests[0].headers


@pytest.mark.req("S004-18")
@pytest.mark.parametrize("url", ["", "llm.example/v1", "ftp://llm.example", "https://", "http://[::1", "http://h:99999", "http://h/v1?a=b"])
def test_bad_base_is_refused_without_repeating_it(url: str) -> None:
    """An address that cannot be one is refused at once by the name of its setting."""
    with pytest.raises(SettingsError, match="OPENAI_API_BASE") as caught:
        ModelSettings(base_url=url)
    assert url in {"", "https://"} or url not in caught.value.reason


def refused_connection() -> Exception:
    """Return what httpx raises when nobody listens."""
    return httpx.ConnectError(f"refused, by the way {KEY}")


AGAIN: dict[str, Callable[[], httpx.Response | Exception]] = {
    "429": lambda: httpx.Response(429, json={"error": {"message": "slow down"}}),
    "500": lambda: httpx.Response(500),
    "503": lambda: httpx.Response(503, text="<html>"),
    "529": lambda: httpx.Response(529),
    "refused": refused_connection,
    "connect timeout": lambda: httpx.ConnectTimeout("late"),
    "read error": lambda: httpx.ReadError("reset"),
    "disconnected": lambda: httpx.RemoteProtocolError("Server disconnected without sending a response."),
}


@pytest.mark.req("S004-21")
@pytest.mark.parametrize("name", AGAIN)
async def test_passing_trouble_is_tried_again(name: str) -> None:
    """A busy or unreachable service is asked again after a growing pause, and after the last attempt the error stands."""
    wire = Wire(AGAIN[name](), AGAIN[name](), body(*GOOD))
    assert (await wire.client().stream_chat(PAYLOAD)).text == "Привет"
    assert wire.pauses == [0.5, 1.0]
    wire = Wire(AGAIN[name](), AGAIN[name](), AGAIN[name]())
    with pytest.raises(ModelClientError) as caught:
        await wire.client().post_chat_completions(PAYLOAD)
    assert len(wire.requests) == 3
    assert KEY not in caught.value.reason


ONCE: dict[str, Callable[[], httpx.Response | Exception]] = {
    "400": lambda: httpx.Response(400, json={"error": {"message": "bad temperature"}}),
    "401": lambda: httpx.Response(401, json={"error": {"message": f"Incorrect API key provided: {KEY}"}}),
    "403": lambda: httpx.Response(403, text=KEY),
    "404": lambda: httpx.Response(404, json={"error": f"no model for Bearer {KEY} at https://user:pw@llm.example/v1"}),
    "302": lambda: httpx.Response(302, headers={"location": "https://elsewhere.example"}),
    "quoted key": lambda: httpx.Response(400, json={"error": {"message": "Bearer pw@abcdef, sk-pw@abcdef"}}),
    "204": lambda: httpx.Response(204),
    "no quota": lambda: httpx.Response(429, json={"error": {"code": "insufficient_quota", "message": "pay"}}),
    "read timeout": lambda: httpx.ReadTimeout("late"),
    "bad answer": lambda: httpx.DecodingError("gzip"),
}


@pytest.mark.req("S004-21")
@pytest.mark.parametrize("name", ONCE)
async def test_lasting_trouble_is_reported_at_once(name: str) -> None:
    """What another attempt cannot mend is reported after one request, and no reason holds the key or an address."""
    wire = Wire(ONCE[name]())
    with pytest.raises(ModelClientError) as caught:
        await wire.client().stream_chat(PAYLOAD)
    assert len(wire.requests) == 1
    assert wire.pauses == []
    told = caught.value.reason + "".join(traceback.format_exception(caught.value))
    assert KEY not in told
    assert "pw@" not in told
    assert "OPENAI_API_KEY" in told or name not in {"401", "403"}


@pytest.mark.req("S004-21")
@pytest.mark.parametrize(
    ("headers", "pause"),
    [
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after": "Sat, 21 Nov 2026 10:00:07 GMT", "date": "Sat, 21 Nov 2026 10:00:00 GMT"}, 7.0),
        ({"retry-after": "Sat, 21 Nov 2026 09:00:00 GMT", "date": "Sat, 21 Nov 2026 10:00:00 GMT"}, 0.0),
        ({"retry-after": "Sat, 21 Nov 2026 10:00:07 GMT"}, 0.5),
        ({"retry-after": "soon"}, 0.5),
        ({"retry-after": "-5"}, 0.5),
    ],
)
async def test_retry_after_is_honoured(headers: dict[str, str], pause: float) -> None:
    """The pause is what the service asks for, in seconds or as a date against its own clock."""
    wire = Wire(httpx.Response(429, headers=headers), body(*GOOD))
    await wire.client().stream_chat(PAYLOAD)
    assert wire.pauses == [pause]


@pytest.mark.req("S004-21")
async def test_a_pause_beyond_the_deadline_is_not_begun() -> None:
    """If the service asks to wait longer than the call may last, the error is told at once."""
    wire = Wire(httpx.Response(429, headers={"retry-after": "3600"}))
    with pytest.raises(ModelClientError, match="429"):
        await wire.client(total_deadline=60.0).stream_chat(PAYLOAD)
    assert (len(wire.requests), wire.pauses) == (1, [])


@pytest.mark.req("S004-20")
@pytest.mark.parametrize(
    "payload", [{}, {"messages": []}, {**PAYLOAD, "x": float("nan")}, {**PAYLOAD, "x": "\ud800"}, {**PAYLOAD, "x": {1}}]
)
async def test_bad_request_is_not_sent(payload: dict[str, Any]) -> None:
    """A request without messages, or one that is no JSON, is refused before the wire."""
    wire = Wire()
    with pytest.raises(ModelClientError, match="request to the model"):
        await wire.client().stream_chat(payload)
    assert wire.requests == []


@pytest.mark.req("S004-16")
async def test_post_returns_the_body_as_it_came(caplog: pytest.LogCaptureFixture) -> None:
    """The plain call returns the standard body, also one that ended at its length, and logs only when asked, masked."""
    caplog.set_level(logging.DEBUG)
    told = completion("да", "length") | {"x": KEY}
    wire = Wire(httpx.Response(200, json=told), httpx.Response(200, json=told))
    client = wire.client()
    assert await client.post_chat_completions(PAYLOAD) == told
    assert caplog.text == ""
    assert await client.post_chat_completions(PAYLOAD, verbose=True) == told
    assert json.loads(wire.requests[0].content)["stream"] is False
    assert "Привет" in caplog.text
    assert "да" in caplog.text
    assert KEY not in caplog.text
    assert {record.levelname for record in caplog.records} == {"DEBUG"}


@pytest.mark.req("S004-20", "S004-21")
@pytest.mark.parametrize("content", [b"", b"<html>", b"[]", b"{", b'{"error": {"message": "no"}}', b"\xff"])
async def test_post_refuses_what_is_no_body(content: bytes) -> None:
    """The plain call raises ModelClientError on anything that is not a JSON object without an error."""
    with pytest.raises(ModelClientError):
        await Wire(httpx.Response(200, content=content)).client().post_chat_completions(PAYLOAD)


async def test_the_door_keeps_its_own_errors() -> None:
    """What the receiver of deltas raises passes through untouched, even a timeout, and nothing is tried again."""
    for error in (TimeoutError("door"), RuntimeError("door"), httpx.ReadError("door")):

        async def fail(_piece: str, error: Exception = error) -> None:
            raise error

        wire = Wire(body(*GOOD))
        with pytest.raises(type(error), match="door"):
            await wire.client().stream_chat(PAYLOAD, fail)
        assert len(wire.requests) == 1


async def test_closed_client_says_so() -> None:
    """After aclose a call is a ModelClientError, and closing twice is harmless."""
    client = Wire().client()
    await client.aclose()
    await client.aclose()
    with pytest.raises(ModelClientError, match="closed"):
        await client.stream_chat(PAYLOAD)


def test_settings_do_not_show_the_key() -> None:
    """Printing the settings never prints the key."""
    assert KEY not in repr(ModelSettings(api_key=SecretStr(KEY)))

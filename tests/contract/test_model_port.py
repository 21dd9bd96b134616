"""What every service of models must get and may send: the port over services on loopback, each as one family answers."""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import SecretStr

from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.models import EmbedRequest, ModelRequest, ModelTool, UnusableAnswer
from orchestrator.model_client.client import ModelClient
from orchestrator.model_client.dialects import DASHSCOPE, GIGACHAT, OTHER, YANDEX, Dialect, Tuning, find_dialect
from orchestrator.model_client.failures import RejectedRequest
from orchestrator.model_client.providers import GigaChatProvider, OpenAiProvider
from orchestrator.model_client.settings import ModelSettings
from tests.unit.model_client.loopback_kit import Seen, reply, serving
from tests.unit.model_client.test_model_client import delta, sse

QUESTION = ModelRequest(messages=({"role": "user", "content": "?"},), role="tool")
TOOL = ModelTool(name="find", parameters={"type": "object", "properties": {"q": {"type": "string"}}})
STREAM = "Content-Type: text/event-stream\r\n"


@dataclass
class Vectors:
    """A service of vectors that takes so many texts at once, and refuses these texts always."""

    most: int
    refused: tuple[str, ...] = ()
    asked: list[tuple[str, list[str]]] = field(default_factory=list)

    def answer(self, seen: Seen) -> bytes:
        """The length of each text as its vector; 400 in the words of Yandex."""
        body = json.loads(seen.body)
        self.asked.append((body["model"], body["input"]))
        if len(body["input"]) > self.most or set(self.refused) & set(body["input"]):
            return reply({"error": {"code": "InvalidParameter", "message": "too many"}}, 400)
        return reply({"data": [{"index": at, "embedding": [float(len(text)), 1.0]} for at, text in enumerate(body["input"])]})

    @property
    def sizes(self) -> list[int]:
        """How many texts each request had."""
        return [len(texts) for _, texts in self.asked]


@asynccontextmanager
async def a_provider(
    answer: Callable[[Seen], bytes], dialect: Dialect = OTHER, *, embedding_model: str = "vec", **tuned: Any
) -> AsyncIterator[OpenAiProvider]:
    """A provider of this dialect over a service."""
    async with serving(answer) as service:
        client = ModelClient(ModelSettings(base_url=f"{service.base}/v1", api_key=SecretStr("k"), default_model="m", max_attempts=1))
        made = GigaChatProvider if dialect is GIGACHAT else OpenAiProvider
        yield made(client, model="m", embedding_model=embedding_model, tuning=Tuning(dialect=dialect, **tuned))
        await client.aclose()


@pytest.mark.req("S001-13")
@pytest.mark.parametrize(
    ("dialect", "most", "sizes"), [(YANDEX, 1, [1] * 11), (DASHSCOPE, 10, [10, 1]), (OTHER, 64, [11]), (GIGACHAT, 64, [11])]
)
async def test_vectors_are_asked_for_in_portions_that_the_service_takes(dialect: Dialect, most: int, sizes: list[int]) -> None:
    """Each text has its own vector, in order, and nothing is asked in vain."""
    service = Vectors(most)
    async with a_provider(service.answer, dialect) as provider:
        answer = await provider.embed(EmbedRequest(texts=["т" * length for length in range(1, 12)]))
    assert [vector[0] for vector in answer.vectors] == list(range(1, 12))
    assert service.sizes == sizes


@pytest.mark.req("S001-13")
@pytest.mark.parametrize(("most", "sizes"), [(25, [64, 32, 16, 16, 16, 16]), (1, [64, 32, 16, 8, 4, 2, *[1] * 64])])
async def test_a_portion_that_is_refused_is_halved_and_that_is_kept(most: int, sizes: list[int]) -> None:
    """Of a service that nothing is known of; the next texts come in portions that it takes."""
    service = Vectors(most)
    async with a_provider(service.answer) as provider:
        assert len((await provider.embed(EmbedRequest(texts=["т"] * 64))).vectors) == 64
        assert service.sizes == sizes
        await provider.embed(EmbedRequest(texts=["т"] * 20))
        assert max(service.sizes[len(sizes) :]) <= most


async def test_a_text_that_is_refused_by_itself_says_nothing_about_portions() -> None:
    """Its error reaches whoever asked, and other texts still come together."""
    service = Vectors(64, refused=("плохой",))
    async with a_provider(service.answer) as provider:
        with pytest.raises(RejectedRequest, match="InvalidParameter"):
            await provider.embed(EmbedRequest(texts=["т"] * 7 + ["плохой"]))
        service.asked.clear()
        await provider.embed(EmbedRequest(texts=["т"] * 8))
    assert service.sizes == [8]


async def test_a_portion_in_the_settings_goes_before_what_is_known() -> None:
    """`embedding_batch` of MODELS_FILE."""
    service = Vectors(64)
    async with a_provider(service.answer, YANDEX, portion=4) as provider:
        await provider.embed(EmbedRequest(texts=["т"] * 8))
    assert service.sizes == [4, 4]


@pytest.mark.parametrize(
    ("dialect", "passages", "tuned", "questions"),
    [
        (YANDEX, "emb://b1g/text-search-doc/latest", {}, "emb://b1g/text-search-query/latest"),
        (YANDEX, "emb://b1g/own/latest", {}, "emb://b1g/own/latest"),
        (OTHER, "e5", {"question_model": "e5-query"}, "e5-query"),
        (OTHER, "e5", {}, "e5"),
    ],
)
async def test_questions_go_to_the_model_for_questions(dialect: Dialect, passages: str, tuned: Mapping[str, Any], questions: str) -> None:
    """Vectors of passages are made by the one, those of questions by the other, also if the name of the first is asked for."""
    service = Vectors(64)
    async with a_provider(service.answer, dialect, embedding_model=passages, **tuned) as provider:
        await provider.embed(EmbedRequest(texts=["текст"]))
        await provider.embed(EmbedRequest(texts=["вопрос"], purpose="question"))
        await provider.embed(EmbedRequest(texts=["вопрос"], purpose="question", model=passages))
        await provider.embed(EmbedRequest(texts=["вопрос"], purpose="question", model="another"))
    assert [model for model, _ in service.asked] == [passages, questions, questions, "another"]


def test_services_are_known_by_their_hosts() -> None:
    """Also under another name of the same service."""
    for host, dialect in (
        ("https://llm.api.cloud.yandex.net/v1", YANDEX),
        ("https://ai.api.cloud.yandex.net/v1", YANDEX),
        ("https://dashscope.aliyuncs.com/compatible-mode/v1", DASHSCOPE),
        ("https://dashscope-intl.aliyuncs.com/compatible-mode/v1", DASHSCOPE),
        ("https://dashscope.aliyuncs.com.example/v1", OTHER),
    ):
        assert find_dialect(host) is dialect


def say(*events: object) -> Callable[[Seen], bytes]:
    """A service that streams these events."""
    return lambda _seen: reply(sse(*events), headers=STREAM)


CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"q": "ш'}}
REST = {"function": {"arguments": 'ит"}'}}
ANSWERS: Mapping[str, Callable[[Seen], bytes]] = {
    "STOP": say(delta("Готово"), delta("", "STOP"), "[DONE]"),
    "COMPLETE": say(delta("Готово", "COMPLETE")),
    "no reason before DONE": say(delta("Гото"), delta("во"), "[DONE]"),
    "content in parts": say(delta([{"type": "thinking", "thinking": "хм"}, {"type": "text", "text": "Готово"}], "stop")),
    "whole, in parts": lambda _seen: reply({"choices": [{"message": {"content": [{"type": "text", "text": "Готово"}]}}]}),
}
CALLS: Mapping[str, Callable[[Seen], bytes]] = {
    "places are null": say(
        delta(None, tool_calls=[{"index": None, **CALL}]), delta(None, "tool_calls", tool_calls=[{"index": None, **REST}])
    ),
    "no places": say(delta(None, tool_calls=[CALL]), delta(None, "tool_use", tool_calls=[REST]), "[DONE]"),
    "no reason before DONE": say(delta(None, tool_calls=[{"index": 0, **CALL}]), delta("", tool_calls=[{"index": 0, **REST}]), "[DONE]"),
    "places are texts": say(delta(None, tool_calls=[{"index": "0", **CALL}]), delta(None, "stop", tool_calls=[{"index": "0", **REST}])),
    "the id comes first": say(
        delta(None, tool_calls=[{"index": 0, "id": "c1", "function": None}]),
        delta(None, tool_calls=[{"index": 0, "function": CALL["function"]}]),
        delta(None, "tool_calls", tool_calls=[{"index": 0, **REST}]),
    ),
    "the reason of text": say(delta(None, tool_calls=[{"index": 0, **CALL}]), delta(None, "STOP", tool_calls=[{"index": 0, **REST}])),
    "GigaChat": say(delta("", "function_call", function_call={"name": "find", "arguments": {"q": "шит"}}, functions_state_id="s-1")),
}


@pytest.mark.req("S004-16", "S004-20")
@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("dialect", [OTHER, GIGACHAT], ids=["openai", "gigachat"])
async def test_an_answer_of_any_family_is_one(dialect: Dialect, name: str) -> None:
    """It was paid: it is neither thrown away nor taken for a failure of the service."""
    async with a_provider(ANSWERS[name], dialect) as provider:
        assert (await provider.chat(QUESTION)).text == "Готово"


@pytest.mark.req("S001-X3")
@pytest.mark.parametrize("name", CALLS)
async def test_a_call_of_any_family_is_one(name: str) -> None:
    """Its pieces are put together wherever the service says that they belong."""
    async with a_provider(CALLS[name], GIGACHAT if name == "GigaChat" else OTHER) as provider:
        (call,) = (await provider.chat(ModelRequest(messages=QUESTION.messages, role="tool", tools=[TOOL]))).calls
    assert (call.name, call.arguments, call.problem) == ("find", {"q": "шит"}, "")


@pytest.mark.req("S004-21")
@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (say(delta("Гото")), ModelClientError),
        (say("[DONE]"), ModelClientError),
        (say(delta("Гото", "MAX_TOKENS"), "[DONE]"), UnusableAnswer),
        (say(delta("", "SAFETY"), "[DONE]"), UnusableAnswer),
        (say(delta("Гото", "other"), "[DONE]"), UnusableAnswer),
    ],
    ids=range(5),
)
async def test_what_is_no_whole_answer_stays_none(answer: Callable[[Seen], bytes], error: type[Exception]) -> None:
    """A stream that just ends has broken off, and a limit is a limit under any name."""
    async with a_provider(answer) as provider:
        with pytest.raises(error):
            await provider.chat(QUESTION)


@pytest.mark.req("S001-X3")
async def test_the_state_of_a_call_is_sent_back_to_gigachat_and_to_nobody_else() -> None:
    """With the call to which it belongs, when its result is told; another service would refuse a field that it does not know."""
    sent: list[Any] = []

    def answer(seen: Seen) -> bytes:
        sent.append(json.loads(seen.body)["messages"])
        return CALLS["GigaChat"](seen)

    request = ModelRequest(messages=QUESTION.messages, role="tool", tools=[TOOL])
    async with a_provider(answer, GIGACHAT) as provider:
        (call,) = (await provider.chat(request)).calls
        assert call.state == "s-1"
        written = {"id": call.id, "type": "function", "function": {"name": "find", "arguments": '{"q": "шит"}'}, "state": call.state}
        said = {"role": "assistant", "content": "", "tool_calls": [written]}
        told = (*QUESTION.messages, said, {"role": "tool", "tool_call_id": call.id, "content": "[]"})
        await provider.chat(ModelRequest(messages=told, role="tool", tools=[TOOL]))
    assert sent[1][1]["functions_state_id"] == "s-1"
    async with a_provider(answer) as provider:
        await provider.chat(ModelRequest(messages=told, role="tool", tools=[TOOL]))
    assert sent[2][1]["tool_calls"] == [{name: part for name, part in written.items() if name != "state"}]

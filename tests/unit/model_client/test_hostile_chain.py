"""Bounds, breakers, fallbacks and vectors under attack: stale calls, cancelled calls, faulty requests of one person, vectors in disorder."""

import asyncio
import json
from typing import Any

import pytest

from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.models import EmbedRequest, ModelAnswer, ModelOptions, ModelRequest, ProviderUnavailable, UnusableAnswer
from orchestrator.model_client.client import ModelClient
from orchestrator.model_client.dialects import OTHER
from orchestrator.model_client.plain_calls import PlainClient
from orchestrator.model_client.providers import OpenAiProvider
from orchestrator.model_client.router import CircuitBreaker, ModelRouter, Route
from orchestrator.model_client.settings import ModelSettings
from tests.unit.model_client.loopback_kit import FINE, Seen, Service, reply, serving
from tests.unit.model_client.test_model_client import delta, sse
from tests.unit.model_client.test_router import GOOD, REQUEST, Clock, Scripted, route

GONE = ProviderUnavailable("gone")


async def skip_pause(_seconds: float) -> None:
    """Skip a pause."""


def build_route(service: Service, name: str = "one", **more: Any) -> Route:
    """Return a route to this service on loopback."""
    client = ModelClient(ModelSettings(base_url=f"{service.base}/{name}", default_model="m"), sleep=skip_pause)
    return Route(name=name, provider=OpenAiProvider(client, model="m", embedding_model="e"), **more)


async def test_a_call_from_before_does_not_let_a_second_one_through_a_half_open_breaker() -> None:
    """Nor does its failure make the breaker wait longer; what the probe finds decides."""
    clock = Clock()
    breaker = CircuitBreaker(failures=1, cool_down=30, clock=clock)
    old, older, oldest = breaker.admit(), breaker.admit(), breaker.admit()
    assert old is not None
    assert older is not None
    oldest.record(works=False)
    clock.now = 29.0
    older.record(works=False)
    clock.now = 31.0
    probe = breaker.admit()
    assert probe is not None
    old.release()
    assert breaker.admit() is None
    probe.record(works=True)
    assert breaker.state == "closed"


async def test_twenty_calls_at_a_half_open_breaker_are_one_call() -> None:
    """The others end at once and hold no place."""
    clock = Clock()
    client = Scripted(GONE, GOOD)
    one = route("one", client, parallel=2, breaker=CircuitBreaker(failures=1, cool_down=30, clock=clock))
    router = ModelRouter([one], {})
    with pytest.raises(ModelClientError):
        await router.chat(REQUEST)
    clock.now, client.gate = 31.0, asyncio.Event()
    calls = [asyncio.ensure_future(router.chat(REQUEST)) for _ in range(20)]
    for _ in range(5):
        await asyncio.sleep(0)
    assert client.asked == 2
    client.gate.set()
    ended = await asyncio.gather(*calls, return_exceptions=True)
    assert sum(isinstance(one, ModelAnswer) for one in ended) == 1
    assert one.places._value == 2


async def test_calls_that_wait_for_a_place_do_not_go_to_a_provider_that_died_meanwhile() -> None:
    """Fifty calls wait in two places; after the third failure nobody is asked any more."""
    client = Scripted(GONE)
    router = ModelRouter([route("one", client, parallel=2, breaker=CircuitBreaker(failures=3, cool_down=30, clock=Clock()))], {})
    ended = await asyncio.gather(*(router.chat(REQUEST) for _ in range(50)), return_exceptions=True)
    assert all(isinstance(one, ModelClientError) for one in ended)
    assert client.asked <= 4


@pytest.mark.parametrize("moment", range(6))
async def test_a_cancelled_call_gives_its_place_back(moment: int) -> None:
    """Whenever it is cancelled: while it waits, while it is made, or when it is just done."""
    client = Scripted(GOOD)
    client.gate = asyncio.Event()
    one = route("one", client, parallel=1)
    router = ModelRouter([one], {})
    calls = [asyncio.ensure_future(router.chat(REQUEST)) for _ in range(3)]
    for step in range(moment):
        await asyncio.sleep(0)
        if step == 2:
            client.gate.set()
    for call in calls[:2]:
        call.cancel()
    client.gate.set()
    await asyncio.gather(*calls, return_exceptions=True)
    assert (await router.chat(REQUEST)).text == "да"
    assert (one.places._value, one.breaker.state, client.inside) == (1, "closed", 0)


FAULTY: list[Any] = [[], [{"role": "user", "content": object()}], [{"content": "x" * 500_000}]]


async def test_faulty_requests_of_one_engine_shut_the_model_for_nobody() -> None:
    """Requests without messages, that are no JSON or too long, and vectors without a model say nothing about the provider."""
    async with serving(lambda _: FINE) as service:
        one = build_route(service, breaker=CircuitBreaker(failures=2))
        one.provider.embedding_model = ""
        client = one.provider.client
        one.provider.client = PlainClient(client)
        router = ModelRouter([one], {})
        for _ in range(2):
            for messages in FAULTY:
                with pytest.raises(ModelClientError):
                    await router.chat(ModelRequest(messages=messages, role="tool"))
            with pytest.raises(ModelClientError):
                await router.embed(EmbedRequest(texts=["а"]))
        assert (one.breaker.state, service.seen) == ("closed", [])
        await client.aclose()  # type: ignore[attr-defined]  # a ModelClient


ENDLESS = {
    "text": sse(*[delta("x" * 60_000)] * 4, delta(None, "stop")),
    "arguments": sse(*[delta(None, tool_calls=[{"index": 0, "function": {"name": "t", "arguments": "x" * 60_000}}])] * 4),
    "calls": sse(*[delta(None, tool_calls=[{"id": str(one), "function": {"name": "t", "arguments": {}}}]) for one in range(200)]),
}


@pytest.mark.parametrize("name", ENDLESS)
async def test_an_endless_answer_to_one_person_shuts_the_model_for_nobody(name: str) -> None:
    """It was paid and came from a working service: the breaker stays closed, and nobody else is asked for the same."""
    async with serving(lambda _: reply(ENDLESS[name])) as service:
        one, two = build_route(service, breaker=CircuitBreaker(failures=1)), build_route(service, "two")
        with pytest.raises(ModelClientError):
            await ModelRouter([one, two], {}).chat(REQUEST)
        assert (one.breaker.state, len(service.seen)) == ("closed", 1)


async def test_an_answer_without_token_counts_is_estimated_and_not_free() -> None:
    """What is reported counts as it is reported, unless it is negative or absurd."""
    usages: list[Any] = [
        None,
        {"prompt_tokens": -7, "completion_tokens": 10**30},
        {"prompt_tokens": "9"},
        {"prompt_tokens": 9, "completion_tokens": 2},
    ]
    bodies = [reply(sse(delta("да" * 30), {**delta(None, "stop"), "usage": usage}, "[DONE]")) for usage in usages]
    async with serving(lambda _: bodies.pop(0)) as service:
        one = build_route(service)
        request = ModelRequest(messages=({"role": "user", "content": "x" * 300},))
        answers = [await ModelRouter([one], {}).chat(request) for _ in usages]
        await one.provider.client.aclose()  # type: ignore[attr-defined]  # as above
    assert [(one.prompt_tokens, one.completion_tokens) for one in answers] == [(104, 20)] * 3 + [(9, 2)]


def answer_vectors(request: Seen) -> bytes:
    """Return for each text a vector that holds its number, the last one first."""
    texts = json.loads(request.body)["input"]
    return reply({"data": [{"index": place, "embedding": [int(text), 0.5]} for place, text in reversed(list(enumerate(texts)))]})


@pytest.mark.long
async def test_ten_thousand_texts_are_asked_for_in_portions_and_come_in_order() -> None:
    """No service takes them at once, and their vectors would be longer than an answer may be."""
    async with serving(answer_vectors) as service:
        one = build_route(service)
        found = await ModelRouter([one], {}).embed(EmbedRequest(texts=[str(number) for number in range(10_000)]))
        await one.provider.client.aclose()  # type: ignore[attr-defined]  # as above
    assert [vector[0] for vector in found.vectors] == list(range(10_000))
    assert len(service.seen) == -(-10_000 // OTHER.portion)
    assert found.tokens > 10_000


DISORDER: dict[str, bytes | Any] = {
    "a place twice": {"data": [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [2.0]}]},
    "a place beyond": {"data": [{"index": 1, "embedding": [1.0]}, {"index": 2, "embedding": [2.0]}]},
    "a place missing": {"data": [{"index": 1, "embedding": [1.0]}, {"embedding": [2.0]}]},
    "a place that is no number": {"data": [{"index": True, "embedding": [1.0]}, {"index": 0, "embedding": [2.0]}]},
    "other lengths": {"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [2.0, 3.0]}]},
    "NaN": b'{"data": [{"index": 0, "embedding": [NaN]}, {"index": 1, "embedding": [1]}]}',
    "infinity": b'{"data": [{"index": 0, "embedding": [1e999]}, {"index": 1, "embedding": [1]}]}',
    "an endless integer": {"data": [{"index": 0, "embedding": [10**400]}, {"index": 1, "embedding": [1]}]},
    "truths": {"data": [{"index": 0, "embedding": [True]}, {"index": 1, "embedding": [1]}]},
    "base64": {"data": [{"index": 0, "embedding": "AACAPw=="}, {"index": 1, "embedding": "AACAPw=="}]},
}


@pytest.mark.parametrize("name", DISORDER)
async def test_vectors_that_might_belong_to_another_text_are_an_error(name: str) -> None:
    """A search over mixed-up vectors finds nonsense and nobody would notice."""
    body = DISORDER[name]
    async with serving(lambda _: reply(body)) as service:
        one = build_route(service)
        with pytest.raises(ModelClientError, match="vectors"):
            await ModelRouter([one], {}).embed(EmbedRequest(texts=["а", "б"]))
        await one.provider.client.aclose()  # type: ignore[attr-defined]  # as above


async def test_a_fallback_in_the_middle_of_many_texts_begins_anew() -> None:
    """Vectors of two models in one answer cannot be compared."""

    def answer(request: Seen) -> bytes:
        return reply({}, 404) if len(service.seen) == 3 and "/one/" in request.path else answer_vectors(request)

    async with serving(answer) as service:
        routes = [build_route(service), build_route(service, "two")]
        found = await ModelRouter(routes, {}).embed(EmbedRequest(texts=[str(number) for number in range(300)]))
        for one in routes:
            await one.provider.client.aclose()  # type: ignore[attr-defined]  # as above
    assert (found.provider, found.failed_before, len(found.vectors)) == ("two", ("one",), 300)
    assert sum("/two/" in path for path in service.list_paths()) == -(-300 // OTHER.portion)


@pytest.mark.parametrize("asked", [None, "special"])
async def test_an_answer_that_names_no_model_is_one_of_the_model_that_was_asked(asked: str | None) -> None:
    """Without a name its tokens would count for nobody, also if it cannot be used."""
    unnamed = [{name: value for name, value in one.items() if name != "model"} for one in (delta("да"), delta(None, "stop"))]
    bodies = [reply(sse(*unnamed)), reply(sse(unnamed[0], {"choices": [{"index": 0, "finish_reason": "length"}]}))]
    async with serving(lambda _: bodies.pop(0)) as service:
        one = build_route(service)
        router = ModelRouter([one], {})
        request = ModelRequest(messages=REQUEST.messages, options=ModelOptions(model=asked))
        answer = await router.chat(request)
        with pytest.raises(UnusableAnswer) as cut:
            await router.chat(request)
        await one.provider.client.aclose()  # type: ignore[attr-defined]  # as above
    assert cut.value.answer is not None
    assert [(one.model, one.provider) for one in (answer, cut.value.answer)] == [(asked or "m", "one")] * 2

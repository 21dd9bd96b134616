"""The router to providers: roles, fallbacks, bounds and circuit breakers."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.models import EmbedRequest, ModelAnswer, ModelRequest, ProviderUnavailable, UnusableAnswer
from orchestrator.model_client.client import ModelClient
from orchestrator.model_client.failures import RejectedRequest
from orchestrator.model_client.providers import OpenAiProvider
from orchestrator.model_client.router import CircuitBreaker, ModelRouter, Route
from orchestrator.model_client.settings import ModelSettings

REQUEST = ModelRequest(messages=({"role": "user", "content": "?"},))
GOOD = ModelAnswer("да", 3, 2, "m", "stop", 0.0)


class Scripted:
    """A client that answers from a list; it may speak a piece before it fails, and counts how many calls are in it at once."""

    def __init__(self, *answers: ModelAnswer | Exception, piece: str = "") -> None:
        self.answers, self.piece = list(answers), piece
        self.asked = self.inside = self.most = 0
        self.gate: asyncio.Event | None = None

    async def stream_chat(self, _payload: Any, on_delta: Any = None) -> ModelAnswer:
        self.asked += 1
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            if self.gate is not None:
                await self.gate.wait()
            await asyncio.sleep(0)
            if self.piece and on_delta:
                await on_delta(self.piece)
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            if isinstance(answer, Exception):
                raise answer
            return answer
        finally:
            self.inside -= 1

    async def post_chat_completions(self, payload: Any, *, verbose: bool = False) -> dict[str, object]:
        raise NotImplementedError

    async def post_embeddings(self, payload: Any, *, verbose: bool = False) -> dict[str, object]:
        raise NotImplementedError


class Clock:
    """A clock that moves when told."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def route(name: str, client: Scripted, **more: Any) -> Route:
    return Route(name=name, provider=OpenAiProvider(client, model=f"{name}-model"), **more)


async def drop(_piece: str) -> None:
    """Take a piece of text."""


async def test_a_provider_that_dies_is_replaced_and_named() -> None:
    """The answer says who gave it and who was asked first."""
    first, second = Scripted(ProviderUnavailable("gone")), Scripted(GOOD)
    router = ModelRouter([route("one", first), route("two", second)], {"agent": ["one", "two"]})
    answer = await router.chat(REQUEST, drop)
    assert (answer.text, answer.provider, answer.failed_before) == ("да", "two", ("one",))


async def test_no_other_provider_is_asked_once_text_was_shown() -> None:
    """The person has read the beginning of another answer."""
    first, second = Scripted(ProviderUnavailable("gone"), piece="Здрав"), Scripted(GOOD)
    with pytest.raises(ModelClientError, match="gone"):
        await ModelRouter([route("one", first), route("two", second)], {}).chat(REQUEST, drop)
    assert second.asked == 0


async def test_text_that_can_be_taken_back_does_not_keep_a_provider_from_being_replaced() -> None:
    """It is taken back before the other one begins, once; a provider that failed before its first word leaves nothing to take back."""
    shown: list[str] = []

    async def show(piece: str) -> None:
        shown.append(piece)

    async def take_back() -> None:
        shown.clear()

    clients = Scripted(ProviderUnavailable("gone"), piece="Здрав"), Scripted(ProviderUnavailable("full")), Scripted(GOOD, piece="да")
    router = ModelRouter([route(name, client) for name, client in zip(("one", "two", "three"), clients, strict=True)], {})
    answer = await router.chat(REQUEST, show, on_restart=take_back)
    assert (answer.provider, answer.failed_before, shown) == ("three", ("one", "two"), ["да"])


async def test_an_answer_that_cannot_be_used_is_paid_once() -> None:
    """A provider that answered is not replaced."""
    first, second = Scripted(UnusableAnswer("cut")), Scripted(GOOD)
    with pytest.raises(UnusableAnswer):
        await ModelRouter([route("one", first), route("two", second)], {}).chat(REQUEST)
    assert second.asked == 0


async def test_when_all_fail_each_reason_is_told() -> None:
    """With the name of the provider."""
    router = ModelRouter([route("one", Scripted(ProviderUnavailable("gone"))), route("two", Scripted(ProviderUnavailable("full")))], {})
    with pytest.raises(ModelClientError, match="one: gone two: full"):
        await router.chat(REQUEST)


@pytest.mark.parametrize(
    ("role", "service", "chosen"), [("agent", "", "one"), ("tool", "", "two"), ("tool", "writer", "three"), ("agent", "nobody", "one")]
)
async def test_roles_and_services_choose_the_provider(role: Any, service: str, chosen: str) -> None:
    """A service that the settings do not name is served as its role."""
    router = ModelRouter(
        [route(name, Scripted(GOOD)) for name in ("one", "two", "three")], {"agent": ["one"], "tool": ["two"]}, {"writer": ["three"]}
    )
    request = ModelRequest(messages=REQUEST.messages, role=role, service=service)
    assert (await router.chat(request)).provider == chosen
    assert router.find_model_name(request) == f"{chosen}-model"


async def test_no_more_calls_at_once_than_the_provider_has_places() -> None:
    """A fan of fifty has three calls under way, and all are answered."""
    client = Scripted(GOOD)
    router = ModelRouter([route("one", client, parallel=3)], {})
    answers = await asyncio.gather(*(router.chat(REQUEST) for _ in range(50)))
    assert (len(answers), client.most) == (50, 3)


async def test_people_whose_model_is_silent_leave_room_for_others() -> None:
    """Without a quota in the settings the 200th person is answered while the models of 199 say nothing."""
    client = Scripted(GOOD)
    silence = client.gate = asyncio.Event()
    router = ModelRouter([route("one", client)], {})
    others = [asyncio.ensure_future(router.chat(REQUEST)) for _ in range(199)]
    await asyncio.sleep(0)
    client.gate = None
    async with asyncio.timeout(30):
        assert (await router.chat(REQUEST)).text == "да"
    assert not any(one.done() for one in others)
    silence.set()
    await asyncio.gather(*others)


async def test_a_breaker_opens_after_failures_in_a_row_and_lets_one_call_try() -> None:
    """Open, it costs no call; half-open, one call tries and the others do not wait for it; what the probe finds decides."""
    clock, told = Clock(), list[tuple[str, str]]()
    client = Scripted(*[ProviderUnavailable("gone")] * 3, GOOD)
    one = route("one", client, breaker=CircuitBreaker(failures=3, cool_down=30, clock=clock))
    router = ModelRouter([one], {}, observe=lambda name, how, _: told.append((name, how)))
    for _ in range(5):
        with pytest.raises(ModelClientError):
            await router.chat(REQUEST)
    assert (client.asked, one.breaker.state) == (3, "open")
    assert told == [("one", "failed")] * 3 + [("one", "skipped")] * 2

    clock.now = 31.0
    assert one.breaker.state == "half-open"
    client.gate = asyncio.Event()
    probe = asyncio.ensure_future(router.chat(REQUEST))
    await asyncio.sleep(0)
    with pytest.raises(ModelClientError, match="left alone"):
        await router.chat(REQUEST)
    client.gate.set()
    assert (await probe).text == "да"
    assert (client.asked, one.breaker.state) == (4, "closed")


async def test_a_cancelled_probe_does_not_keep_the_breaker_shut() -> None:
    """The next call tries instead."""
    clock = Clock()
    client = Scripted(ProviderUnavailable("gone"), GOOD)
    one = route("one", client, breaker=CircuitBreaker(failures=1, cool_down=30, clock=clock))
    router = ModelRouter([one], {})
    with pytest.raises(ModelClientError):
        await router.chat(REQUEST)
    clock.now, client.gate = 31.0, asyncio.Event()
    probe = asyncio.ensure_future(router.chat(REQUEST))
    await asyncio.sleep(0)
    probe.cancel()
    await asyncio.gather(probe, return_exceptions=True)
    client.gate.set()
    assert (await router.chat(REQUEST)).text == "да"


@pytest.mark.parametrize("harmless", [RejectedRequest("too long"), UnusableAnswer("cut")])
async def test_what_is_wrong_with_one_request_opens_no_breaker(harmless: ModelClientError) -> None:
    """One person's prompt must not shut the model for everybody."""
    one = route("one", Scripted(harmless), breaker=CircuitBreaker(failures=1))
    with pytest.raises(ModelClientError):
        await ModelRouter([one], {}).chat(REQUEST)
    assert one.breaker.state == "closed"


def embedder(answer: Any) -> ModelRouter:
    """Return a router whose provider answers requests for vectors with this body."""
    wire = httpx.MockTransport(lambda _: httpx.Response(200, json=answer))
    client = ModelClient(ModelSettings(api_key=SecretStr("k")), transport=wire)
    return ModelRouter.from_client(client, embedding_model="e")


async def test_vectors_come_in_the_order_of_the_texts() -> None:
    """Whatever order the service has; its tokens are summed if it counts them for each text, as GigaChat does."""
    rows: Sequence[dict[str, Any]] = [
        {"index": 1, "embedding": [3, 4.5], "usage": {"prompt_tokens": 4}},
        {"index": 0, "embedding": [1, 2], "usage": {"prompt_tokens": 6}},
    ]
    answer = await embedder({"data": rows}).embed(EmbedRequest(texts=["а", "б"]))
    assert (answer.vectors, answer.tokens, answer.provider) == ([[1, 2], [3, 4.5]], 10, "openai")


@pytest.mark.parametrize("wrong", [{}, {"data": []}, {"data": [{"embedding": []}]}, {"data": [{"embedding": ["1"]}]}, {"data": "x"}])
async def test_vectors_without_a_form_are_an_error(wrong: Any) -> None:
    """Too few, empty, or no numbers."""
    with pytest.raises(ModelClientError, match="vectors"):
        await embedder(wrong).embed(EmbedRequest(texts=["а"]))


class Hanging(Scripted):
    """A provider that takes a request and never answers."""

    async def stream_chat(self, _payload: Any, on_delta: Any = None) -> ModelAnswer:
        del on_delta
        self.asked += 1
        await asyncio.Event().wait()
        raise AssertionError


async def test_one_that_hangs_leaves_the_next_its_share_of_the_time() -> None:
    """A request with a limit is answered by the second within it; when all hang, the error comes within it, too."""
    chain = [route("first", Hanging()), route("second", Scripted(GOOD))]
    answer = await asyncio.wait_for(ModelRouter(chain, {}).chat(replace(REQUEST, within=0.2)), 30)
    assert (answer.text, answer.provider, answer.failed_before) == ("да", "second", ("first",))
    with pytest.raises(ProviderUnavailable, match=r"first: .* within 0\.1 seconds.* second: "):
        await asyncio.wait_for(
            ModelRouter([route("first", Hanging()), route("second", Hanging())], {}).chat(replace(REQUEST, within=0.2)), 30
        )

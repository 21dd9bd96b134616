"""Chooses the provider by role or service, with bounds, breakers and fallbacks."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeVar

from bitrix.masking import hide_installed
from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.models import (
    EmbedAnswer,
    EmbedRequest,
    ModelAnswer,
    ModelRequest,
    OnDelta,
    OnRestart,
    ProviderUnavailable,
    Role,
    UnusableAnswer,
)
from orchestrator.model_client.failures import RejectedRequest
from orchestrator.model_client.providers import OpenAiProvider, WireClient
from orchestrator.model_client.settings import PARALLEL

FAILURES: Final = 5
COOL_DOWN: Final = 30.0

State = Literal["closed", "open", "half-open"]


class CircuitBreaker:
    def __init__(self, *, failures: int = FAILURES, cool_down: float = COOL_DOWN, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit, self._cool_down, self._clock = failures, cool_down, clock
        self._failed = 0
        self._open_until: float | None = None
        self._probing = False

    @property
    def state(self) -> State:
        """Half-open lets a single call through."""
        if self._open_until is None:
            return "closed"
        return "half-open" if self._clock() >= self._open_until else "open"

    def admit(self) -> "Admission | None":
        """It must end in one of the admission's methods; None if no call may be made now."""
        if self._open_until is None:
            return Admission(self, is_probe=False)
        if self._probing or self._clock() < self._open_until:
            return None
        self._probing = True
        return Admission(self, is_probe=True)

    def end(self, *, is_probe: bool, works: bool | None) -> None:
        """`works` is None if the call tells nothing. While the breaker is open, an earlier call's failure does not prolong it."""
        if is_probe:
            self._probing = False
        if works:
            self._failed, self._open_until = 0, None
        elif works is False and (is_probe or self._open_until is None):
            self._failed += 1
            if is_probe or self._failed >= self._limit:
                self._open_until = self._clock() + self._cool_down


@dataclass(frozen=True, slots=True)
class Admission:
    breaker: CircuitBreaker
    is_probe: bool

    def record(self, *, works: bool) -> None:
        self.breaker.end(is_probe=self.is_probe, works=works)

    def release(self) -> None:
        self.breaker.end(is_probe=self.is_probe, works=None)


T = TypeVar("T")
WAIT_FOR_PLACE: Final = 60.0
Observed = Literal["answered", "failed", "skipped"]
Observe = Callable[[str, Observed, float], None]
"""The provider's name, how the call ended, seconds."""

log = logging.getLogger(__name__)


class NoPlace(ModelClientError):
    """Too many calls wait for a provider."""


@dataclass(kw_only=True)
class Route:
    name: str
    provider: OpenAiProvider
    parallel: int = PARALLEL
    breaker: CircuitBreaker = field(default_factory=CircuitBreaker)
    places: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self.places = asyncio.Semaphore(self.parallel)


class ModelRouter:
    def __init__(
        self,
        routes: Sequence[Route],
        roles: Mapping[Role, Sequence[str]],
        services: Mapping[str, Sequence[str]] | None = None,
        *,
        observe: Observe = lambda *_: None,
    ) -> None:
        """`roles` and `services` name chains; a role without one uses all in order."""
        self.routes = {route.name: route for route in routes}
        self._roles, self._services, self.observe = dict(roles), dict(services or {}), observe

    @classmethod
    def from_client(cls, client: WireClient, *, name: str = "openai", model: str = "", embedding_model: str = "") -> "ModelRouter":
        return cls([Route(name=name, provider=OpenAiProvider(client, model=model, embedding_model=embedding_model))], {})

    async def chat(self, request: ModelRequest, on_delta: OnDelta | None = None, *, on_restart: OnRestart | None = None) -> ModelAnswer:
        """Once text was passed on, another provider is asked only if `on_restart` can take it back."""
        hidden = hide_installed(request.messages)
        request = request if hidden is request.messages else replace(request, messages=hidden)
        handed_out = False

        async def watch(piece: str) -> None:
            nonlocal handed_out
            handed_out = True
            if on_delta is not None:
                await on_delta(piece)

        async def ask(route: Route) -> ModelAnswer:
            nonlocal handed_out
            if handed_out and on_restart is not None:
                handed_out = False
                await on_restart()
            return await route.provider.chat(request, watch if on_delta is not None else None)

        try:
            answer, route, failed = await self._ask_chain(
                self.find_chain(request.role, request.service), ask, lambda: handed_out and on_restart is None, within=request.within
            )
        except UnusableAnswer as error:
            if error.answer is not None:
                known = error.answer
                error.answer = self._complete_answer(known, request, self.routes[known.provider], known.failed_before)
            raise
        return self._complete_answer(answer, request, route, tuple(failed))

    def _complete_answer(self, answer: ModelAnswer, request: ModelRequest, route: Route, failed: tuple[str, ...]) -> ModelAnswer:
        """Budgets count by model and by tokens."""
        model = answer.model or request.options.model or route.provider.model or route.name
        return replace(request.count_missing(answer), model=model, provider=route.name, failed_before=failed)

    async def embed(self, request: EmbedRequest) -> EmbedAnswer:
        if not request.texts:
            return EmbedAnswer(vectors=())
        request = replace(request, texts=hide_installed(request.texts))
        answer, route, failed = await self._ask_chain(
            self.find_chain(request.role, request.service), lambda candidate: candidate.provider.embed(request)
        )
        return replace(answer, provider=route.name, failed_before=tuple(failed))

    def find_model_name(self, request: ModelRequest) -> str:
        return request.options.model or self.find_chain(request.role, request.service)[0].provider.model

    def find_chain(self, role: Role, service: str = "") -> list[Route]:
        names = self._services.get(service) or self._roles.get(role) or tuple(self.routes)
        return [self.routes[name] for name in names]

    async def _ask_chain(
        self,
        chain: Sequence[Route],
        ask: Callable[[Route], Awaitable[T]],
        is_final: Callable[[], bool] = lambda: False,
        *,
        within: float | None = None,
    ) -> tuple[T, Route, list[str]]:
        """All have `within` seconds together."""
        failures: dict[str, ModelClientError] = {}
        until = time.monotonic() + within if within is not None else None
        for number, route in enumerate(chain):
            share = (until - time.monotonic()) / (len(chain) - number) if until is not None else None
            try:
                return await self._ask_in_time(route, ask, share), route, list(failures)
            except UnusableAnswer as error:
                if error.answer is not None:
                    error.answer = replace(error.answer, provider=route.name, failed_before=tuple(failures))
                raise
            except ModelClientError as error:
                failures[route.name] = error
                if is_final():
                    raise
                if route is not chain[-1]:
                    log.warning("%s did not answer: %s", route.name, error.reason, extra={"action": "model_fallback"})
        if len(failures) == 1:
            raise next(iter(failures.values()))
        raise ProviderUnavailable("No provider answered. " + " ".join(f"{name}: {failure.reason}" for name, failure in failures.items()))

    async def _ask_in_time(self, route: Route, ask: Callable[[Route], Awaitable[T]], seconds: float | None) -> T:
        if seconds is None:
            return await self._ask_route(route, ask)
        watch = asyncio.timeout(seconds)
        try:
            async with watch:
                return await self._ask_route(route, ask)
        except TimeoutError:
            if not watch.expired():
                raise
            raise ProviderUnavailable(f"The model service did not answer within {seconds:.1f} seconds.") from None

    async def _ask_route(self, route: Route, ask: Callable[[Route], Awaitable[T]]) -> T:
        if route.breaker.state == "open":
            raise self._skip(route)
        await _take_place(route)
        try:
            admission = route.breaker.admit()  # it may have opened while this call waited for its place
            if admission is None:
                raise self._skip(route)
            return await self._ask_admitted(route, admission, ask)
        finally:
            route.places.release()

    async def _ask_admitted(self, route: Route, admission: Admission, ask: Callable[[Route], Awaitable[T]]) -> T:
        started = time.monotonic()
        works: bool | None = None
        try:
            answer = await ask(route)
            works = True
        except ModelClientError as error:
            works = isinstance(error, UnusableAnswer | RejectedRequest)
            raise
        finally:
            if works is None:
                admission.release()
            else:
                admission.record(works=works)
                self._tell(route, "answered" if works else "failed", time.monotonic() - started)
        return answer

    def _skip(self, route: Route) -> ProviderUnavailable:
        self._tell(route, "skipped", 0.0)
        return ProviderUnavailable("The model service failed several times in a row and is left alone for a while.")

    def _tell(self, route: Route, how: Observed, seconds: float) -> None:
        with suppress(Exception):  # whoever counts must not disturb the call
            self.observe(route.name, how, seconds)


async def _take_place(route: Route) -> None:
    if not route.places.locked():
        await route.places.acquire()
        return
    try:
        async with asyncio.timeout(WAIT_FOR_PLACE):
            await route.places.acquire()
    except TimeoutError:
        raise NoPlace("Too many calls wait for the model service.") from None

"""The Prometheus counters of this process. No label contains a person, an id or a text, and each has a limited number of values."""

import platform
import re
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from prometheus_client import CollectorRegistry, Counter, GCCollector, Histogram, Info, ProcessCollector, disable_created_metrics
from prometheus_client.metrics_core import GaugeMetricFamily

from orchestrator.runtime.metrics import OTHER

MOST_ENGINES: Final = 20
MOST_MODELS: Final = 20
"""A provider may return any name."""
_MODEL: Final = re.compile(r"[A-Za-z][A-Za-z0-9._:/-]{0,62}[A-Za-z0-9]", re.ASCII)
_ENGINE: Final = re.compile(r"[a-z][a-z0-9_]{0,39}", re.ASCII)
_VERBS: Final = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})
_MODEL_SECONDS: Final = (0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120)
_WAITS: Final = (0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 30, 60)
_LAGS: Final = (0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 5)
_REQUESTS: Final = (0.005, 0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120)

Price = Callable[[str, int, int], tuple[float, str] | None]
"""Cost and currency for (model, prompt tokens, completion tokens); None if the price is not known."""


class Labels:
    """The first `most` values that match a pattern are used; every other becomes "other"."""

    def __init__(self, most: int, plain: re.Pattern[str]) -> None:
        self._most, self._pattern = most, plain
        self._known: set[str] = set()

    def resolve(self, value: str) -> str:
        if value in self._known:
            return value
        if len(self._known) >= self._most or not self._pattern.fullmatch(value):
            return OTHER
        self._known.add(value)
        return value


class Meters:
    """Counts what happens in the process. It implements `orchestrator.runtime.metrics.Meter`."""

    def __init__(self, *, database: str = "", price: Price = lambda *_: None) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # when a series began is of no use here, and doubles the page
        self.registry = registry = CollectorRegistry()
        self.price = price
        self._models, self._engines = Labels(MOST_MODELS, _MODEL), Labels(MOST_ENGINES, _ENGINE)
        self._runs = Counter("sdelka_runs", "Runs, by engine and by what became of them.", ["engine", "became"], registry=registry)
        self._nodes = Counter("sdelka_run_nodes", "Nodes of runs, by engine and by what they did.", ["engine", "kind"], registry=registry)
        self._turns = Counter("sdelka_turns", "Turns that ended, by how.", ["result"], registry=registry)
        self._iterations = Counter("sdelka_iterations", "Times that the model was asked, by result.", ["result"], registry=registry)
        self._calls = Counter("sdelka_calls", "Calls of the portal, by class and outcome.", ["class", "outcome"], registry=registry)
        self._refused = Counter("sdelka_gate_refused", "Steps that the gate refused, by reason.", ["reason"], registry=registry)
        self._cards = Counter("sdelka_confirmations", "Confirmations, by what became of them.", ["became"], registry=registry)
        self._latency = Histogram(
            "sdelka_model_answer_seconds", "How long the model took for an answer.", ["model"], buckets=_MODEL_SECONDS, registry=registry
        )
        self._tokens = Counter("sdelka_model_tokens", "Tokens, as the provider counted them.", ["model", "direction"], registry=registry)
        self._cost = Counter(
            "sdelka_model_cost", "Cost of the tokens where their price is known.", ["model", "currency"], registry=registry
        )
        self._providers = Counter(
            "sdelka_model_provider_calls",
            "Calls of each provider of models, by how they ended.",
            ["provider", "outcome"],
            registry=registry,
        )
        self._waits = Histogram("sdelka_limiter_wait_seconds", "How long a call waited for its place.", buckets=_WAITS, registry=registry)
        self._requests = Counter("sdelka_http_requests", "HTTP requests, by route.", ["method", "route", "status"], registry=registry)
        self._served = Histogram("sdelka_http_request_seconds", "Until the answer began.", ["route"], buckets=_REQUESTS, registry=registry)
        self._turned_away = Counter(
            "sdelka_http_refused", "Requests without a valid token, or over a limit.", ["reason"], registry=registry
        )
        self._lag = Histogram("sdelka_event_loop_lag_seconds", "How late the loop was.", buckets=_LAGS, registry=registry)
        Info("sdelka_build", "What runs.", registry=registry).info(
            {"version": find_version(), "python": platform.python_version(), "database": database}
        )
        ProcessCollector(registry=registry)
        GCCollector(registry=registry)

    def count_turn(self, result: str) -> None:
        """Such as "answered", "waiting" or "failed"."""
        self._turns.labels(result).inc()

    def count_model_answer(self, *, model: str, seconds: float, prompt: int, completion: int) -> None:
        """With tokens read and written, and the cost if the price is known."""
        self._iterations.labels("answered").inc()
        self._latency.labels(self._models.resolve(model)).observe(max(0.0, seconds))
        self._count_tokens(model, prompt, completion)

    def count_model_failure(self, *, model: str, prompt: int, completion: int) -> None:
        """Counts the tokens of an unusable answer; `model` is "" if there was none."""
        self._iterations.labels("failed").inc()
        if model:
            self._count_tokens(model, prompt, completion)

    def _count_tokens(self, model: str, prompt: int, completion: int) -> None:
        name = self._models.resolve(model)
        self._tokens.labels(name, "prompt").inc(max(0, prompt))
        self._tokens.labels(name, "completion").inc(max(0, completion))
        cost = self.price(model, prompt, completion)
        if cost is not None:
            self._cost.labels(name, cost[1]).inc(cost[0])

    def count_provider_call(self, provider: str, outcome: str, _seconds: float) -> None:
        """The outcome is "answered", "failed" or "skipped"."""
        self._providers.labels(provider, outcome).inc()

    def watch_breakers(self, list_states: Callable[[], Mapping[str, str]]) -> None:
        """Whether each provider's circuit breaker keeps calls back."""
        self.registry.register(_BreakerStates(list_states))

    def count_call(self, call_class: str, outcome: str) -> None:
        self._calls.labels(call_class, outcome).inc()

    def count_refusal(self, code: str) -> None:
        self._refused.labels(code).inc()

    def count_confirmation(self, became: str) -> None:
        """Requested, approved, denied, expired or superseded."""
        self._cards.labels(became).inc()

    def count_run(self, engine: str, became: str) -> None:
        self._runs.labels(self._engines.resolve(engine), became).inc()

    def count_node(self, engine: str, kind: str) -> None:
        """ "failed" for a node that failed."""
        self._nodes.labels(self._engines.resolve(engine), kind).inc()

    def observe_wait(self, seconds: float) -> None:
        self._waits.observe(max(0.0, seconds))

    def count_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """`route` is a path with placeholders, "" for an unknown address."""
        route = route or "none"
        self._requests.labels(method if method in _VERBS else OTHER, route, str(status)).inc()
        self._served.labels(route).observe(max(0.0, seconds))

    def count_turned_away(self, reason: str) -> None:
        """One of the API's error codes, never text from outside."""
        self._turned_away.labels(reason).inc()

    def observe_lag(self, seconds: float) -> None:
        """By which the event loop was late."""
        self._lag.observe(max(0.0, seconds))


class _BreakerStates:
    def __init__(self, list_states: Callable[[], Mapping[str, str]]) -> None:
        self._list_states = list_states

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """1 for each provider that is left alone at present."""
        text = "Whether a provider of models is left alone because it failed several times in a row."
        family = GaugeMetricFamily("sdelka_model_provider_open", text, labels=["provider"])
        for provider, state in self._list_states().items():
            family.add_metric([provider], float(state != "closed"))
        yield family


def find_version() -> str:
    """ "source" if run from a copy of the sources."""
    try:
        return version("sdelka")
    except PackageNotFoundError:
        return "source"

import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial as partial_of
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from bot.settings.model_plan import ProviderSpec, build_tuning, find_base, find_key, find_model_names, load_plan, name_base, name_key
from bot.settings.settings import Settings
from orchestrator.domain.errors import ModelClientError, SettingsError
from orchestrator.model_client.client import ModelClient
from orchestrator.model_client.gigachat_token import GigaChatToken
from orchestrator.model_client.providers import GigaChatProvider, OpenAiProvider, WireClient
from orchestrator.model_client.router import CircuitBreaker, ModelRouter, Observe, Route
from orchestrator.model_client.settings import ModelSettings, is_internal


@dataclass(frozen=True, kw_only=True)
class Providers:
    """The caller closes the clients."""

    router: ModelRouter
    clients: Mapping[str, ModelClient]
    probe: Callable[[], Awaitable[None]]
    """Asks providers of the role "agent" until one answers and tells `heard`; costs nothing."""


def build_providers(
    settings: Settings,
    *,
    heard: Callable[[Exception | None], None] = lambda _: None,
    observe: Observe = lambda *_: None,
    wrap: Callable[[ModelClient], WireClient] = lambda client: client,
    transports: Mapping[str, httpx.AsyncBaseTransport] | None = None,
) -> Providers:
    """Raises SettingsError.

    `heard` gets what became of the chain of "agent", `observe` each call; `wrap` returns what makes a client's requests.
    """
    plan = load_plan(settings)
    agents = plan.list_chain("agent")
    clients: dict[str, ModelClient] = {}
    routes: list[Route] = []
    for name, spec in plan.providers.items():
        heard_here = heard if agents == [name] else lambda _: None
        client = build_client(name, spec, settings, heard=heard_here, transport=(transports or {}).get(name))
        clients[name] = client
        breaker = CircuitBreaker(failures=spec.failures, cool_down=spec.cool_down)
        routes.append(Route(name=name, provider=build_provider(spec, wrap(client), settings), parallel=spec.parallel, breaker=breaker))
    router = ModelRouter(routes, plan.roles, plan.services, observe=observe)
    if len(agents) > 1:
        router.observe = partial_of(_tell_chain, router, agents, heard, observe)
    return Providers(router=router, clients=clients, probe=partial_of(_probe_chain, [clients[agent] for agent in agents], heard))


async def _probe_chain(clients: Sequence[ModelClient], heard: Callable[[Exception | None], None]) -> None:
    """Tell `heard` that one answers, or of the last failure."""
    failure: ModelClientError | None = None
    for client in clients:
        failure = await client.probe()
        if failure is None:
            break
    heard(failure)


def _tell_chain(
    router: ModelRouter, agents: Sequence[str], heard: Callable[[Exception | None], None], observe: Observe, *call_report: Any
) -> None:
    """Tell `heard` whether a provider of the agent's chain can be used."""
    name, how, _ = call_report
    observe(*call_report)
    if name in agents:
        closed = how == "answered" or any(router.routes[agent].breaker.state == "closed" for agent in agents if agent != name)
        heard(None if closed else ModelClientError("No provider answers."))


def build_provider(spec: ProviderSpec, client: WireClient, settings: Settings) -> OpenAiProvider:
    model, embeddings = find_model_names(spec, settings)
    tuning = build_tuning(spec, settings)
    if spec.kind == "gigachat":
        return GigaChatProvider(client, model=model, embedding_model=embeddings, tuning=tuning, wide_schemas=spec.wide_schemas)
    return OpenAiProvider(client, model=model, embedding_model=embeddings, tuning=tuning)


def build_model_settings(spec: ProviderSpec, settings: Settings) -> ModelSettings:
    """Raises SettingsError for a bad address."""
    base = find_base(spec, settings)
    _check_address(base, spec, name_base(spec))
    timeout = spec.timeout or settings.model_timeout.total_seconds()
    silence = spec.silence or spec.timeout or (settings.model_silence or settings.model_timeout).total_seconds()
    return ModelSettings(
        base_url=base,
        api_key=find_key(spec, settings),
        default_model=find_model_names(spec, settings)[0],
        connect_timeout=spec.connect or settings.model_connect_timeout.total_seconds(),
        total_deadline=spec.deadline or settings.model_deadline.total_seconds(),
        request_timeout=timeout,
        silence=silence,
        message_limit=spec.message_limit or settings.model_message_limit,
        key_name=name_key(spec) or "its `key`",
        reports_usage=spec.kind != "gigachat",
    )


def _check_address(url: str, spec: ProviderSpec, name: str) -> None:
    """Raise SettingsError if a key would leave the own network without TLS."""
    if urlsplit(url).scheme == "http" and not spec.plain_http and not is_internal(url):
        raise SettingsError(
            f"{name} must begin with https, or the key could be read on its way; `plain_http: true` in MODELS_FILE allows it"
        )


def build_client(
    name: str,
    spec: ProviderSpec,
    settings: Settings,
    *,
    heard: Callable[[Exception | None], None] = lambda _: None,
    transport: httpx.AsyncBaseTransport | None = None,
) -> ModelClient:
    """Raises SettingsError that names the provider."""
    try:
        model_settings = build_model_settings(spec, settings)
        if spec.kind == "openai" and spec.ca_file is not None:
            return ModelClient(model_settings, transport=transport, verify=_load_authority(spec.ca_file, "ca_file"), heard=heard)
        if spec.kind == "openai":
            return ModelClient(model_settings, transport=transport, heard=heard)
        return _build_gigachat_client(spec, model_settings, settings, heard, transport)
    except SettingsError as error:
        raise SettingsError(f"{error.reason} (provider {name})") from None


def _build_gigachat_client(
    spec: ProviderSpec,
    model_settings: ModelSettings,
    settings: Settings,
    heard: Callable[[Exception | None], None],
    transport: httpx.AsyncBaseTransport | None,
) -> ModelClient:
    if model_settings.api_key is None:
        raise SettingsError(f"there are no credentials: set {model_settings.key_name}")
    auth_url = spec.auth_url or settings.gigachat_auth_url
    if urlsplit(auth_url).scheme not in {"http", "https"} or not urlsplit(auth_url).hostname:
        raise SettingsError("GIGACHAT_AUTH_URL must be an http or https address")
    _check_address(auth_url, spec, "auth_url" if spec.auth_url else "GIGACHAT_AUTH_URL")
    context = _load_authority(spec.ca_file or settings.gigachat_ca_file, "ca_file" if spec.ca_file else "GIGACHAT_CA_FILE")
    token = GigaChatToken(auth_url, model_settings.api_key, spec.scope or settings.gigachat_scope, transport=transport, verify=context)
    return ModelClient(model_settings, transport=transport, verify=context, heard=heard, auth=token)


def _load_authority(path: Path | None, name: str) -> ssl.SSLContext:
    """Trust the file's authority beside the usual ones; `name` is the setting."""
    context = httpx.create_ssl_context()
    if path is None:
        return context
    try:
        context.load_verify_locations(cafile=path)
    except (OSError, ssl.SSLError):
        raise SettingsError(f"{name}: {path} holds no certificate that can be read (PEM)") from None
    return context

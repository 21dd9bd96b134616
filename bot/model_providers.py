"""The providers of language models that the settings or MODELS_FILE name, and the router built from them.

Without a file the OPENAI_* settings make one provider and the GIGACHAT_* settings another; docs/models.md shows both ways.
"""

import ipaddress
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial as partial_of
from pathlib import Path
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

import httpx
from pydantic import Field, SecretStr, ValidationError

from bot.http_transport import build_transport
from bot.settings import Settings, read_variable
from orchestrator.documents.reading import read_document
from orchestrator.domain.errors import ModelClientError, SettingsError
from orchestrator.domain.frozen import Frozen
from orchestrator.domain.models import Role
from orchestrator.model_client.breaker import COOL_DOWN, FAILURES, CircuitBreaker
from orchestrator.model_client.client import KEEPALIVE_SECONDS, ModelClient
from orchestrator.model_client.gigachat_token import GigaChatToken
from orchestrator.model_client.providers import GigaChatProvider, OpenAiProvider
from orchestrator.model_client.router import PARALLEL, ModelRouter, Observe, Route
from orchestrator.model_client.settings import ModelSettings, is_loopback
from orchestrator.model_client.wide_schemas import Fit

GIGACHAT_MODEL: Final = "GigaChat-2-Max"
GIGACHAT_EMBEDDINGS: Final = "Embeddings"
OPENAI: Final = "openai"
GIGACHAT: Final = "gigachat"
LARGEST_FILE: Final = 100_000
_KEYS: Final = frozenset({"openai_api_key", "gigachat_credentials"})
"""The settings that hold keys of providers; no other secret of the program is ever sent to one."""
_INTERNAL: Final = (".local", ".internal", ".lan", ".home.arpa", ".localdomain", ".localhost")
_Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]
_Chain = Annotated[list[_Name], Field(min_length=1, max_length=5)]
_Variable = Annotated[str, Field(pattern=r"^(?:[A-Z][A-Z0-9_]{0,99})?$")]


class ProviderSpec(Frozen):
    """One provider as MODELS_FILE describes it. Its key is never in the file: `key` names the setting or variable that holds it."""

    kind: Literal["openai", "gigachat"]
    base: str = ""
    plain_http: bool = False
    """Whether the key may be sent to an address outside of the own network without TLS."""
    key: _Variable = ""
    model: str = ""
    embedding_model: str = ""
    parallel: int = Field(PARALLEL, ge=1, le=1000)
    deadline: float = Field(120.0, gt=0, le=3600)
    timeout: float | None = Field(None, gt=0, le=3600)
    message_limit: int | None = Field(None, ge=1)
    failures: int = Field(FAILURES, ge=1, le=1000)
    cool_down: float = Field(COOL_DOWN, ge=0, le=3600)
    scope: str = ""
    auth_url: str = ""
    ca_file: Path | None = None
    wide_schemas: Fit = "split"


class ModelsPlan(Frozen):
    """The providers, and which of them serve the roles and the services of definitions, the first one first."""

    providers: dict[_Name, ProviderSpec] = Field(min_length=1)
    roles: dict[Role, _Chain] = Field(default_factory=dict)
    services: dict[Annotated[str, Field(min_length=1, max_length=100)], _Chain] = Field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class BuiltModels:
    """The router to all providers, and their clients by name, which the caller must close."""

    router: ModelRouter
    clients: Mapping[str, ModelClient]
    probe: Callable[[], Awaitable[None]]
    """Asks the providers of the role "agent" whether they answer, until one does, and tells `heard`; it costs nothing."""


def load_plan(settings: Settings) -> ModelsPlan:
    """Return the plan of MODELS_FILE or, without one, of the settings. Raises SettingsError that says what is wrong and where."""
    if settings.models_file is None:
        return _build_default_plan(settings)
    plan = _read_plan(settings.models_file)
    chains: list[tuple[str, list[str]]] = [*plan.roles.items(), *plan.services.items()]
    for place, chain in chains:
        if unknown := [name for name in chain if name not in plan.providers]:
            known = ", ".join(plan.providers)
            raise _build_fault(settings.models_file, f"{place} names the provider {unknown[0]}, which is not among {known}")
        if len(set(chain)) < len(chain):
            raise _build_fault(settings.models_file, f"{place} names a provider twice")
    for name, spec in plan.providers.items():
        if fault := _find_fault(spec):
            raise _build_fault(settings.models_file, f"providers.{name}: {fault}")
    return plan


def _read_plan(path: Path) -> ModelsPlan:
    try:
        with path.open("rb") as file:
            text = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise SettingsError(f"MODELS_FILE: {path} cannot be read ({type(error).__name__})") from None
    if len(text) > LARGEST_FILE:
        raise _build_fault(path, f"it is longer than {LARGEST_FILE} bytes")
    reading = read_document(text, "yaml")
    if reading.document is None:
        fault = next(one for one in reading.findings if one.severity == "error")
        raise _build_fault(path, f"line {fault.line}: it is not YAML that can be used: {fault.message}")
    try:
        return ModelsPlan.model_validate(reading.document.data)
    except ValidationError as error:
        faults = [f"{'.'.join(str(part) for part in one['loc']) or 'the file'}: {one['msg']}" for one in error.errors(include_input=False)]
        raise _build_fault(path, "; ".join(faults)) from None


def _build_fault(path: Path, fault: str) -> SettingsError:
    return SettingsError(f"MODELS_FILE: {path.name}: {fault}")


def _find_fault(spec: ProviderSpec) -> str:
    """Return what is wrong with a provider by itself, "" if nothing is. It never quotes what might be a key."""
    if spec.key and spec.key.lower() in Settings.model_fields.keys() - _KEYS:
        return f"key names {spec.key}, which is no key of a provider of models and is never sent to one"
    if spec.kind == "openai" and (spec.scope or spec.auth_url):
        return "scope and auth_url are of GigaChat only"
    if spec.kind == "openai" and spec.base and not spec.key and not is_loopback(spec.base):
        return "a base of its own needs a `key`: that of OPENAI_API_BASE is not sent elsewhere unasked"
    return ""


def _check_address(url: str, spec: ProviderSpec, name: str) -> None:
    """Raise SettingsError if a key would travel without TLS to an address that is not certainly within the own network."""
    parts = urlsplit(url)
    if parts.scheme == "http" and not spec.plain_http and not _is_internal(parts.hostname or ""):
        raise SettingsError(
            f"{name} must begin with https, or the key could be read on its way; `plain_http: true` in MODELS_FILE allows it"
        )


def _is_internal(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "." not in host or host.endswith(_INTERNAL)
    return address.is_loopback or address.is_private or address.is_link_local


def _build_default_plan(settings: Settings) -> ModelsPlan:
    """Return the plan of the settings alone: OPENAI_* serves everything, or talks to people beside GigaChat, which serves engines."""
    providers: dict[str, ProviderSpec] = {}
    local = ModelSettings(base_url=settings.openai_api_base).is_loopback
    if settings.openai_api_key is not None or local or settings.gigachat_credentials is None:
        embedding = "" if settings.gigachat_credentials is not None else settings.default_embedding_model or ""
        providers[OPENAI] = ProviderSpec(kind="openai", embedding_model=embedding)
    if settings.gigachat_credentials is not None:
        providers[GIGACHAT] = ProviderSpec(kind="gigachat")
    last = list(providers)[-1]
    return ModelsPlan(providers=providers, roles={"agent": [next(iter(providers))], "tool": [last], "embedding": [last]})


def list_model_secrets(settings: Settings) -> tuple[str, ...]:
    """Return the keys of all providers, to mask them. A key that is not set is left out."""
    found = [find_key(spec, settings) for spec in load_plan(settings).providers.values()]
    return tuple(key.get_secret_value() for key in found if key is not None)


def build_models(
    settings: Settings,
    *,
    heard: Callable[[Exception | None], None] = lambda _: None,
    observe: Observe = lambda *_: None,
    transports: Mapping[str, httpx.AsyncBaseTransport] | None = None,
) -> BuiltModels:
    """Build the router and its clients. Raises SettingsError.

    `heard` is called after each request to the only provider of the role "agent"; with several it gets what became of the whole chain, and
    `observe` gets each call. Tests give `transports` by the name of the provider.
    """
    plan = load_plan(settings)
    agents = plan.roles.get("agent") or list(plan.providers)
    clients: dict[str, ModelClient] = {}
    routes: list[Route] = []
    for name, spec in plan.providers.items():
        told = heard if agents == [name] else lambda _: None
        client = build_client(name, spec, settings, heard=told, transport=(transports or {}).get(name))
        clients[name] = client
        breaker = CircuitBreaker(failures=spec.failures, cool_down=spec.cool_down)
        routes.append(Route(name=name, provider=build_provider(spec, client, settings), parallel=spec.parallel, breaker=breaker))
    router = ModelRouter(routes, plan.roles, plan.services, observe=observe)
    if len(agents) > 1:
        router.observe = partial_of(_tell_chain, router, agents, heard, observe)
    return BuiltModels(router=router, clients=clients, probe=partial_of(_probe_chain, [clients[one] for one in agents], heard))


async def _probe_chain(clients: Sequence[ModelClient], heard: Callable[[Exception | None], None]) -> None:
    """Ask these clients in turn whether their service answers, and tell `heard` of the first that does, or of the last failure."""
    failure: ModelClientError | None = None
    for client in clients:
        failure = await client.probe()
        if failure is None:
            break
    heard(failure)


def _tell_chain(
    router: ModelRouter, agents: Sequence[str], heard: Callable[[Exception | None], None], observe: Observe, *told: Any
) -> None:
    """Pass a call on to `observe`, and tell `heard` whether any provider of the agent's chain can still be used."""
    name, how, _ = told
    observe(*told)
    if name in agents:
        closed = how == "answered" or any(router.routes[one].breaker.state == "closed" for one in agents if one != name)
        heard(None if closed else ModelClientError("No provider answers."))


def build_provider(spec: ProviderSpec, client: ModelClient, settings: Settings) -> OpenAiProvider:
    """Return the provider of this kind over its client."""
    model, embeddings = find_model_names(spec, settings)
    if spec.kind == "gigachat":
        return GigaChatProvider(client, model=model, embedding_model=embeddings, wide_schemas=spec.wide_schemas)
    return OpenAiProvider(client, model=model, embedding_model=embeddings)


def find_model_names(spec: ProviderSpec, settings: Settings) -> tuple[str, str]:
    """Return the names of the provider's models for (chat, embeddings), from the file or the settings."""
    if spec.kind == "gigachat":
        return spec.model or settings.default_model or GIGACHAT_MODEL, (
            spec.embedding_model or settings.default_embedding_model or GIGACHAT_EMBEDDINGS
        )
    return spec.model or settings.openai_model, spec.embedding_model


def build_model_settings(spec: ProviderSpec, settings: Settings) -> ModelSettings:
    """Return the address, key and limits of a provider. Raises SettingsError for an invalid address."""
    is_gigachat = spec.kind == "gigachat"
    base = spec.base or (settings.gigachat_api_base if is_gigachat else settings.openai_api_base)
    _check_address(base, spec, "base" if spec.base else "GIGACHAT_API_BASE" if is_gigachat else "OPENAI_API_BASE")
    timeout = spec.timeout or settings.model_timeout.total_seconds()
    return ModelSettings(
        base_url=base,
        api_key=find_key(spec, settings),
        default_model=find_model_names(spec, settings)[0],
        total_deadline=spec.deadline,
        request_timeout=timeout,
        silence=timeout,
        message_limit=spec.message_limit or settings.model_message_limit,
        key_name=_name_key(spec),
        reports_usage=not is_gigachat,
    )


def build_client(
    name: str,
    spec: ProviderSpec,
    settings: Settings,
    *,
    heard: Callable[[Exception | None], None] = lambda _: None,
    transport: httpx.AsyncBaseTransport | None = None,
) -> ModelClient:
    """Return the client of a provider. Raises SettingsError that names the provider and what is wrong with it."""
    try:
        told = build_model_settings(spec, settings)
        if spec.kind == "openai" and spec.ca_file is not None:
            return ModelClient(told, transport=transport, verify=_load_authority(spec.ca_file, "ca_file"), heard=heard)
        if spec.kind == "openai":
            return ModelClient(told, transport=transport or build_transport(told.base_url, kept=KEEPALIVE_SECONDS), heard=heard)
        return _build_gigachat_client(spec, told, settings, heard, transport)
    except SettingsError as error:
        raise SettingsError(f"{error.reason} (provider {name})") from None


def _build_gigachat_client(
    spec: ProviderSpec,
    told: ModelSettings,
    settings: Settings,
    heard: Callable[[Exception | None], None],
    transport: httpx.AsyncBaseTransport | None,
) -> ModelClient:
    if told.api_key is None:
        raise SettingsError(f"there are no credentials: set {told.key_name}")
    auth_url = spec.auth_url or settings.gigachat_auth_url
    if urlsplit(auth_url).scheme not in {"http", "https"} or not urlsplit(auth_url).hostname:
        raise SettingsError("GIGACHAT_AUTH_URL must be an http or https address")
    _check_address(auth_url, spec, "auth_url" if spec.auth_url else "GIGACHAT_AUTH_URL")
    context = _load_authority(spec.ca_file or settings.gigachat_ca_file, "ca_file" if spec.ca_file else "GIGACHAT_CA_FILE")
    token = GigaChatToken(auth_url, told.api_key, spec.scope or settings.gigachat_scope, transport=transport, verify=context)
    return ModelClient(told, transport=transport, verify=context, heard=heard, auth=token)


def _load_authority(path: Path | None, name: str) -> ssl.SSLContext:
    """Return the TLS context that trusts the certificate authority of the file that the setting `name` gives, beside the usual ones."""
    context = httpx.create_ssl_context()
    if path is None:
        return context
    try:
        context.load_verify_locations(cafile=path)
    except (OSError, ssl.SSLError):
        raise SettingsError(f"{name}: {path} holds no certificate that can be read (PEM)") from None
    return context


def _name_key(spec: ProviderSpec) -> str:
    return spec.key or ("GIGACHAT_CREDENTIALS" if spec.kind == "gigachat" else "OPENAI_API_KEY")


def find_key(spec: ProviderSpec, settings: Settings) -> SecretStr | None:
    """Return the key of a provider, None if it is not set."""
    name = _name_key(spec)
    if name.lower() not in _KEYS:
        return read_variable(name)
    known: SecretStr | None = getattr(settings, name.lower())
    return known

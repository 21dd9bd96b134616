"""Says which models are configured, who can answer, and what is doubtful."""

import logging
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from bot.settings.faults import describe_misspelt
from bot.settings.model_plan import (
    ModelsPlan,
    ProviderSpec,
    find_base,
    find_key,
    find_model_names,
    find_spec_dialect,
    load_plan,
    name_base,
    name_key,
)
from bot.settings.settings import Settings
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.models import Role
from orchestrator.model_client.settings import is_internal

log = logging.getLogger(__name__)

_SERVED: Final[tuple[tuple[Role, str], ...]] = (("agent", "People"), ("tool", "Engines"), ("embedding", "Vectors"))


def describe_chains(plan: ModelsPlan, settings: Settings) -> Iterator[tuple[str, str]]:
    for role, served in _SERVED:
        yield role, f"{served}: {_describe_chain(plan, plan.list_chain(role), settings, vectors=role == 'embedding')}."
    for service, chain in plan.services.items():
        yield f"service {service}", f"{_describe_chain(plan, chain, settings, vectors=False)}."


def _describe_chain(plan: ModelsPlan, chain: list[str], settings: Settings, *, vectors: bool) -> str:
    if vectors:
        chain = [name for name in chain if find_model_names(plan.providers[name], settings)[1]]
    if not chain:
        return "nobody, for there is no embedding model"
    return ", then ".join(describe_provider(name, plan.providers[name], settings, vectors=vectors) for name in chain)


def describe_provider(name: str, spec: ProviderSpec, settings: Settings, *, vectors: bool = False) -> str:
    model = find_model_names(spec, settings)[1 if vectors else 0] or "no model"
    parts = urlsplit(find_base(spec, settings))
    host = f"{parts.hostname}:{parts.port}" if parts.port else f"{parts.hostname}"
    tuning = [] if vectors else list(_list_tuning(spec))
    return f"{name} ({'; '.join([f'{model} at {host}', *tuning])})"


def _list_tuning(spec: ProviderSpec) -> Iterator[str]:
    for field in ("temperature", "reasoning_effort", "max_tokens", "deadline", "silence"):
        if (value := getattr(spec, field)) is not None:
            yield f"{field} {value:g}" if isinstance(value, float) else f"{field} {value}"
    if spec.extra_body:
        yield f"extra {', '.join(spec.extra_body)}"


def find_mute_reason(settings: Settings, role: Role = "agent") -> str:
    """ "" if one can be asked; an unusable plan is not judged here."""
    try:
        plan = load_plan(settings)
    except SettingsError:
        return ""
    lacking, variables = [], []
    for name in plan.list_chain(role):
        spec = plan.providers[name]
        if not lacks_key(spec, settings):
            return ""
        variables.append(name_key(spec))
        lacking.append(name_key(spec) or f"`key` of {name}")
    people = " people" if role == "agent" else ""
    return f"there is no key for a model that answers{people}: set {' or '.join(dict.fromkeys(lacking))}{describe_misspelt(*variables)}"


def lacks_key(spec: ProviderSpec, settings: Settings) -> bool:
    """GigaChat always needs one; services within the own network do not."""
    key = find_key(spec, settings)
    return (key is None or not key.get_secret_value().strip()) and (spec.kind == "gigachat" or not is_internal(find_base(spec, settings)))


def list_talking_models(settings: Settings) -> tuple[str, ...]:
    try:
        plan = load_plan(settings)
    except SettingsError:
        return (settings.openai_model,)
    return tuple(dict.fromkeys(find_model_names(plan.providers[name], settings)[0] for name in plan.list_chain("agent")))


def find_doubts(plan: ModelsPlan, settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield (provider, sentence) for what is probably a mistake."""
    used = {name for chain in (*plan.roles.values(), *plan.services.values()) for name in chain} or set(plan.providers)
    for name, spec in plan.providers.items():
        base, dialect, model = find_base(spec, settings), find_spec_dialect(spec, settings), find_model_names(spec, settings)[0]
        if name not in used:
            yield name, "It serves no role and no service, so it is never asked."
        if spec.kind == "openai" and not dialect.name and not urlsplit(base).path.strip("/"):
            yield name, f"The address in {name_base(spec)} has no path; most services want /v1 at its end."
        if dialect.names is not None and dialect.names.fullmatch(model) is None:
            yield name, f"{dialect.name} names its models {dialect.model_form}, and this one is called {model}."
        key = find_key(spec, settings)
        if spec.kind == "gigachat" and key is not None and ":" in key.get_secret_value():
            yield name, f"{name_key(spec)} has a colon; the authorization key of GigaChat, which has none, is wanted, not id and secret."


def log_models(settings: Settings) -> None:
    """Raises SettingsError if they cannot be used as described."""
    plan = load_plan(settings)
    log.info("models: %s", " ".join(says for _, says in describe_chains(plan, settings)), extra={"action": "models"})
    for name, doubt in find_doubts(plan, settings):
        log.warning("model provider %s: %s", name, doubt, extra={"action": "model_doubt"})
    if reason := find_mute_reason(settings):
        log.warning("%s; until then people are told that the model is not available", reason, extra={"action": "no_model_key"})
        return
    for name in [name for name, spec in plan.providers.items() if lacks_key(spec, settings)]:
        log.warning("model provider %s has no key and cannot be asked", name, extra={"action": "no_model_key"})

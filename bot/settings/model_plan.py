"""Which providers of language models there are, and who serves which role: from MODELS_FILE or the settings (docs/models.md)."""

from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, SecretStr, ValidationError

from bot.settings.settings import Settings, check_password, list_secrets, read_variable
from orchestrator.documents.reading import read_document
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.frozen import Frozen
from orchestrator.domain.models import Effort, Role
from orchestrator.domain.value_faults import describe_faults
from orchestrator.model_client import dialects
from orchestrator.model_client.dialects import Dialect, Fit, LengthField, Option, Tuning, find_dialect
from orchestrator.model_client.router import COOL_DOWN, FAILURES
from orchestrator.model_client.settings import PARALLEL, find_extra_fault, find_key_fault, is_address, is_internal, parse_extra_body

GIGACHAT_MODEL: Final = "GigaChat-2-Max"
GIGACHAT_EMBEDDINGS: Final = "Embeddings"
OPENAI: Final = "openai"
GIGACHAT: Final = "gigachat"
LARGEST_FILE: Final = 100_000
_KEYS: Final = frozenset({"openai_api_key", "gigachat_credentials"})
"""No other secret is ever sent to a provider."""
_TUNED: Final = ("temperature", "reasoning_effort", "max_tokens", "extra_body")
"""Settings with MODEL_ before the name give these to the provider that answers people."""
_OF_GIGACHAT: Final = ("scope", "auth_url", "wide_schemas")
_ENDPOINTS: Final = ("/chat/completions", "/completions", "/embeddings", "/models", "/responses")
_Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]
_Chain = Annotated[list[_Name], Field(min_length=1, max_length=5)]
_Variable = Annotated[str, Field(pattern=r"^(?:[A-Z][A-Z0-9_]{0,99})?$")]


def _parse_extra(value: object) -> object:
    return parse_extra_body(value) if isinstance(value, str) else value


class ProviderSpec(Frozen):
    """One provider of MODELS_FILE, which never holds its key: `key` names the setting or variable."""

    kind: Literal["openai", "gigachat"]
    base: str = ""
    plain_http: bool = False
    """Whether the key may be sent outside of the own network without TLS."""
    key: _Variable = ""
    model: str = ""
    embedding_model: str = ""
    embedding_question_model: str = ""
    """Makes vectors of questions; default: the same, or the one known to belong to it."""
    embedding_batch: int | None = Field(None, ge=1, le=2048)
    """Texts in one request for vectors."""
    parallel: int = Field(PARALLEL, ge=1, le=1000)
    deadline: float | None = Field(None, gt=0, le=3600)
    timeout: float | None = Field(None, gt=0, le=3600)
    silence: float | None = Field(None, gt=0, le=3600)
    connect: float | None = Field(None, gt=0, le=300)
    temperature: float | None = Field(None, ge=0, le=2)
    reasoning_effort: Effort | None = None
    max_tokens: int | None = Field(None, ge=1, le=10_000_000)
    length_field: LengthField | None = None
    omit: list[Option] | None = None
    extra_body: Annotated[dict[str, Any], BeforeValidator(_parse_extra)] = Field(default_factory=dict)
    message_limit: int | None = Field(None, ge=1)
    failures: int = Field(FAILURES, ge=1, le=1000)
    cool_down: float = Field(COOL_DOWN, ge=0, le=3600)
    scope: str = ""
    auth_url: str = ""
    ca_file: Path | None = None
    wide_schemas: Fit = "split"


class ModelsPlan(Frozen):
    """Who serves the roles and services, the first one first."""

    providers: dict[_Name, ProviderSpec] = Field(min_length=1)
    roles: dict[Role, _Chain] = Field(default_factory=dict)
    services: dict[Annotated[str, Field(min_length=1, max_length=100)], _Chain] = Field(default_factory=dict)

    def list_chain(self, role: Role) -> list[str]:
        return self.roles.get(role) or list(self.providers)


def load_plan(settings: Settings) -> ModelsPlan:
    """Raises SettingsError that says what is wrong and where."""
    path = settings.models_file
    plan = _build_default_plan(settings) if path is None else _load_file(path, settings)
    secrets = [*list_secrets(settings), *_list_keys(plan, settings)]
    for name, spec in plan.providers.items():
        if fault := _find_fault(spec, settings, secrets):
            raise SettingsError(f"{fault} (provider {name})") if path is None else _build_fault(path, f"providers.{name}: {fault}")
    return plan


def _load_file(path: Path, settings: Settings) -> ModelsPlan:
    for field in (*_TUNED, "chain"):
        if getattr(settings, f"model_{field}") is not None:
            where = "`roles`" if field == "chain" else f"`{field}` of the provider"
            raise SettingsError(f"MODEL_{field.upper()} has no effect beside MODELS_FILE: write {where} in the file in its place")
    plan = _read_plan(path)
    chains: list[tuple[str, list[str]]] = [*plan.roles.items(), *plan.services.items()]
    for place, chain in chains:
        if fault := _find_chain_fault(place, chain, plan.providers):
            raise _build_fault(path, fault)
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
        fault = next(finding for finding in reading.findings if finding.severity == "error")
        raise _build_fault(path, f"line {fault.line}: it is not YAML that can be used: {fault.message}")
    try:
        return ModelsPlan.model_validate(reading.document.data)
    except ValidationError as error:
        raise _build_fault(path, describe_faults(error, reading.document.data)) from None


def _build_fault(path: Path, fault: str) -> SettingsError:
    return SettingsError(f"MODELS_FILE: {path.name}: {fault}")


def _find_chain_fault(place: str, chain: list[str], known: dict[str, ProviderSpec]) -> str:
    if unknown := [name for name in chain if name not in known]:
        return f"{place} names the provider {unknown[0]}, which is not among {', '.join(known)}"
    return f"{place} names a provider twice" if len(set(chain)) < len(chain) else ""


def _build_default_plan(settings: Settings) -> ModelsPlan:
    """OPENAI_* serves everything, or talks to people beside GigaChat, which serves engines."""
    specs: dict[str, dict[str, Any]] = {}
    near = is_address(settings.openai_api_base) and is_internal(settings.openai_api_base)
    if settings.openai_api_key is not None or near or settings.gigachat_credentials is None:
        embedding = "" if settings.gigachat_credentials is not None else settings.default_embedding_model or ""
        specs[OPENAI] = {"kind": "openai", "embedding_model": embedding}
    if settings.gigachat_credentials is not None:
        specs[GIGACHAT] = {"kind": "gigachat"}
    last = list(specs)[-1]
    chain = [one.strip() for one in settings.model_chain.split(",")] if settings.model_chain is not None else [next(iter(specs))]
    if fault := _find_chain_fault("MODEL_CHAIN", chain, {name: ProviderSpec(**spec) for name, spec in specs.items()}):
        raise SettingsError(fault)
    first = specs[chain[0]]
    first.update({name: value for name in _TUNED if (value := getattr(settings, f"model_{name}")) is not None})
    providers = {name: ProviderSpec(**spec) for name, spec in specs.items()}
    return ModelsPlan(providers=providers, roles={"agent": chain, "tool": [last], "embedding": [last]})


def _find_fault(spec: ProviderSpec, settings: Settings, secrets: list[str]) -> str:
    """Never quotes what might be a key; "" if nothing is wrong."""
    if spec.key and spec.key.lower() in Settings.model_fields.keys() - _KEYS:
        return f"key names {spec.key}, which is no key of a provider of models and is never sent to one"
    if spec.kind == "openai" and (foreign := [name for name in _OF_GIGACHAT if name in spec.model_fields_set]):
        return "scope and auth_url are of GigaChat only" if foreign[0] != "wide_schemas" else "wide_schemas is of GigaChat only"
    if spec.kind == "gigachat" and spec.length_field == "max_completion_tokens":
        return "length_field: GigaChat takes max_tokens only"
    if fault := _find_base_fault(spec, settings):
        return fault
    if spec.kind == "openai" and spec.base and not spec.key and not is_internal(spec.base):
        return "a base of its own needs a `key`: that of OPENAI_API_BASE is not sent elsewhere unasked"
    key = find_key(spec, settings)
    if key is not None and (fault := find_key_fault(key.get_secret_value())):
        return f"the key in {name_key(spec)} {fault}"
    return _find_name_fault(spec, settings) or _find_option_fault(spec, settings) or find_extra_fault(spec.extra_body, secrets)


def _find_base_fault(spec: ProviderSpec, settings: Settings) -> str:
    base, label = find_base(spec, settings), name_base(spec)
    try:
        check_password(base)
    except ValueError as error:
        return f"{label}: {error}"
    if not is_address(base.strip()):
        return f"{label} must be an http or https address such as https://api.openai.com/v1"  # not quoted: it may have a password
    if base != base.strip() or not base.isprintable() or " " in base:
        return f"{label} has a blank or a line break"
    path = "/" + base.partition("://")[2].partition("/")[2].strip("/")
    if endpoint := next((one for one in _ENDPOINTS if path.endswith(one)), ""):
        return f"{label} ends in {endpoint}, which is added by itself: leave it out"
    dialect = find_spec_dialect(spec, settings)
    if dialect.paths and not any(path.endswith(one) if one else path == "/" for one in dialect.paths):
        return f"{label}: the address of {dialect.name} ends in {' or '.join(one or 'its host' for one in dialect.paths)}"
    return ""


def _find_name_fault(spec: ProviderSpec, settings: Settings) -> str:
    for name in (*find_model_names(spec, settings), spec.embedding_question_model):
        if name != name.strip() or not name.isprintable():
            return "the name of a model has a blank at an end or a line break"
        if "<" in name or ">" in name:
            return f"the name of the model, {name}, has a part that is to be filled in"
    return ""


def _find_option_fault(spec: ProviderSpec, settings: Settings) -> str:
    tuning = build_tuning(spec, settings)
    model, dialect = find_model_names(spec, settings)[0], tuning.dialect
    refused = [name for name in sorted(tuning.list_omitted(model)) if getattr(spec, name, None) is not None]
    if refused and spec.omit is not None:
        return f"{refused[0]} is set and stands in `omit`, so it would not be sent"
    if refused:
        return f"{refused[0]}: {model} of {dialect.name} takes none; leave it out (`omit: []` in MODELS_FILE sends it all the same)"
    if spec.reasoning_effort is not None and spec.reasoning_effort not in dialect.efforts:
        return f"reasoning_effort: {dialect.name} takes {', '.join(dialect.efforts)}"
    return ""


def build_tuning(spec: ProviderSpec, settings: Settings) -> Tuning:
    return Tuning(
        dialect=find_spec_dialect(spec, settings),
        temperature=spec.temperature,
        max_tokens=spec.max_tokens,
        reasoning_effort=spec.reasoning_effort,
        extra=spec.extra_body,
        omit=None if spec.omit is None else frozenset(spec.omit),
        length_field=spec.length_field,
        question_model=spec.embedding_question_model,
        portion=spec.embedding_batch,
    )


def find_spec_dialect(spec: ProviderSpec, settings: Settings) -> Dialect:
    return dialects.GIGACHAT if spec.kind == "gigachat" else find_dialect(find_base(spec, settings))


def find_base(spec: ProviderSpec, settings: Settings) -> str:
    return spec.base or (settings.gigachat_api_base if spec.kind == "gigachat" else settings.openai_api_base)


def name_base(spec: ProviderSpec) -> str:
    """What the address is called where it is written."""
    return "base" if spec.base else "GIGACHAT_API_BASE" if spec.kind == "gigachat" else "OPENAI_API_BASE"


def find_model_names(spec: ProviderSpec, settings: Settings) -> tuple[str, str]:
    """(chat, embeddings), from the file or the settings."""
    if spec.kind == "gigachat":
        return spec.model or settings.default_model or GIGACHAT_MODEL, (
            spec.embedding_model or settings.default_embedding_model or GIGACHAT_EMBEDDINGS
        )
    return spec.model or settings.openai_model, spec.embedding_model


def list_model_secrets(settings: Settings) -> tuple[str, ...]:
    return tuple(_list_keys(load_plan(settings), settings))


def _list_keys(plan: ModelsPlan, settings: Settings) -> list[str]:
    keys = [find_key(spec, settings) for spec in plan.providers.values()]
    return [key.get_secret_value() for key in keys if key is not None]


def name_key(spec: ProviderSpec) -> str:
    """ "" for a provider without a key."""
    if spec.kind == "openai" and spec.base and not spec.key:
        return ""  # the key of OPENAI_API_BASE is not sent elsewhere unasked
    return spec.key or ("GIGACHAT_CREDENTIALS" if spec.kind == "gigachat" else "OPENAI_API_KEY")


def find_key(spec: ProviderSpec, settings: Settings) -> SecretStr | None:
    name = name_key(spec)
    if not name:
        return None
    if name.lower() not in _KEYS:
        return read_variable(name)
    known: SecretStr | None = getattr(settings, name.lower())
    return known

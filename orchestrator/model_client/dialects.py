"""What OpenAI-compatible services want differently, known by the host. docs/models.md has the reasons."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args
from urllib.parse import urlsplit

from orchestrator.domain.models import Effort, ModelOptions
from state.stored import JsonObject

Option = Literal["temperature", "top_p", "max_tokens", "stop", "seed", "reasoning_effort"]
LengthField = Literal["max_tokens", "max_completion_tokens"]
Fit = Literal["split", "narrow", "keep"]
EffortField = Literal["reasoning_effort", "reasoning"]
OPTIONS: Final[frozenset[str]] = frozenset(get_args(Option))
_LEAST_TEMPERATURE: Final = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """`paths`: those its address must have.

    `length_field` limits an answer, `effort` is the field for thinking. Models that match `fixed` refuse the options `refused`.
    """

    name: str
    paths: tuple[str, ...] = ()
    length_field: LengthField = "max_tokens"
    effort: EffortField = "reasoning_effort"
    efforts: tuple[Effort, ...] = get_args(Effort)
    fixed: re.Pattern[str] | None = None
    refused: frozenset[Option] = frozenset()
    names: re.Pattern[str] | None = None
    model_form: str = ""
    lists_openly: bool = False
    above_zero: bool = False
    portion: int = 64
    """Texts in one request for vectors: services limit the number."""
    question: tuple[str, str] = ("", "")
    """What names of models for passages contain, and those for questions in its place."""

    def find_refused(self, model: str) -> frozenset[Option]:
        return self.refused if self.fixed is not None and self.fixed.match(model) else frozenset()

    def find_question_model(self, model: str) -> str:
        return model.replace(*self.question) if self.question[0] else model


OTHER: Final = Dialect(name="")
GIGACHAT: Final = Dialect(name="GigaChat", efforts=("low", "medium", "high"), above_zero=True)
OPENAI: Final = Dialect(
    name="OpenAI",
    paths=("/v1",),
    length_field="max_completion_tokens",
    fixed=re.compile(r"(?:o[1-9]|gpt-5)(?!.*chat)", re.IGNORECASE),
    refused=frozenset({"temperature", "top_p", "stop"}),
)
OPENROUTER: Final = Dialect(
    name="OpenRouter",
    paths=("/api/v1",),
    effort="reasoning",
    lists_openly=True,
    names=re.compile(r"[^/\s]+/[^/\s]+"),
    model_form="<author>/<model>",
)
DEEPSEEK: Final = Dialect(name="DeepSeek", paths=("", "/v1", "/beta"))
YANDEX: Final = Dialect(
    name="YandexGPT",
    paths=("/v1",),
    names=re.compile(r"(?:gpt|ds|emb|cls)://[^/\s<>]+/\S+"),
    model_form="gpt://<folder>/<model>/latest",
    portion=1,
    question=("text-search-doc", "text-search-query"),
)
DASHSCOPE: Final = Dialect(name="DashScope", portion=10)
OLLAMA: Final = Dialect(name="Ollama", paths=("/v1",))
_OLLAMA_PORT: Final = 11434
_HOSTS: Final[Mapping[str, Dialect]] = {
    "api.openai.com": OPENAI,
    "openrouter.ai": OPENROUTER,
    "api.deepseek.com": DEEPSEEK,
    "api.cloud.yandex.net": YANDEX,
    "dashscope.aliyuncs.com": DASHSCOPE,
    "dashscope-intl.aliyuncs.com": DASHSCOPE,
    "dashscope-us.aliyuncs.com": DASHSCOPE,
}


def find_dialect(address: str) -> Dialect:
    parts = urlsplit(address)
    host = (parts.hostname or "").rstrip(".")
    for known, dialect in _HOSTS.items():
        if host == known or host.endswith("." + known):
            return dialect
    return OLLAMA if parts.port == _OLLAMA_PORT else OTHER


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """`extra` stands under what the program writes. `omit` are options never sent; None: as the service and the model are known."""

    dialect: Dialect = OTHER
    temperature: float | None = None
    max_tokens: int | None = None
    reasoning_effort: Effort | None = None
    extra: JsonObject = field(default_factory=dict)
    omit: frozenset[Option] | None = None
    length_field: LengthField | None = None
    question_model: str = ""
    portion: int | None = None

    def list_omitted(self, model: str) -> frozenset[Option]:
        return self.dialect.find_refused(model) if self.omit is None else self.omit

    def build_fields(self, options: ModelOptions, model: str) -> dict[str, Any]:
        """The provider's own, under those of `options`."""
        values_by_option: dict[Option, Any] = {
            "temperature": self._raise_zero(_choose(options.temperature, self.temperature)),
            "max_tokens": _choose(options.max_tokens, self.max_tokens),
            "reasoning_effort": _choose(options.reasoning_effort, self.reasoning_effort),
            "top_p": options.top_p,
            "stop": list(options.stop) or None,
            "seed": options.seed,
        }
        omitted = self.list_omitted(model)
        fields = {self._name_field(name): value for name, value in values_by_option.items() if value is not None and name not in omitted}
        if "reasoning" in fields:
            fields["reasoning"] = {"effort": fields["reasoning"]}
        return merge_extra(self.extra, fields)

    def _name_field(self, option: Option) -> str:
        if option == "max_tokens":
            return self.length_field or self.dialect.length_field
        return self.dialect.effort if option == "reasoning_effort" else option

    def _raise_zero(self, temperature: float | None) -> float | None:
        return _LEAST_TEMPERATURE if temperature == 0 and self.dialect.above_zero else temperature


def merge_extra(extra: JsonObject, fields: JsonObject) -> dict[str, Any]:
    """`fields` over `extra`, at every depth."""
    merged: dict[str, Any] = dict(extra)
    for name, value in fields.items():
        below = merged.get(name)
        merged[name] = merge_extra(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return merged


def _choose(own: Any, default: Any) -> Any:
    return default if own is None else own

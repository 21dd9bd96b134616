"""The settings of the model client; only `bot/settings/settings.py` reads environment variables."""

import ipaddress
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol
from urllib.parse import SplitResult, urlsplit

from pydantic import SecretStr

from orchestrator.documents.reading import read_document
from orchestrator.domain.errors import ModelClientError, SettingsError
from state.stored import JsonObject

LONGEST: Final = 10_000
"""Characters of JSON."""
_DEEPEST: Final = 20
_SHORTEST_SECRET: Final = 6
_WHOLE_REQUEST: Final = "the program writes it itself"
_OWN: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("model", "models", "messages", "prompt", "input", "instructions", "stream", "stream_options", "n", "best_of"), _WHOLE_REQUEST
    ),
    **dict.fromkeys(("tools", "tool_choice", "functions", "function_call", "response_format"), _WHOLE_REQUEST),
    **dict.fromkeys(("temperature", "max_tokens", "reasoning_effort"), "it has a field of its own"),
    "max_completion_tokens": "write `max_tokens`, which is sent under this name where it is wanted",
    **dict.fromkeys(
        ("plugins", "web_search_options", "search_parameters", "data_sources", "storage", "thread_id", "assistant_id", "mcp_servers"),
        "the model would read texts that the gate does not know of",
    ),
    **dict.fromkeys(("headers", "extra_headers", "extra_body", "extra_query"), "it is no field of a request"),
}
_HIDDEN: Final = "a key or another secret; keys are sent in the header only, see `key`"
_KEY_NAME: Final = re.compile(r"api[-_]?key|authori[sz]ation|password|secret|credential|access[-_]?token", re.IGNORECASE)
_KEY_LIKE: Final = re.compile(r"\bsk-[\w-]{8,}|\b(?:Bearer|Basic|Api-Key)\s+\S{4,}", re.IGNORECASE)


def parse_extra_body(text: str) -> JsonObject:
    """Raises ValueError that never quotes the text."""
    text = text.strip()
    if text[:1] == text[-1:] == "'":  # some readers of .env leave the quotation marks of the shell
        text = text[1:-1]
    if len(text) > LONGEST:
        raise ValueError(f"it is longer than {LONGEST} characters")
    document = read_document(text, "json").document
    if document is None or not isinstance(document.data, dict):
        raise ValueError('it must be one object of JSON, such as {"top_k": 20}, with each name once')
    return document.data


def find_extra_fault(extra: JsonObject, secrets: Iterable[str] = ()) -> str:
    """Empty if nothing is wrong; never quotes a value.

    It may tune answers, but not replace what the program says, bring in texts that the gate does not know, or carry keys.
    """
    for name in extra:
        # Some services (Ollama) do not tell capital letters from small ones, nor letters that Unicode folds into them.
        if reason := _OWN.get(str(name).strip().casefold()):
            return f"extra_body: {str(name).strip().casefold()} may not stand there: {reason}"
    try:
        if len(json.dumps(extra, ensure_ascii=False, allow_nan=False)) > LONGEST:
            return f"extra_body: it is longer than {LONGEST} characters"
        parts = list(_walk(extra, 0))
    except (TypeError, ValueError, RecursionError):
        return "extra_body: it holds something that JSON does not have, or is nested too deeply"
    known = [secret for secret in secrets if len(secret) >= _SHORTEST_SECRET]
    for place, text in parts:
        if _holds_secret(place, known):
            return f"extra_body: a name in it holds {_HIDDEN}"
        if _holds_secret(text, known):
            return f"extra_body: {place} holds {_HIDDEN}"
        if _KEY_NAME.search(place):
            return f"extra_body: {place} looks like the place of a key; keys are sent in the header only, see `key`"
    return ""


def _holds_secret(text: str, secrets: Sequence[str]) -> bool:
    return _KEY_LIKE.search(text) is not None or any(secret in text for secret in secrets)


def _walk(value: object, depth: int, place: str = "") -> Iterator[tuple[str, str]]:
    """(path, text). Raises ValueError if it is too deep or no JSON."""
    if depth > _DEEPEST:
        raise ValueError(place)
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if not isinstance(name, str):
                raise TypeError(place)
            path = f"{place}.{name}" if place else name
            yield path, ""
            yield from _walk(inner, depth + 1, path)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for inner in value:
            yield from _walk(inner, depth + 1, place)
    elif isinstance(value, str):
        yield place, value
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError(place)


OPENAI_BASE = "https://api.openai.com/v1"
PARALLEL: Final = 512
"""A limit for memory, far above one company's people: a silent model must not make others wait."""


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """Raises `SettingsError` for an invalid address (S004-16 to S004-18).

    Seconds: `total_deadline` covers a call with all attempts and `on_delta`, `silence` the time between two pieces, `request_timeout` one
    attempt without a stream. `message_limit` in characters of one text.
    """

    base_url: str = OPENAI_BASE
    api_key: SecretStr | None = field(default=None, repr=False)
    default_model: str = "gpt-5-thinking"
    connect_timeout: float = 5.0
    total_deadline: float = 120.0
    silence: float = 30.0
    request_timeout: float = 30.0
    message_limit: int = 400_000
    max_attempts: int = 3
    key_name: str = "OPENAI_API_KEY"
    reports_usage: bool = True
    """A stream must ask for token counts; some services refuse the option."""

    def __post_init__(self) -> None:
        """The address is not quoted: it may contain a password."""
        if not is_address(self.base_url):
            raise SettingsError("OPENAI_API_BASE must be an http or https address such as https://api.openai.com/v1.")

    @property
    def may_lack_key(self) -> bool:
        """On this machine, or certainly within the own network."""
        return is_internal(self.base_url)

    @property
    def is_loopback(self) -> bool:
        return is_loopback(self.base_url)

    def build_auth_header(self) -> dict[str, str]:
        """Raises ModelClientError if a key is needed and missing, or no key has its characters."""
        secret = self.api_key.get_secret_value().strip() if self.api_key else ""
        if not secret and not self.may_lack_key:
            raise ModelClientError(f"There is no key for the model service: set {self.key_name}.")
        if find_key_fault(secret):
            raise ModelClientError(f"The key for the model service has characters that no key has: check {self.key_name}.")
        return {"Authorization": f"Bearer {secret}"} if secret else {}


class Auth(Protocol):
    """Raises ModelClientError."""

    async def build_headers(self) -> dict[str, str]: ...

    async def renew(self, refused: Mapping[str, str]) -> bool: ...

    def list_tokens(self) -> Sequence[str]: ...

    async def aclose(self) -> None:
        """Never fails."""


class KeyAuth:
    """The `Auth` of a service that takes the key itself."""

    def __init__(self, settings: ModelSettings) -> None:
        self._settings = settings

    async def build_headers(self) -> dict[str, str]:
        return self._settings.build_auth_header()

    async def renew(self, _refused: Mapping[str, str]) -> bool:
        """A refused key stays refused."""
        return False

    def list_tokens(self) -> Sequence[str]:
        return ()

    async def aclose(self) -> None: ...


def is_address(url: str) -> bool:
    """Without query or fragment."""
    try:
        parts: SplitResult = urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and port != 0 and not parts.query and not parts.fragment


def is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


_INTERNAL: Final = (".local", ".internal", ".lan", ".home.arpa", ".localdomain", ".localhost")


def is_internal(url: str) -> bool:
    """Private, a name without a dot, or an internal domain."""
    host = urlsplit(url).hostname or ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "." not in host or host.endswith(_INTERNAL)
    return address.is_loopback or address.is_private or address.is_link_local


def find_key_fault(secret: str) -> str:
    """Empty if it may be a key; never quotes it."""
    key = secret.strip()
    if key[:1] in {'"', "'"} or key[-1:] in {'"', "'"}:
        return "has quotation marks around it: leave them out"
    if not key.isascii() or not key.isprintable():
        return "has a line break or letters that no key has: copy it again"
    if " " in key:
        word = key.split(" ", 1)[0]
        known = word in {"Bearer", "Basic", "Api-Key"}
        return f"begins with the word {word}: leave it out" if known else "has a blank within: copy it again"
    return ""

"""The settings of the model client; only `bot/settings/settings.py` reads environment variables."""

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol
from urllib.parse import SplitResult, urlsplit

from pydantic import SecretStr

from orchestrator.domain.errors import ModelClientError, SettingsError

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

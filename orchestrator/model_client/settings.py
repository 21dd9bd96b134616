"""The settings of the model client, and how a service knows by them who asks.

The caller passes the settings in; only `bot/settings/settings.py` reads environment variables.
"""

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol
from urllib.parse import SplitResult, urlsplit

from pydantic import SecretStr

from orchestrator.domain.errors import ModelClientError, SettingsError

OPENAI_BASE = "https://api.openai.com/v1"
PARALLEL: Final = 512
"""How many calls of one provider are made at once, if the settings do not say: a limit for memory, far above the people of one company.

A model that is silent for some people must not make the others wait. What engines ask for side by side has bounds of its own.
"""


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """The address of the model service and the timeouts (S004-16, S004-17, S004-18); raises `SettingsError` for an invalid address.

    `base_url` includes the version segment, as in `https://api.openai.com/v1`; `/chat/completions` is added to it.
    `total_deadline` covers one call with all its attempts, pauses and the time spent in `on_delta`. `silence` is the longest time
    between two pieces of text; it does not apply before the first piece, since a reasoning model may think long. `request_timeout` is how
    long one attempt at a request without a stream may take. All times are in seconds. `message_limit` is how many characters one message,
    or one text of which a vector is made, may have.
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
    """The setting that holds the key, for error messages."""
    reports_usage: bool = True
    """Whether a stream must be asked for the token counts (`stream_options`); some services send them unasked and refuse the option."""

    def __post_init__(self) -> None:
        """Raise `SettingsError` for an invalid address, without quoting it, since it may contain a password."""
        if not is_address(self.base_url):
            raise SettingsError("OPENAI_API_BASE must be an http or https address such as https://api.openai.com/v1.")

    @property
    def may_lack_key(self) -> bool:
        """Whether the service may be asked without a key: it is on this machine or certainly within the own network."""
        return is_internal(self.base_url)

    @property
    def is_loopback(self) -> bool:
        """Whether the model runs on this machine, so that no proxy is used."""
        return is_loopback(self.base_url)

    def build_auth_header(self) -> dict[str, str]:
        """Return the HTTP header with the API key; an empty dict if there is none and `may_lack_key`.

        Raises ModelClientError if another service has no key, or if the key contains characters that no key has.
        """
        secret = self.api_key.get_secret_value().strip() if self.api_key else ""
        if not secret and not self.may_lack_key:
            raise ModelClientError(f"There is no key for the model service: set {self.key_name}.")
        if find_key_fault(secret):
            raise ModelClientError(f"The key for the model service has characters that no key has: check {self.key_name}.")
        return {"Authorization": f"Bearer {secret}"} if secret else {}


class Auth(Protocol):
    """Makes the headers by which a service knows who asks. Raises ModelClientError."""

    async def build_headers(self) -> dict[str, str]:
        """Return the headers for one request."""

    async def renew(self, refused: Mapping[str, str]) -> bool:
        """Return whether it is worth to repeat a request whose headers, `refused`, the service did not accept (401)."""

    def list_tokens(self) -> Sequence[str]:
        """Return the secrets in the headers that are not the key itself, so that they can be masked."""

    async def aclose(self) -> None:
        """Close the connections; never fails."""


class KeyAuth:
    """The `Auth` of a service that takes the key itself."""

    def __init__(self, settings: ModelSettings) -> None:
        """Keep the settings."""
        self._settings = settings

    async def build_headers(self) -> dict[str, str]:
        """Return the header with the key."""
        return self._settings.build_auth_header()

    async def renew(self, _refused: Mapping[str, str]) -> bool:
        """Return False: a key that was refused stays refused."""
        return False

    def list_tokens(self) -> Sequence[str]:
        """Return nothing: there are no other secrets."""
        return ()

    async def aclose(self) -> None:
        """Do nothing."""


def is_address(url: str) -> bool:
    """Return whether this is an http or https address with a host, and without a query or a fragment."""
    try:
        parts: SplitResult = urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and port != 0 and not parts.query and not parts.fragment


def is_loopback(url: str) -> bool:
    """Return whether the address is on this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


_INTERNAL: Final = (".local", ".internal", ".lan", ".home.arpa", ".localdomain", ".localhost")


def is_internal(url: str) -> bool:
    """Return whether the address is certainly within the own network: private, a name without a dot, or one of an internal domain."""
    host = urlsplit(url).hostname or ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "." not in host or host.endswith(_INTERNAL)
    return address.is_loopback or address.is_private or address.is_link_local


def find_key_fault(secret: str) -> str:
    """Return what no key has and this one does, "" if it may be a key; blanks around it do not count. It never quotes the key."""
    told = secret.strip()
    if told[:1] in {'"', "'"} or told[-1:] in {'"', "'"}:
        return "has quotation marks around it: leave them out"
    if not told.isascii() or not told.isprintable():
        return "has a line break or letters that no key has: copy it again"
    if " " in told:
        word = told.split(" ", 1)[0]
        known = word in {"Bearer", "Basic", "Api-Key"}
        return f"begins with the word {word}: leave it out" if known else "has a blank within: copy it again"
    return ""

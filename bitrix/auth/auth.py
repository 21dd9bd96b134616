"""Authentication of calls: the interface `Auth`, and its implementation for an incoming webhook.

An `Auth` gives the address to which calls are posted and the token that their bodies carry. It never puts a token into an address.
"""

import re
from dataclasses import dataclass, field
from typing import Protocol

import httpx
import orjson
from pydantic import SecretStr

LOOPBACK = re.compile(r"localhost|127(?:\.[0-9]{1,3}){3}|::1", re.ASCII)
_HOST = re.compile(rb"[A-Za-z0-9._:-]+")
_PATH = re.compile(r"(/rest/[0-9]+/[A-Za-z0-9_-]+)/?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Grant:
    """The credential of one request.

    `access` is the access token of an application. It is None for a webhook, because the address of a webhook is its credential.
    """

    access: SecretStr | None = None
    new: bool = field(default=False, compare=False)
    """Whether this process just obtained the token by a renewal, rather than loading it from the store.

    If the portal calls such a token expired, a further renewal will not help."""

    def sign(self, body: bytes) -> bytes:
        """Return the JSON object `body` with the token as its first member `auth`; the other bytes are unchanged."""
        if self.access is None:
            return body
        head = b'{"auth":' + orjson.dumps(self.access.get_secret_value())
        return head + b"}" if body == b"{}" else head + b"," + body[1:]


class Auth(Protocol):
    """Authenticates calls to one portal. The implementations are `Webhook` here and `Application` in `bitrix.auth.oauth`."""

    @property
    def root(self) -> SecretStr:
        """The URL before the method name, without a trailing slash. Secret: a webhook's URL contains its code."""

    @property
    def portal(self) -> str:
        """Host and port of the portal in lower case; not secret, and constant for the same settings."""

    @property
    def base_url(self) -> str:
        """The URL at which people open the portal, without a trailing slash."""

    @property
    def is_application(self) -> bool:
        """Whether calls are made as an application of the portal, not by a webhook; only an application can subscribe to events."""

    @property
    def setting(self) -> str:
        """The name of the setting that holds the portal's address, for messages to operators."""

    async def fetch_grant(self) -> Grant:
        """Return the credential for the next call. Raises `NotSent` if no credential can be obtained."""

    async def renew(self, stale: Grant) -> Grant:
        """Return a new credential after the portal has called `stale` expired. Raises `NotSent` if none can be obtained."""

    async def aclose(self) -> None:
        """Let a renewal under way finish, then close the connections."""


class Webhook:
    """Authenticates calls with an incoming webhook. Its address is the credential; it never expires (S004-40, S004-41).

    Raises ValueError unless the address has the form `https://<portal>/rest/<user>/<code>/`; plain http is accepted on loopback only. The
    error does not contain the address.
    """

    is_application = False
    setting = "BITRIX_WEBHOOK_URL"

    def __init__(self, webhook: SecretStr | str) -> None:
        """Validate the address."""
        url = read_url(webhook.get_secret_value() if isinstance(webhook, SecretStr) else webhook)
        if url is None or not _PATH.fullmatch(url.path):
            msg = "the webhook address must look like https://<portal>/rest/<user>/<code>/"
            raise ValueError(msg)
        self.portal = url.netloc.decode().lower()
        self.base_url = f"{url.scheme}://{self.portal}"
        self.root = SecretStr(f"{url.scheme}://{url.netloc.decode()}{url.path.rstrip('/')}")

    async def fetch_grant(self) -> Grant:
        """Return an empty credential: the address is enough."""
        return Grant()

    async def renew(self, stale: Grant) -> Grant:
        """Return `stale`: a webhook has no newer credential."""
        return stale

    async def aclose(self) -> None:
        """Do nothing: no connection is open."""

    def __repr__(self) -> str:
        return f"<Webhook {self.portal}>"


def read_url(text: str) -> httpx.URL | None:
    """Parse `text` as an https URL with a host and without user, query and fragment; return None for any other text.

    An http URL is accepted if its host is this machine (loopback).
    """
    try:
        url = httpx.URL(text.strip())
    except httpx.InvalidURL:
        return None
    secure = url.scheme == "https" or (url.scheme == "http" and is_loopback(url))
    return url if _HOST.fullmatch(url.raw_host) and secure and not (url.userinfo or url.query or url.fragment) else None


def is_loopback(url: httpx.URL) -> bool:
    """Whether the address is on this machine."""
    return LOOPBACK.fullmatch(url.host) is not None

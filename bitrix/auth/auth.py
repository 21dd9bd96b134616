"""Ring 1. How calls prove who they are: the port `Auth`, and the incoming webhook.

Says where a call is posted and what its body carries. Sends nothing itself and puts no token into an address.
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
    """What one sending is allowed by: the access token of an application, or nothing where the address is the proof."""

    access: SecretStr | None = None
    new: bool = field(default=False, compare=False)
    """Made by this process, not found where an earlier one left it: if it is called expired, a newer one will be too."""

    def sign(self, body: bytes) -> bytes:
        """The JSON object `body` with the token as its first member `auth`, the rest byte for byte the same."""
        if self.access is None:
            return body
        head = b'{"auth":' + orjson.dumps(self.access.get_secret_value())
        return head + b"}" if body == b"{}" else head + b"," + body[1:]


class Auth(Protocol):
    """The way one installation is known to one portal. Two exist: `Webhook` here, `Application` in `bitrix.auth.oauth`."""

    @property
    def root(self) -> SecretStr:
        """What a method's name is put after, without a trailing slash; a secret, a webhook's code is in it."""
        ...

    @property
    def portal(self) -> str:
        """Host and port of the portal in lower case; not a secret, and the same for as long as the settings are."""
        ...

    @property
    def base_url(self) -> str:
        """Where people open the portal, without a trailing slash."""
        ...

    @property
    def is_application(self) -> bool:
        """Whether calls run in the context of an application, which event subscriptions need (bitrix24 facts, events)."""
        ...

    @property
    def setting(self) -> str:
        """The setting that holds the portal's address, for sentences to those who run the program."""
        ...

    async def fetch_grant(self) -> Grant:
        """What to send the next call with; raise `NotSent` if there is nothing to send it with."""
        ...

    async def renew(self, stale: Grant) -> Grant:
        """What to send with after the portal called `stale` expired; raise `NotSent` if there is nothing newer to be had."""
        ...

    async def aclose(self) -> None:
        """Finish what was begun and close the connections."""
        ...


class Webhook:
    """An incoming webhook: the address is the proof, it neither expires nor is renewed (seed rows S004-40, S004-41).

    Raises ValueError, without naming the address, if it is not `https://<portal>/rest/<user>/<code>/`; plain http is
    taken on loopback only.
    """

    is_application = False
    setting = "BITRIX_WEBHOOK_URL"

    def __init__(self, webhook: SecretStr | str) -> None:
        """Check the address."""
        url = read_url(webhook.get_secret_value() if isinstance(webhook, SecretStr) else webhook)
        if url is None or not _PATH.fullmatch(url.path):
            msg = "the webhook address must look like https://<portal>/rest/<user>/<code>/"
            raise ValueError(msg)
        self.portal = url.netloc.decode().lower()
        self.base_url = f"{url.scheme}://{self.portal}"
        self.root = SecretStr(f"{url.scheme}://{url.netloc.decode()}{url.path.rstrip('/')}")

    async def fetch_grant(self) -> Grant:
        """Nothing is needed beside the address."""
        return Grant()

    async def renew(self, stale: Grant) -> Grant:
        """A webhook has nothing newer."""
        return stale

    async def aclose(self) -> None:
        """Nothing is open."""

    def __repr__(self) -> str:
        return f"<Webhook {self.portal}>"


def read_url(text: str) -> httpx.URL | None:
    """The address in `text` if it is https (or http on loopback) with a host and without user, query and fragment."""
    try:
        url = httpx.URL(text.strip())
    except httpx.InvalidURL:
        return None
    secure = url.scheme == "https" or (url.scheme == "http" and is_loopback(url))
    return url if _HOST.fullmatch(url.raw_host) and secure and not (url.userinfo or url.query or url.fragment) else None


def is_loopback(url: httpx.URL) -> bool:
    """Whether the address is on this machine."""
    return LOOPBACK.fullmatch(url.host) is not None

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
    """The credential of one request. `access` is None for a webhook, whose address is its credential."""

    access: SecretStr | None = None
    new: bool = field(default=False, compare=False)
    """This process just obtained the token by a renewal: if it is called expired, a further renewal will not help."""

    def sign(self, body: bytes) -> bytes:
        """Put the token into the JSON object as its first member `auth`."""
        if self.access is None:
            return body
        head = b'{"auth":' + orjson.dumps(self.access.get_secret_value())
        return head + b"}" if body == b"{}" else head + b"," + body[1:]


class Auth(Protocol):
    """Authenticates calls to one portal."""

    @property
    def root(self) -> SecretStr:
        """The URL before the method name, without a trailing slash. Secret: a webhook's URL contains its code."""

    @property
    def portal(self) -> str:
        """Host and port in lower case; not secret, constant for the same settings."""

    @property
    def base_url(self) -> str: ...

    @property
    def is_application(self) -> bool: ...

    @property
    def setting(self) -> str: ...

    async def fetch_grant(self) -> Grant: ...

    async def renew(self, stale: Grant) -> Grant:
        """Obtain a credential after the portal has called `stale` expired. Raises `NotSent`."""

    async def aclose(self) -> None: ...


class Webhook:
    """Raises ValueError, without the address, unless it is `https://<portal>/rest/<user>/<code>/` (http on loopback)."""

    is_application = False
    setting = "BITRIX_WEBHOOK_URL"

    def __init__(self, webhook: SecretStr | str) -> None:
        url = read_url(webhook.get_secret_value() if isinstance(webhook, SecretStr) else webhook)
        if url is None or not _PATH.fullmatch(url.path):
            msg = "the webhook address must look like https://<portal>/rest/<user>/<code>/"
            raise ValueError(msg)
        self.portal = url.netloc.decode().lower()
        self.base_url = f"{url.scheme}://{self.portal}"
        self.root = SecretStr(f"{url.scheme}://{url.netloc.decode()}{url.path.rstrip('/')}")

    async def fetch_grant(self) -> Grant:
        return Grant()

    async def renew(self, stale: Grant) -> Grant:
        return stale

    async def aclose(self) -> None: ...

    def __repr__(self) -> str:
        return f"<Webhook {self.portal}>"


def read_url(text: str) -> httpx.URL | None:
    """None unless it is https (http on loopback) with a host, without user, query and fragment."""
    try:
        url = httpx.URL(text.strip())
    except httpx.InvalidURL:
        return None
    secure = url.scheme == "https" or (url.scheme == "http" and is_loopback(url))
    return url if _HOST.fullmatch(url.raw_host) and secure and not (url.userinfo or url.query or url.fragment) else None


def is_loopback(url: httpx.URL) -> bool:
    return LOOPBACK.fullmatch(url.host) is not None

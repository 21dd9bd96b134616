import logging
import re

import httpx
from pydantic import SecretStr

from bitrix.auth.auth import is_loopback
from bitrix.errors import NotSent

log = logging.getLogger(__name__)

# The domains of Bitrix24's own cloud. Everything else is somebody's own server or own domain.
ZONES = frozenset(
    {
        "bitrix24.ru", "bitrix24.by", "bitrix24.kz", "bitrix24.uz", "bitrix24.com", "bitrix24.eu", "bitrix24.de", "bitrix24.es",
        "bitrix24.fr", "bitrix24.it", "bitrix24.pl", "bitrix24.uk", "bitrix24.co", "bitrix24.ae", "bitrix24.in", "bitrix24.vn",
        "bitrix24.jp", "bitrix24.cn", "bitrix24.mx", "bitrix24.id", "bitrix24.com.br", "bitrix24.com.tr", "bitrix24.ua",
    }
)  # fmt: skip
_NO_PORTAL = frozenset({"www", "cdn", "oauth", "auth"})  # names inside the cloud domains that are services of the vendor
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)
# 303 is left out: it redirects to the result of something that was done.
_MOVED = frozenset({301, 302, 307, 308})


class PortalMoved(NotSent):
    """The portal answers under another name now, and did not read the call."""


class PortalAddress:
    def __init__(self, root: SecretStr, *, setting: str) -> None:
        url = httpx.URL(root.get_secret_value())
        self._origin, self._path = f"{url.scheme}://{url.netloc.decode()}", SecretStr(url.path)
        self._setting = setting

    @property
    def origin(self) -> str:
        return self._origin

    def build_url(self, method: str) -> httpx.URL:
        """Secret, because a webhook's URL contains its code."""
        return httpx.URL(f"{self._origin}{self._path.get_secret_value()}/{method}")

    def accept_redirect(self, url: httpx.URL, status: int, location: str) -> bool:
        """Say whether the answer redirects to the portal's new name, and use it from now on.

        The call was not executed: even a write may be sent again.
        """
        new = find_new_address(url, location) if status in _MOVED else None
        if new is None:
            return False
        origin = f"{new.scheme}://{new.netloc.decode()}"
        if origin != self._origin:
            self._origin = origin
            log.warning(
                "the portal %s was renamed to %s: put the new name into %s",
                url.host,
                new.netloc.decode(),
                self._setting,
                extra={"action": "portal.renamed"},
            )
        return True


def find_new_address(url: httpx.URL, location: str) -> httpx.URL | None:
    """None unless `location` is `url` under another name of the vendor's cloud (on loopback: another port). Raises nothing."""
    try:
        new = httpx.URL(location)
    except httpx.InvalidURL:
        return None
    if new.raw_path != url.raw_path or new.userinfo or new.fragment or new.netloc == url.netloc:
        return None
    if is_loopback(url):
        return new if is_loopback(new) and new.scheme == url.scheme else None
    return new if _is_in_cloud(url) and _is_in_cloud(new) else None


def _is_in_cloud(url: httpx.URL) -> bool:
    name, _, zone = url.host.lower().partition(".")
    return url.scheme == "https" and url.port is None and zone in ZONES and name not in _NO_PORTAL and _NAME.fullmatch(name) is not None

"""Keeps the current address of the portal, which changes if the portal was renamed.

A redirect is followed only from one name to another in the vendor's cloud. The module sends nothing itself.
"""

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
    """The portal answers under another name now, and did not read the call.

    Only the client uses this error: it sends the call to the new name, so callers never get the error.
    """


class PortalAddress:
    """The address to which calls are posted. It changes, in this process only, when the portal redirects to its new name."""

    def __init__(self, root: SecretStr, *, setting: str) -> None:
        """Start with the address `root`. `setting` is the name of the setting for it, mentioned in the warning about a rename."""
        url = httpx.URL(root.get_secret_value())
        self._origin, self._path = f"{url.scheme}://{url.netloc.decode()}", SecretStr(url.path)
        self._setting = setting

    def build_url(self, method: str) -> httpx.URL:
        """Return the URL for a call of `method`. It is secret, because a webhook's URL contains its code."""
        return httpx.URL(f"{self._origin}{self._path.get_secret_value()}/{method}")

    def accept_redirect(self, asked: httpx.URL, status: int, location: str) -> bool:
        """Return whether the answer to the URL `asked` redirects to the portal's new name. If so, use this name for later URLs.

        A portal that redirects has not executed the call. So the same call may be sent to the new name, even a write.
        """
        new = find_new_address(asked, location) if status in _MOVED else None
        if new is None:
            return False
        origin = f"{new.scheme}://{new.netloc.decode()}"
        if origin != self._origin:
            self._origin = origin
            log.warning(
                "the portal %s was renamed to %s: put the new name into %s",
                asked.host,
                new.netloc.decode(),
                self._setting,
                extra={"action": "portal.renamed"},
            )
        return True


def find_new_address(asked: httpx.URL, location: str) -> httpx.URL | None:
    """Return the URL in `location` if it is the URL `asked` under another name of the vendor's cloud, else None. Raises nothing.

    On this machine (loopback), another port counts as another name.
    """
    try:
        new = httpx.URL(location)
    except httpx.InvalidURL:
        return None
    if new.raw_path != asked.raw_path or new.userinfo or new.fragment or new.netloc == asked.netloc:
        return None
    if is_loopback(asked):
        return new if is_loopback(new) and new.scheme == asked.scheme else None
    return new if _is_in_cloud(asked) and _is_in_cloud(new) else None


def _is_in_cloud(url: httpx.URL) -> bool:
    name, _, zone = url.host.lower().partition(".")
    return url.scheme == "https" and url.port is None and zone in ZONES and name not in _NO_PORTAL and _NAME.fullmatch(name) is not None

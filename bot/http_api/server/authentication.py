"""Authenticates callers by the token in X-API-Key, limits their requests, and decides who may read metrics and health details.

Monitoring needs METRICS_TOKEN or an admin's token. A request from the same machine has no rights of its own, since a proxy there makes
every caller look local. Refusals do not reveal what exists.
"""

import hmac
import logging
from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import sha256
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

from pydantic import SecretStr
from starlette.requests import Request

from bot.http_api.server.errors import ApiError
from bot.http_api.server.limits import Lockout, RequestRate
from bot.http_api.server.tokens import Client, Tokens
from orchestrator.domain.errors import SettingsError
from state.clock import read_boottime

log = logging.getLogger(__name__)

Network = IPv4Network | IPv6Network
_LINES_PER_MINUTE: Final = 10
"""Maximum number of log lines per minute about lock-outs, so that a caller with thousands of addresses cannot fill the log."""
_SITE_PREFIX: Final = 64
"""Number of leading bits that identify an IPv6 site; all addresses in one site count as one caller."""


class Authenticator:
    """Checks tokens and limits requests; one instance per app, stored at `app.state.identity`."""

    def __init__(
        self, tokens: Tokens, *, per_minute: int = 0, proxies: Sequence[Network] = (), clock: Callable[[], float] = read_boottime
    ) -> None:
        """Create the authenticator. `per_minute` limits the requests of each address and of each token; 0 means no limit.

        `proxies` are networks trusted to name the caller's address in X-Forwarded-For; `clock` returns seconds.
        """
        self._tokens, self._proxies = tokens, tuple(proxies)
        self._rate, self._lockout = RequestRate(per_minute, clock), Lockout(clock)
        self._lines = RequestRate(_LINES_PER_MINUTE, clock)
        self._proxy_told = bool(proxies)
        self.refused_count = 0
        """Number of requests refused for a wrong or missing token or for their rate since the start, for the metrics."""

    def check(self, request: Request, presented: str | None) -> Client:
        """Return the client to which the token `presented` belongs; raises ApiError 401 without a valid one, 429 above a limit.

        What others send from the same address, such as wrong tokens through the same proxy, does not keep out a right token that nobody
        can find by trying. A token that might be found is refused from an address that is locked out, like a wrong one.
        """
        address = self.find_address(request)
        client = self._tokens.find_client(presented) if presented else None
        if client is None or client.is_guessable:
            self._wait(max(self._lockout.wait(address), self._rate.wait(f"address {address}")))
        if client is None:
            self.refused_count += 1
            if presented and self._lockout.record_failure(address) and not self._lines.wait("lock-out"):
                log.warning("an address is locked out after wrong tokens", extra={"action": "api_locked_out", "address": address})
            raise ApiError(401, "unauthorized", "The header X-API-Key with a valid token is needed.")
        self._wait(self._rate.wait(f"token {client.name}"))
        return client

    def _wait(self, seconds: int) -> None:
        if seconds:
            self.refused_count += 1
            sentence = "Too many requests, or too many wrong tokens, from here."
            raise ApiError(429, "too_many_requests", sentence, headers={"Retry-After": str(seconds)})

    def find_address(self, request: Request) -> str:
        """Return the caller's IP address; for IPv6, the network of the caller's site.

        X-Forwarded-For is used only as far as trusted proxies wrote it.
        """
        hops = [request.client.host if request.client else ""]
        if not self._proxy_told and "x-forwarded-for" in request.headers:
            self._proxy_told = True
            said = "a proxy stands in front, and HTTP_TRUSTED_PROXIES does not name it: all its callers count as one address"
            log.warning(said, extra={"action": "api_unknown_proxy", "address": hops[0]})
        if self._proxies:
            forwarded = ",".join(request.headers.getlist("x-forwarded-for")).split(",")
            hops += [hop.strip() for hop in reversed(forwarded) if hop.strip()]
        trusted = True
        address = hops[0]
        for hop in hops:
            if not trusted or not _is_address(hop):
                break
            address = hop
            trusted = any(ip_address(hop) in network for network in self._proxies)
        return _find_network_site(address)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


@lru_cache(256)  # for callers who send many requests
def _find_network_site(address: str) -> str:
    if not _is_address(address):
        return address
    found = ip_address(address)
    if not isinstance(found, IPv6Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ip_network((int(found), _SITE_PREFIX), strict=False))


def parse_networks(listed: str) -> list[Network]:
    """Return the networks listed in HTTP_TRUSTED_PROXIES, which may be empty; raises SettingsError naming an invalid entry."""
    networks: list[Network] = []
    for entry in (part.strip() for part in listed.split(",") if part.strip()):
        try:
            networks.append(ip_network(entry))
        except ValueError:
            raise SettingsError(f"HTTP_TRUSTED_PROXIES: {entry} is no address and no network such as 10.0.0.0/8") from None
    return networks


MonitoringCheck = Callable[[Request], bool]
"""Returns whether the request may see metrics and health details, False without a token.

Raises ApiError 401, 403 or 429 for a token that does not suffice.
"""
_UNAUTHORIZED: Final = "A valid token is needed."


def build_monitoring_check(token: SecretStr | None) -> MonitoringCheck:
    """Return a check that accepts METRICS_TOKEN or an admin's API token, as `Authorization: Bearer …` or in X-API-Key."""
    wanted = _hash_metrics_token(token.get_secret_value()) if token is not None else None

    def may(request: Request) -> bool:
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        presented = request.headers.get("x-api-key") or (bearer.strip() if scheme.lower() == "bearer" else "")
        if not presented:
            return False
        if wanted is not None and hmac.compare_digest(_hash_metrics_token(presented), wanted):
            return True
        identity: Authenticator | None = getattr(request.app.state, "identity", None)
        if identity is None:
            raise ApiError(401, "unauthorized", _UNAUTHORIZED)
        if identity.check(request, presented).actor.role != "admin":
            raise ApiError(403, "forbidden", "This token may not see that.")
        return True

    return may


def _hash_metrics_token(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogatepass")).digest()

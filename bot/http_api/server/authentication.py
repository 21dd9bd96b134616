"""Tokens in X-API-Key, rates, and who may read metrics. Refusals do not reveal what exists.

A request from the same machine has no rights of its own: a proxy there makes every caller look local.
"""

import hmac
import logging
from collections.abc import Callable, Sequence
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

from pydantic import SecretStr
from starlette.requests import Request

from bot.http_api.server.errors import ApiError
from bot.http_api.server.limits import Lockout, RequestRate
from bot.http_api.server.tokens import Client, Tokens, hash_token
from orchestrator.domain.errors import SettingsError
from state.clock import read_boottime

log = logging.getLogger(__name__)

Network = IPv4Network | IPv6Network
_LINES_PER_MINUTE: Final = 10
"""About lock-outs: a caller with thousands of addresses cannot fill the log."""
_SITE_PREFIX: Final = 64
"""Leading bits of an IPv6 site, which counts as one caller."""


class Authenticator:
    """One instance per app, at `app.state.identity`."""

    def __init__(
        self, tokens: Tokens, *, per_minute: int = 0, proxies: Sequence[Network] = (), clock: Callable[[], float] = read_boottime
    ) -> None:
        """`per_minute` is for each address and token, 0 for no limit; `proxies` may name callers; `clock` is in seconds."""
        self._tokens, self._proxies = tokens, tuple(proxies)
        self._rate, self._lockout = RequestRate(per_minute, clock), Lockout(clock)
        self._lines = RequestRate(_LINES_PER_MINUTE, clock)
        self._proxy_told = bool(proxies)
        self.refused_count = 0
        """For a token or a rate, since the start, for the metrics."""

    def check(self, request: Request, presented: str | None) -> Client:
        """Raises ApiError 401 or 429. Others' wrong tokens from its address lock out only a token that could be guessed."""
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
        """For IPv6 the site's network. X-Forwarded-For counts only as far as trusted proxies wrote it."""
        hops = [request.client.host if request.client else ""]
        if not self._proxy_told and "x-forwarded-for" in request.headers:
            self._proxy_told = True
            warning = "a proxy stands in front, and HTTP_TRUSTED_PROXIES does not name it: all its callers count as one address"
            log.warning(warning, extra={"action": "api_unknown_proxy", "address": hops[0]})
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
    parsed = ip_address(address)
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ip_network((int(parsed), _SITE_PREFIX), strict=False))


def parse_networks(listing: str) -> list[Network]:
    """Networks of HTTP_TRUSTED_PROXIES, which may be empty. Raises SettingsError naming an invalid entry."""
    networks: list[Network] = []
    for entry in (part.strip() for part in listing.split(",") if part.strip()):
        try:
            networks.append(ip_network(entry))
        except ValueError:
            raise SettingsError(f"HTTP_TRUSTED_PROXIES: {entry} is no address and no network such as 10.0.0.0/8") from None
    return networks


MonitoringCheck = Callable[[Request], bool]
"""False without a token. Raises ApiError 401, 403 or 429 for a token that does not suffice."""
_UNAUTHORIZED: Final = "A valid token is needed."


def build_monitoring_check(token: SecretStr | None) -> MonitoringCheck:
    """Accepts METRICS_TOKEN or an admin's token, as `Authorization: Bearer …` or in X-API-Key."""
    digest = hash_token(token.get_secret_value()) if token is not None else None

    def may(request: Request) -> bool:
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        presented = request.headers.get("x-api-key") or (bearer.strip() if scheme.lower() == "bearer" else "")
        if not presented:
            return False
        if digest is not None and hmac.compare_digest(hash_token(presented), digest):
            return True
        identity: Authenticator | None = getattr(request.app.state, "identity", None)
        if identity is None:
            raise ApiError(401, "unauthorized", _UNAUTHORIZED)
        if identity.check(request, presented).actor.role != "admin":
            raise ApiError(403, "forbidden", "This token may not see that.")
        return True

    return may

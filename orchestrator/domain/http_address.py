"""Addresses of http effects, and hosts of the policy.

What two programs could read differently is refused: card, policy and connection must mean the same host.
"""

import ipaddress
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote

from pydantic import SecretStr

from orchestrator.domain.frozen import Frozen

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

LONGEST: Final = 2_000
PORTS: Final[Mapping[str, int]] = {"https": 443, "http": 80}
_MAX_PORT: Final = 65_535
_ADDRESS: Final = re.compile(r"(https?)://([^/?#]*)(/[^?#]*)?(?:\?([^#]*))?", re.ASCII | re.IGNORECASE)
_LABEL: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)", re.ASCII)
_NUMERIC: Final = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)
_PLAIN: Final = re.compile(r"[A-Za-z0-9\-._~!$&'()*+,;=:@%/?]*", re.ASCII)
_SEPARATORS: Final = re.compile(r"[/\\]")
_OVERLONG: Final = re.compile(r"%(?:c0|e0%80)%[89a-f][0-9a-f]", re.ASCII | re.IGNORECASE)
"""Signs of ASCII in too many bytes, which old servers read as dots and slashes."""
_DECODINGS: Final = 3
"""How often %XX is read anew: a server and what stands before it may each do so."""
_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})", re.ASCII)


class OddAddress(ValueError):
    """The message says what is wrong, in English."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Site:
    scheme: str
    host: str
    port: int

    @property
    def address(self) -> IpAddress | None:
        return _read_ip(self.host)

    def __str__(self) -> str:
        """Without the usual port: https://api.example.com."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + ("" if self.port == PORTS[self.scheme] else f":{self.port}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Address:
    site: Site
    path: str
    query: str

    def __str__(self) -> str:
        return f"{self.site}{self.path}" + (f"?{self.query}" if self.query else "")


def parse_address(text: object) -> Address:
    """Raises OddAddress for anything that can be read in two ways."""
    if not isinstance(text, str) or len(text) > LONGEST:
        raise OddAddress(f"an address is a text of up to {LONGEST} characters")
    if "#" in text:
        raise OddAddress("an address has no part after #")
    if not text.isprintable() or "\\" in text or " " in text:
        raise OddAddress("an address has no spaces, backslashes or invisible signs")
    match = _ADDRESS.fullmatch(text)
    if match is None:
        raise OddAddress("an address begins with https:// and a host")
    scheme, authority, path, query = match.groups()
    return Address(site=_parse_site(scheme.lower(), authority), path=_parse_path(path or "/"), query=_escape(query or ""))


def _parse_site(scheme: str, authority: str) -> Site:
    if "@" in authority:
        raise OddAddress("an address has no name or password before the host")
    host, port = _split_port(authority)
    if ":" not in host:
        _check_name(host)
    elif not isinstance(_read_ip(host), ipaddress.IPv6Address):
        raise OddAddress("an IPv6 address is written in full between [ and ], without a zone")
    return Site(scheme=scheme, host=str(_read_ip(host) or host), port=_parse_port(port, scheme))


def _split_port(authority: str) -> tuple[str, str | None]:
    if not authority.isascii():
        raise OddAddress("a host name with other letters than a-z is written as xn--…")
    if authority.startswith("["):
        inner, bracket, rest = authority[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")) or ":" not in inner:
            raise OddAddress("an IPv6 address is written in full between [ and ], without a zone")
        return inner.lower(), rest[1:] if rest else None
    host, colon, port = authority.partition(":")
    return host.lower(), port if colon else None


def _parse_port(text: str | None, scheme: str) -> int:
    if text is None:
        return PORTS[scheme]
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(_MAX_PORT)) and 0 < int(text) <= _MAX_PORT) or text.startswith(
        "0"
    ):
        raise OddAddress("a port is a number from 1 to 65535")
    return int(text)


def _check_name(host: str) -> None:
    labels = host.split(".")
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):  # noqa: PLR2004 - the limit of DNS
        raise OddAddress("a host name has letters, digits, hyphens and points between them")
    if _NUMERIC.fullmatch(labels[-1]) and _read_ip(host) is None:
        raise OddAddress("an IP address is written as four decimal numbers")


def _read_ip(host: str) -> IpAddress | None:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    return None if isinstance(address, ipaddress.IPv6Address) and address.scope_id else address


def _parse_path(path: str) -> str:
    escaped = _escape(path)
    read = escaped
    for _ in range(_DECODINGS):
        read = unquote(read, errors="replace")
    read = unicodedata.normalize("NFKC", read)
    if _OVERLONG.search(escaped) or any(part.partition(";")[0].strip() in {".", ".."} for part in _SEPARATORS.split(read)):
        raise OddAddress("a path has no . or .. in it, however they are written")
    if any(unicodedata.category(char) == "Cc" for char in read):
        raise OddAddress("a path has no invisible signs, however they are written")
    return escaped


def _escape(text: str) -> str:
    try:
        escaped = "".join(char if char.isascii() else quote(char) for char in text)
    except UnicodeEncodeError:
        raise OddAddress("an address holds half of a character") from None
    if _PLAIN.fullmatch(escaped) is None or _ESCAPE.search(escaped):
        raise OddAddress('signs such as < > " ` { } | ^ % are written as %XX in an address')
    return escaped


class OddSite(ValueError):
    pass


def parse_listed_site(text: str) -> Site:
    """`api.example.com` (https, its usual port), `http://127.0.0.1:8080`. Raises OddSite."""
    address_text = text.strip()
    try:
        address = parse_address(address_text if "://" in address_text else f"https://{address_text}")
    except OddAddress as error:
        raise OddSite(f"{text!r} is no host: {error}") from None
    if address.path != "/" or address.query:
        raise OddSite(f"{text!r} is no host: write it without a path")
    return address.site


def is_listed(site: Site, entries: Iterable[str]) -> bool:
    """Exactly this scheme, host and port; subdomains are hosts of their own."""
    return any(site == parse_listed_site(entry) for entry in entries)


_CLOSED: Final = tuple(
    map(
        ipaddress.ip_network,
        (
            "100.64.0.0/10",  # networks of providers
            "192.0.0.0/24",  # protocols of the network itself
            "192.88.99.0/24",  # relays between IPv4 and IPv6
            "168.63.129.16/32",  # a service for virtual machines inside a cloud
            "2620:4f:8000::/48",  # a sink for questions about private networks, as 192.31.196.0/24 and 192.175.48.0/24
            "192.31.196.0/24",
            "192.175.48.0/24",
            "3fff::/20",  # examples in documents
        ),
    )
)
"""Python counts them as global, but no host lies there that a definition has reason to call."""
_UNICAST: Final = ipaddress.ip_network("2000::/3")
"""The only part of IPv6 with hosts of the internet."""


def is_public(address: IpAddress) -> bool:
    """Not if it carries an IPv4 address inside."""
    if any(address in network for network in _CLOSED):
        return False
    if isinstance(address, ipaddress.IPv4Address):
        return address.is_global and not address.is_multicast
    carries_another = address.sixtofour or address.teredo  # a public host has an IPv4 address of its own
    return address in _UNICAST and address.is_global and not carries_another


_OPENABLE: Final = tuple(
    map(
        ipaddress.ip_network,
        ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "127.0.0.0/8", "::1/128", "fc00::/7"),
    )
)
_METADATA: Final = tuple(map(ipaddress.ip_network, ("100.100.100.200/32", "192.0.0.192/32", "fd00:ec2::/32", "fd20:ce::/32")))
"""Where clouds give the keys of their machines to whoever asks."""


def may_be_opened(address: IpAddress) -> bool:
    """Of private networks and of this machine, nothing else."""
    return any(address in network for network in _OPENABLE) and not any(address in network for network in _METADATA)


class HttpCredential(Frozen):
    host: str
    header: str = "Authorization"
    value: SecretStr

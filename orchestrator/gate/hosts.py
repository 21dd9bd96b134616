"""Addresses that data may go to: only https, only listed hosts, no trick in the spelling. Ring 2, pure."""

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

_PLAIN_ADDRESS = re.compile(r"https://[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?:[/?#][!-~]*)?", re.ASCII)


def parse_host(address: Any) -> str:
    """The host an https address goes to; "" for everything that two readers could read differently."""
    if not isinstance(address, str) or not _PLAIN_ADDRESS.fullmatch(address):
        return ""
    return (urlsplit(address).hostname or "").rstrip(".")


def is_listed_host(address: Any, hosts: Iterable[str]) -> bool:
    """Whether the address goes to one of `hosts`, compared whole: a listed host does not open its subdomains."""
    return parse_host(address) in {host.lower() for host in hosts if host}

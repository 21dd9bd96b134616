"""Removes links to unknown hosts from text, because whoever opens such a link may send data out.

Callers allow links to the portal, to hosts that an administrator listed, and to hosts that the person wrote.
"""

import re
from collections.abc import Set as AbstractSet
from urllib.parse import urlsplit

from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import RUSSIAN_SMALL_LETTERS

_ADDRESS = re.compile(
    r"(?:[a-z][a-z0-9+.-]*://|www\.)[^\s<>\"'»)\]]+"
    rf"|(?<![\w@./-])(?:[\w-]+\.)+[a-z{RUSSIAN_SMALL_LETTERS}]{{2,}}/[^\s<>\"'»)\]]*",
    re.IGNORECASE,
)
_REMOVED_MARK = load_lexicon("records").read_table("removed_link")


def strip_unknown_links(text: str, hosts: AbstractSet[str], *, locale: str) -> str:
    """Return the text with a mark in place of every address whose host is not in `hosts`, so that nobody can open it with one press."""
    return _ADDRESS.sub(lambda found: found[0] if _parse_host(found[0]) in hosts else _REMOVED_MARK[locale], text)


def extract_hosts(text: str) -> frozenset[str]:
    """Return the hosts of the addresses in `text`."""
    return frozenset(_parse_host(found) for found in _ADDRESS.findall(text))


def _parse_host(address: str) -> str:
    try:
        return (urlsplit(address if "://" in address else f"//{address}").netloc.rpartition("@")[2]).lower()
    except ValueError:
        return ""

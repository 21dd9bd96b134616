"""Sandbox portal, methods: everything the portal can do, found by name without regard to case."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from sandbox.portal.context import Call
from sandbox.portal.methods import (
    activities,
    books,
    classic,
    duplicates,
    items,
    outward,
    people,
    products,
    system,
    tasks,
    timeline,
)

Handler = Callable[[Call], Any]

_PARTS = (classic, items, books, timeline, activities, tasks, people, outward, products, duplicates, system)
HANDLERS: Mapping[str, Handler] = MappingProxyType({n: h for part in _PARTS for n, h in part.METHODS.items()})
_SPELLING = {name.lower(): name for name in (*HANDLERS, "batch")}


def canonical(sent: str) -> str | None:
    """The documented spelling of a method as it was sent (`.json`, slashes, any case), or nothing."""
    name = sent.strip("/").lower()
    stem, dot, suffix = name.rpartition(".")
    return _SPELLING.get(stem if dot and suffix in {"json", "xml"} else name)

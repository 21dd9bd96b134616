"""Sandbox portal, methods: the table of all REST v2 methods by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from sandbox.portal.context import Call
from sandbox.portal.methods import (
    activities,
    books,
    calendars,
    classic,
    currencies,
    duplicates,
    items,
    outward,
    people,
    products,
    reference_books,
    smart_types,
    system,
    task_records,
    tasks,
    timeline,
    userfields,
)

Handler = Callable[[Call], Any]

_CRM = (classic, items, books, currencies, smart_types, userfields, timeline, activities, products, duplicates)
_PARTS = (*_CRM, reference_books, tasks, task_records, people, outward, calendars, system)
HANDLERS: Mapping[str, Handler] = MappingProxyType({n: h for part in _PARTS for n, h in part.METHODS.items()})
_SPELLING = {name.lower(): name for name in (*HANDLERS, "batch")}


def canonical(sent: str) -> str | None:
    """Return the documented spelling of a method name from a request, or None for an unknown method.

    The given name may be in any case and have slashes around it or a `.json` or `.xml` suffix.
    """
    name = sent.strip("/").lower()
    stem, dot, suffix = name.rpartition(".")
    return _SPELLING.get(stem if dot and suffix in {"json", "xml"} else name)

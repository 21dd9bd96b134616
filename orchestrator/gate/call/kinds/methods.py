"""The kinds of effects that are declared by a table of methods each: `file` and `telegram`. Pure."""

from collections.abc import Mapping
from typing import Final

from bitrix.catalogue.catalogue import Method
from orchestrator.gate.call.kinds import file_methods, telegram_methods
from orchestrator.gate.call.kinds.method import KindMethod

KINDS: Final[Mapping[str, Mapping[str, KindMethod]]] = {
    file_methods.KIND: file_methods.METHODS,
    telegram_methods.KIND: telegram_methods.METHODS,
}
"""The methods of each kind by their full names."""


def find_method(kind: str, name: str) -> Method | None:
    """Return the row of a method, named with its kind or without: file.read, read."""
    methods = KINDS.get(kind, {})
    found = methods.get(name.strip()) or methods.get(f"{kind}.{name.strip()}")
    return found.spec if found else None


def list_names() -> tuple[str, ...]:
    """Return the full names of all methods, as a policy writes them."""
    return tuple(name for methods in KINDS.values() for name in methods)

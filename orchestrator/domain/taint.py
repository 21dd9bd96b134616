"""Values with origins, so that the gate can tell a person's wish from text of others. What is computed comes from all its parts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from state.stored import JsonObject

Origin = Literal["definition", "person", "label", "prose", "model", "document", "web", "database"]
"""label: a short text of the CRM; prose: a long one (a comment, an e-mail)."""
ORIGINS: Final[frozenset[str]] = frozenset(get_args(Origin))
FOREIGN: Final[frozenset[Origin]] = frozenset({"prose", "document", "web", "database"})
"""Strangers may have written it, also orders to the model."""
Origins = frozenset[Origin]
NOWHERE: Final[Origins] = frozenset()
UNDECLARED: Final[Origins] = frozenset({"prose"})
"""Read from outside, origin unsaid: anybody may have written it."""


@dataclass(frozen=True, slots=True)
class Value:
    data: Any
    origins: Origins = NOWHERE

    @property
    def is_foreign(self) -> bool:
        return bool(self.origins & FOREIGN)

    def map(self, change: Callable[[Any], Any]) -> "Value":
        """The origins stay."""
        return Value(change(self.data), self.origins)

    def get(self, *path: str | int) -> "Value":
        """None where there is none; with the origins of the whole."""
        part = self.data
        for step in path:
            try:
                part = part[step]
            except (LookupError, TypeError):
                return Value(None, self.origins)
        return Value(part, self.origins)

    def to_stored(self) -> JsonObject:
        """{data, origins}."""
        return {"data": self.data, "origins": sorted(self.origins)}

    @classmethod
    def from_stored(cls, stored: JsonObject) -> "Value":
        """Return the value from its JSON data."""
        return cls(stored.get("data"), frozenset(stored.get("origins", ())))


def combine(make: Callable[..., Any], *values: Value) -> Value:
    """From everywhere that `values` come from."""
    return Value(make(*(one.data for one in values)), join_origins(values))


def join_origins(values: Iterable[Value]) -> Origins:
    return frozenset().union(*(one.origins for one in values))


def split_values(tree: Any) -> tuple[Any, list[Value]]:
    """(the tree with data in place of each `Value`, these values)."""
    values: list[Value] = []
    return _strip(tree, values), values


def _strip(tree: Any, values: list[Value]) -> Any:
    if isinstance(tree, Value):
        values.append(tree)
        return tree.data
    if isinstance(tree, Mapping):
        return {key: _strip(one, values) for key, one in tree.items()}
    if isinstance(tree, Sequence) and not isinstance(tree, str | bytes):
        return [_strip(one, values) for one in tree]
    return tree

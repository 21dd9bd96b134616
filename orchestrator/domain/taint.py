"""Values that remember where they come from, so that the gate can tell a person's wish from text that others wrote.

Every value that a run works with is a `Value`. Whatever is computed from several values comes from all places that these come from. The
gate gets the origins with each effect: a call whose values come from text of others asks a person first.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from state.stored import JsonObject

Origin = Literal["definition", "person", "label", "prose", "model", "document", "web", "database"]
"""Where a value comes from: the definition that is executed (its author), what a person typed or chose in this run, a short text of the CRM
(a title, a name), a long text of the CRM (a comment, an e-mail), an answer of the model, a document of the company, the web, a foreign
database."""
ORIGINS: Final[frozenset[str]] = frozenset(get_args(Origin))
FOREIGN: Final[frozenset[Origin]] = frozenset({"prose", "document", "web", "database"})
"""Origins where strangers may have written what they like, also orders to the model."""
Origins = frozenset[Origin]
NOWHERE: Final[Origins] = frozenset()
UNDECLARED: Final[Origins] = frozenset({"prose"})
"""The origins of what an engine has read from outside without saying where it comes from: anybody may have written it."""


@dataclass(frozen=True, slots=True)
class Value:
    """JSON data with its origins; without any it is a constant of the program."""

    data: Any
    origins: Origins = NOWHERE

    @property
    def is_foreign(self) -> bool:
        """Whether strangers may have written it or anything that it was made from."""
        return bool(self.origins & FOREIGN)

    def map(self, change: Callable[[Any], Any]) -> "Value":
        """Return the result of `change` for the data, with the same origins."""
        return Value(change(self.data), self.origins)

    def get(self, *path: str | int) -> "Value":
        """Return the part of the data at `path` (keys and indexes), None where there is none; its origins are those of the whole."""
        found = self.data
        for step in path:
            try:
                found = found[step]
            except (LookupError, TypeError):
                return Value(None, self.origins)
        return Value(found, self.origins)

    def to_stored(self) -> JsonObject:
        """Return the value as JSON data: {data, origins}."""
        return {"data": self.data, "origins": sorted(self.origins)}

    @classmethod
    def from_stored(cls, stored: JsonObject) -> "Value":
        """Return the value from its JSON data."""
        return cls(stored.get("data"), frozenset(stored.get("origins", ())))


def combine(make: Callable[..., Any], *values: Value) -> Value:
    """Return what `make` makes of the data of `values`; it comes from everywhere that they come from."""
    return Value(make(*(one.data for one in values)), join_origins(values))


def join_origins(values: Iterable[Value]) -> Origins:
    """Return all origins of the values."""
    return frozenset().union(*(one.origins for one in values))


def split_values(tree: Any) -> tuple[Any, list[Value]]:
    """Return (`tree` with each `Value` in it replaced by its data, these values). `tree` is JSON data with `Value` at any place."""
    found: list[Value] = []
    return _strip(tree, found), found


def _strip(tree: Any, found: list[Value]) -> Any:
    if isinstance(tree, Value):
        found.append(tree)
        return tree.data
    if isinstance(tree, Mapping):
        return {key: _strip(one, found) for key, one in tree.items()}
    if isinstance(tree, Sequence) and not isinstance(tree, str | bytes):
        return [_strip(one, found) for one in tree]
    return tree

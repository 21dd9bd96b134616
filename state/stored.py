"""Parts of a folded state that are kept as JSON objects: typed to whoever reads them, the same bytes when they are stored again."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, Self

JsonObject = Mapping[str, Any]
"""A JSON object whose keys are not ours to name: params of a model, a row of the portal, the body of a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A value with named fields that remembers which of them were stored: an absent key is not the same as a default."""

    stored_keys: tuple[str, ...] = ()
    """The keys that the stored object has, in its order."""

    @classmethod
    def create(cls, **values: Any) -> Self:
        """The value with these fields, all of which are stored."""
        return cls(stored_keys=tuple(values), **values)

    @classmethod
    def from_stored(cls, data: JsonObject) -> Self:
        """The value of a stored object; keys that this version does not know are dropped."""
        known = _list_fields(cls)  # type: ignore[arg-type]  # a class is hashable
        values = {key: data[key] for key in data if key in known}
        return cls(stored_keys=tuple(values), **values)

    def to_stored(self) -> dict[str, Any]:
        """The object as it is stored: only the keys that it had."""
        return {key: getattr(self, key) for key in self.stored_keys}

    def select(self, names: Iterable[str]) -> dict[str, Any]:
        """Those of the named keys that are stored, in the order of `names`."""
        return {name: getattr(self, name) for name in names if name in self.stored_keys}

    def has(self, key: str) -> bool:
        """Whether the stored object has that key."""
        return key in self.stored_keys

    def with_values(self, **values: Any) -> Self:
        """The value with these fields set, and stored from now on."""
        return replace(self, stored_keys=(*self.stored_keys, *(key for key in values if key not in self.stored_keys)), **values)

    def without(self, *names: str) -> Self:
        """The value with these fields back at their defaults, and stored no more."""
        defaults = {one.name: one.default for one in fields(self) if one.name in names}
        return replace(self, stored_keys=tuple(key for key in self.stored_keys if key not in names), **defaults)


@cache
def _list_fields(kind: type[Stored]) -> frozenset[str]:
    return frozenset(one.name for one in fields(kind)) - {"stored_keys"}

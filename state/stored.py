"""The base class for parts of a state that are stored as JSON.

An unchanged value is written as it was read.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any, NamedTuple, Self

JsonObject = Mapping[str, Any]
"""Its keys are defined by others: a model, the portal, a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """Remembers which keys were stored: an absent key is not a default."""

    stored_keys: tuple[str, ...] = ()

    @classmethod
    def create(cls, **values: Any) -> Self:
        """Make a value whose fields are all stored, also defaults."""
        return cls(stored_keys=tuple(values), **values)

    @classmethod
    def from_stored(cls, data: JsonObject) -> Self:
        """Unknown keys are dropped."""
        known = _list_fields(cls)  # type: ignore[arg-type]  # a class is hashable
        values = {key: data[key] for key in data if key in known}
        return cls(stored_keys=tuple(values), **values)

    def to_stored(self) -> dict[str, Any]:
        """Contains only `stored_keys`, in that order."""
        return _read(self, self.stored_keys)

    def to_stored_without(self, *names: str) -> dict[str, Any]:
        return _read(self, _leave_out(self.stored_keys, names))

    def select(self, names: Iterable[str]) -> dict[str, Any]:
        """Return the stored ones of these, in the order of `names`."""
        return {name: getattr(self, name) for name in names if name in self.stored_keys}

    def has(self, key: str) -> bool:
        return key in self.stored_keys

    def with_values(self, **values: Any) -> Self:
        values["stored_keys"] = (*self.stored_keys, *[key for key in values if key not in self.stored_keys])
        slots = _describe_slots(type(self))  # type: ignore[arg-type]  # a class is hashable
        copy = object.__new__(type(self))
        for put, value in zip(slots.puts.values(), slots.read(self), strict=True):
            put(copy, value)
        for name, value in values.items():
            slots.puts[name](copy, value)
        return copy

    def without(self, *names: str) -> Self:
        """Return a copy with these at their defaults and not stored."""
        defaults = {field.name: field.default for field in fields(self) if field.name in names}
        return replace(self, stored_keys=tuple(key for key in self.stored_keys if key not in names), **defaults)


class _Slots(NamedTuple):
    """A copy takes a third of the time of `dataclasses.replace`."""

    read: Callable[[Any], tuple[Any, ...]]
    puts: Mapping[str, Callable[[Any, Any], None]]


def _read(value: Stored, names: tuple[str, ...]) -> dict[str, Any]:
    return dict(zip(names, _build_reader(names)(value), strict=False))


@lru_cache(1024)  # values of one kind have few different sets of keys
def _build_reader(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    return attrgetter(*names, "stored_keys")  # for a single name it would return no tuple


@lru_cache(1024)
def _leave_out(keys: tuple[str, ...], names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(key for key in keys if key not in names)


@cache
def _describe_slots(kind: type[Stored]) -> _Slots:
    names = [field.name for field in fields(kind)]
    return _Slots(attrgetter(*names), {name: getattr(kind, name).__set__ for name in names})


@cache
def _list_fields(kind: type[Stored]) -> frozenset[str]:
    return frozenset(field.name for field in fields(kind)) - {"stored_keys"}

"""The base class for parts of a session's state, which are stored as JSON objects.

Readers get typed fields, and writing an unchanged value gives exactly the JSON object that was read.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache, lru_cache
from inspect import signature
from operator import attrgetter
from typing import Any, NamedTuple, Self, TypeVar

JsonObject = Mapping[str, Any]
"""A JSON object whose keys others define: params that the model wrote, a row of the portal, the body of a message."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A value with named fields that is stored as a JSON object.

    It remembers which fields the stored object has, because an absent key is not the same as a field with its default.
    """

    stored_keys: tuple[str, ...] = ()
    """The keys that the stored object has, in the order in which it has them."""

    @classmethod
    def create(cls, **values: Any) -> Self:
        """Return a new value with these fields. `to_stored` writes all of them, also those that equal their default."""
        return cls(stored_keys=tuple(values), **values)

    @classmethod
    def from_stored(cls, data: JsonObject) -> Self:
        """Return the value for the JSON object `data`; keys for which this class has no field are dropped."""
        known = _list_fields(cls)  # type: ignore[arg-type]  # a class is hashable
        values = {key: data[key] for key in data if key in known}
        return cls(stored_keys=tuple(values), **values)

    def to_stored(self) -> dict[str, Any]:
        """Return the JSON object to store. It contains only the fields in `stored_keys`, in that order."""
        return _read(self, self.stored_keys)

    def to_stored_without(self, *names: str) -> dict[str, Any]:
        """Return the JSON object without the fields in `names`."""
        return _read(self, _leave_out(self.stored_keys, names))

    def select(self, names: Iterable[str]) -> dict[str, Any]:
        """Return a dict of the fields in `names` that are stored, in the order of `names`."""
        return {name: getattr(self, name) for name in names if name in self.stored_keys}

    def has(self, key: str) -> bool:
        """Whether the field `key` is stored, so that it is in the JSON object."""
        return key in self.stored_keys

    def with_values(self, **values: Any) -> Self:
        """Return a copy with these fields set; they will be stored."""
        values["stored_keys"] = (*self.stored_keys, *[key for key in values if key not in self.stored_keys])
        slots = _describe_slots(type(self))  # type: ignore[arg-type]  # a class is hashable
        copy = object.__new__(type(self))
        for put, value in zip(slots.puts.values(), slots.read(self), strict=True):
            put(copy, value)
        for name, value in values.items():
            slots.puts[name](copy, value)
        return copy

    def without(self, *names: str) -> Self:
        """Return a copy with these fields back at their defaults; they will not be stored."""
        defaults = {field.name: field.default for field in fields(self) if field.name in names}
        return replace(self, stored_keys=tuple(key for key in self.stored_keys if key not in names), **defaults)


def convert(source: object, to: Callable[..., T], **own: Any) -> T:
    """Return a `to` (a dataclass, model or named tuple) with the values `own`, and every other field of `source` that it has, too."""
    shared = {name: getattr(source, name) for name in _list_parameters(to) if name not in own and hasattr(source, name)}
    return to(**shared, **own)


@cache
def _list_parameters(kind: Callable[..., object]) -> tuple[str, ...]:
    return tuple(name for name, parameter in signature(kind).parameters.items() if parameter.kind is not parameter.VAR_KEYWORD)


class _Slots(NamedTuple):
    """How to read all fields of a class at once, and how to set each, in the same order.

    A copy made with these takes a third of the time of `dataclasses.replace`: a frozen class sets its fields by name, and a card has 56.
    """

    read: Callable[[Any], tuple[Any, ...]]
    puts: Mapping[str, Callable[[Any, Any], None]]


def _read(value: Stored, names: tuple[str, ...]) -> dict[str, Any]:
    """Return a dict of these fields."""
    return dict(zip(names, _build_reader(names)(value), strict=False))


@lru_cache(1024)  # values of one kind have few different sets of keys
def _build_reader(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that reads these attributes of an object at once, and one more."""
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

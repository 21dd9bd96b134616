"""The base classes of the values that parts of the program exchange: actors, effects, outcomes, replies, messages."""

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

_building = threading.RLock()
Owner = TypeVar("Owner")
Value = TypeVar("Value")


class computed_once(Generic[Owner, Value]):  # noqa: N801 - a decorator, named as the one of functools
    """Decorates a method of an immutable value without slots: its result is computed at the first access and kept as an attribute.

    `functools.cached_property` takes a lock for this in Python 3.11, and five calls instead of two: too much for a value that lives for
    one check. Two threads may both compute, which gives them the same.
    """

    def __init__(self, compute: Callable[[Owner], Value]) -> None:
        """Keep the method; the attribute has its name."""
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    def __get__(self, instance: Owner, owner: type[Owner] | None = None) -> Value:
        """Return what the method computes; Python asks this only while the instance has no attribute of the name."""
        value = instance.__dict__[self._name] = self._compute(instance)
        return value


class Frozen(BaseModel):
    """Base class of immutable values that reject unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class View(BaseModel):
    """Base class of immutable values parsed from stored JSON; fields that this version of the program does not know are dropped.

    `model_validate` parses one. Its errors do not quote the value, because they are logged and the value may contain what people wrote.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    def to_json(self) -> dict[str, Any]:
        """Return the value as a JSON object without the fields that were not set explicitly.

        So the JSON shows the difference between a field that was not set and one that was set to its default.
        """
        return self.model_dump(mode="json", exclude_unset=True)


class LateModel(BaseModel):
    """Base class of models that few processes use: pydantic builds what validates one at its first use, and not when it is imported.

    One thread builds at a time. Pydantic's own `model_rebuild` is not thread-safe: a second thread could validate by the parent's rules.
    """

    model_config = ConfigDict(defer_build=True)

    @classmethod
    def model_rebuild(
        cls,
        *,
        force: bool = False,
        raise_errors: bool = True,
        _parent_namespace_depth: int = 2,
        _types_namespace: Any = None,
    ) -> bool | None:
        """Build the validator and the serializer, as pydantic's method does, which calls this at the first use."""
        with _building:
            return super().model_rebuild(
                force=force,
                raise_errors=raise_errors,
                _parent_namespace_depth=_parent_namespace_depth + 1,  # this function is one frame more
                _types_namespace=_types_namespace,
            )

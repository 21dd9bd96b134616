import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

_building = threading.RLock()
Owner = TypeVar("Owner")
Value = TypeVar("Value")


class computed_once(Generic[Owner, Value]):  # noqa: N801 - a decorator, named as the one of functools
    """Computed at the first access and kept as an attribute of an immutable value without slots.

    `functools.cached_property` takes a lock in Python 3.11: too much for a value that lives for one check.
    """

    def __init__(self, compute: Callable[[Owner], Value]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    def __get__(self, instance: Owner, owner: type[Owner] | None = None) -> Value:
        """Asked only while the instance has no attribute of the name."""
        value = instance.__dict__[self._name] = self._compute(instance)
        return value


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class View(BaseModel):
    """Parsed from stored JSON; unknown fields are dropped. Errors do not quote the value, which may hold what people wrote."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    def to_json(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude_unset=True)


class LateModel(BaseModel):
    """Pydantic builds its validator at the first use, one thread at a time: its own `model_rebuild` is not thread-safe."""

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
        with _building:
            return super().model_rebuild(
                force=force,
                raise_errors=raise_errors,
                _parent_namespace_depth=_parent_namespace_depth + 1,  # this function is one frame more
                _types_namespace=_types_namespace,
            )

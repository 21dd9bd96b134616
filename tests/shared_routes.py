"""Lets the applications of tests share what FastAPI finds out about endpoints: almost every test of an API builds one of eighty routes anew.

What an endpoint takes and answers does not depend on the world that it works for, so a route made by the same lines of code with the same
types is a copy of the first one, with its own endpoint.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from functools import cache
from types import FunctionType, MethodType
from typing import Any, get_args, get_origin

from fastapi import params, routing
from fastapi._compat import v2
from pydantic import TypeAdapter
from pydantic.fields import FieldInfo

_OWN = frozenset({"endpoint", "dependant", "dependency_overrides_provider", "original_route", "app"})
"""What each route has for itself."""
_PLAIN = frozenset({type(None), str, int, float, bytes, bool})
_SLOTS = tuple(name for name in FieldInfo.__slots__ if not name.startswith("_"))
_FIELDS: set[type] = set()
"""Classes of descriptions of parameters that were met."""
_build_field = v2.ModelField.__post_init__
_populate = routing._populate_api_route_state
_found: dict[Hashable, tuple[Mapping[str, Any], Any]] = {}
"""What is the same about two routes → what FastAPI stored in the first, and what the key names by its address."""


def share_routes() -> None:
    """From here on this process finds out about each endpoint and each plain type once."""
    routing._populate_api_route_state = populate_from_first  # type: ignore[assignment]
    v2.ModelField.__post_init__ = build_shared_field  # type: ignore[method-assign]


def populate_from_first(route: Any, path: str, endpoint: Callable[..., Any], **given: Any) -> None:
    """Fill a route in as FastAPI does, from one that was built of the same code with the same types if there was one."""
    if not isinstance(endpoint, FunctionType | MethodType) or hasattr(endpoint, "__wrapped__") or given.get("callbacks"):
        _populate(route, path, endpoint, **given)
        return
    provider = given.pop("dependency_overrides_provider", None)
    seen: list[Any] = [endpoint.__code__]
    key = (
        type(route), path, id(endpoint.__code__), endpoint.__name__, endpoint.__doc__,
        _freeze((endpoint.__annotations__, endpoint.__defaults__, endpoint.__kwdefaults__, given), seen),
    )  # fmt: skip
    if key not in _found:
        _populate(route, path, endpoint, dependency_overrides_provider=provider, **given)
        _found[key] = ({name: value for name, value in vars(route).items() if name not in _OWN} | {"first": route.dependant}, seen)
        return
    same = {name: _copy(value) for name, value in _found[key][0].items()}
    first = same.pop("first")
    for name, value in same.items():
        setattr(route, name, value)
    route.endpoint, route.dependant, route.dependency_overrides_provider = endpoint, replace(first, call=endpoint), provider


def _copy(value: Any) -> Any:
    return value.copy() if isinstance(value, list | dict | set) else value


def _freeze(value: Any, seen: list[Any]) -> Hashable:
    """Return a key that two values share only if routes made of them are alike; what it names by its address is kept in `seen`."""
    kind = type(value)
    if kind in _PLAIN:
        return kind, value
    if kind in _FIELDS:  # a parameter's description, made anew by each run of the code that has it
        own = [(name, _freeze(one, seen)) for name in _SLOTS if (one := getattr(value, name, None)) is not None]
        return kind, tuple(own), _freeze(getattr(value, "__dict__", {}), seen)
    if isinstance(value, Mapping):
        return "mapping", tuple([(name, _freeze(one, seen)) for name, one in value.items()])
    if isinstance(value, list | tuple):
        return "sequence", tuple([_freeze(one, seen) for one in value])
    if isinstance(value, set | frozenset):
        return "set", frozenset([_freeze(one, seen) for one in value])
    if isinstance(value, FieldInfo):
        _FIELDS.add(kind)
        return _freeze(value, seen)
    if isinstance(value, params.Depends):
        return kind, _freeze({**vars(value)}, seen)
    if not isinstance(value, type) and (origin := get_origin(value)) is not None:
        return _freeze(origin, seen), _freeze(get_args(value), seen)
    seen.append(value)
    return id(value)


@cache
def _build_adapter(annotation: Any) -> TypeAdapter[Any]:
    return TypeAdapter(annotation)


def build_shared_field(field: v2.ModelField) -> None:
    """Build a field of FastAPI; those that are nothing but a type share one adapter in a process.

    Each route has one for every error that it may answer, six hundred in an application.
    """
    known = v2.asdict(field.field_info)
    is_plain = (
        field.config is None
        and not known["metadata"]
        and all(value is None or name == "repr" for name, value in known["attributes"].items())
    )
    if is_plain:
        field._type_adapter = _build_adapter(known["annotation"])
    else:
        _build_field(field)

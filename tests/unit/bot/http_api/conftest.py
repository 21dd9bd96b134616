"""What building the API costs in tests."""

from functools import cache
from typing import Any

from fastapi._compat import v2
from pydantic import TypeAdapter

_build_field = v2.ModelField.__post_init__


@cache
def _build_adapter(annotation: Any) -> TypeAdapter[Any]:
    return TypeAdapter(annotation)


def build_shared_field(field: v2.ModelField) -> None:
    """Build a field of FastAPI; those that are nothing but a type share one adapter in a process.

    Each route has one for every error that it may answer, six hundred in an application, and almost every test here makes an application.
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


v2.ModelField.__post_init__ = build_shared_field  # type: ignore[method-assign]

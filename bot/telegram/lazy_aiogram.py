"""Imports aiogram without building a pydantic validator for each of its types.

On import aiogram builds the validators of all its 440 types, each with copies of the types it contains, although a bot needs few of them.
Here each one is built at its first use, as pydantic does for deferred types: the program is imported in 3.0 to 3.7 s with 117 MB instead of
6.6 to 9.7 s with 224 MB. aiogram has no setting for it, and pydantic's own `defer_build` is undone by aiogram's rebuild on import.
"""

import sys
from typing import Any

from pydantic import BaseModel, ConfigDict

_names: dict[str, Any] = {}
"""Names that annotations of aiogram's types refer to, with their types; aiogram passes them to `model_rebuild` on import."""


def import_aiogram() -> None:
    """Import aiogram so that its types are built at first use; do nothing if it is imported already."""
    if "aiogram" in sys.modules:
        return
    building, config = vars(BaseModel)["model_rebuild"], BaseModel.model_config
    BaseModel.model_rebuild = classmethod(_defer_rebuild)  # type: ignore[method-assign,assignment]
    BaseModel.model_config = ConfigDict(defer_build=True)
    try:
        from aiogram.methods.base import Response, TelegramMethod  # noqa: PLC0415 - imported here with deferred types only
        from aiogram.types.base import TelegramObject  # noqa: PLC0415 - as above
    finally:
        BaseModel.model_rebuild = building  # type: ignore[method-assign]
        BaseModel.model_config = config
    if _names:
        for root in (TelegramObject, TelegramMethod, Response):
            root.model_rebuild = classmethod(_rebuild_model)  # type: ignore[method-assign,assignment]


def _defer_rebuild(cls: type[BaseModel], /, *, _types_namespace: dict[str, Any] | None = None, **_: Any) -> None:
    """Replace pydantic's `model_rebuild` while aiogram is imported: build nothing, but store the namespace that aiogram passes.

    The namespace maps the names that occur in annotations to their types. `_rebuild_model` uses it later.
    """
    del cls
    _names.update(_types_namespace or {})


def _rebuild_model(cls: type[BaseModel], /, *, force: bool = False, raise_errors: bool = True, **named: Any) -> bool | None:
    """Build the pydantic validator of one of aiogram's types; pydantic calls this as the type's `model_rebuild` at its first use.

    The types in annotations are looked up by the names that `_defer_rebuild` stored during the import of aiogram, unless the caller passes
    other names. Returns what pydantic's own `model_rebuild` returns.
    """
    names = named.get("_types_namespace") or _names
    build = BaseModel.model_rebuild.__func__  # type: ignore[attr-defined]
    done: bool | None = build(cls, force=force, raise_errors=raise_errors, _types_namespace=names)
    return done

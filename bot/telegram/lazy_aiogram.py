"""Imports aiogram without building a validator for each of its types.

On import aiogram builds all of its 440 types, each with copies of the types it contains: 110 MB and most of the start-up time, of which a
bot needs a handful. Here each type is built at its first use, as pydantic does for types whose build was deferred.
"""

import sys
from typing import Any

from pydantic import BaseModel

_names: dict[str, Any] = {}
"""Names that annotations of aiogram's types may refer to, as aiogram passes them to `model_rebuild`."""


def import_aiogram() -> None:
    """Import aiogram with deferred types, once; an aiogram that is imported already is left as it is."""
    if "aiogram" in sys.modules:
        return
    building = vars(BaseModel)["model_rebuild"]
    BaseModel.model_rebuild = classmethod(_defer_rebuild)  # type: ignore[method-assign,assignment]
    try:
        from aiogram.methods.base import Response, TelegramMethod  # noqa: PLC0415 - imported here with deferred types only
        from aiogram.types.base import TelegramObject  # noqa: PLC0415 - as above
    finally:
        BaseModel.model_rebuild = building  # type: ignore[method-assign]
    if _names:
        for root in (TelegramObject, TelegramMethod, Response):
            root.model_rebuild = classmethod(_rebuild_model)  # type: ignore[method-assign,assignment]


def _defer_rebuild(cls: type[BaseModel], /, *, _types_namespace: dict[str, Any] | None = None, **_: Any) -> None:
    """Replace `model_rebuild` during the import: record the names and build nothing."""
    del cls
    _names.update(_types_namespace or {})


def _rebuild_model(cls: type[BaseModel], /, *, force: bool = False, raise_errors: bool = True, **named: Any) -> bool | None:
    """Replace aiogram's `model_rebuild` after the import: build the type with aiogram's names; pydantic calls it at first use."""
    names = named.get("_types_namespace") or _names
    build = BaseModel.model_rebuild.__func__  # type: ignore[attr-defined]
    done: bool | None = build(cls, force=force, raise_errors=raise_errors, _types_namespace=names)
    return done

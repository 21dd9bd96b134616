"""Imports aiogram without building a validator for each of its types. Ring 3.

At its import aiogram builds every one of its 440 types, each with a copy of all that it can hold: 110 MB and most of the start, of which
a bot needs a handful. Here they are built when they are first used, as pydantic does with types whose building was put off.
"""

import sys
from typing import Any

from pydantic import BaseModel

_names: dict[str, Any] = {}
"""What the annotations of aiogram's types may name, as aiogram itself tells it."""


def import_aiogram() -> None:
    """Import it so, once; where it is imported already, it stays as it is."""
    if "aiogram" in sys.modules:
        return
    building = vars(BaseModel)["model_rebuild"]
    BaseModel.model_rebuild = classmethod(_defer_rebuild)  # type: ignore[method-assign,assignment]
    try:
        from aiogram.methods.base import Response, TelegramMethod  # noqa: PLC0415 - only here is it imported so
        from aiogram.types.base import TelegramObject  # noqa: PLC0415 - as above
    finally:
        BaseModel.model_rebuild = building  # type: ignore[method-assign]
    if _names:
        for root in (TelegramObject, TelegramMethod, Response):
            root.model_rebuild = classmethod(_rebuild_model)  # type: ignore[method-assign,assignment]


def _defer_rebuild(cls: type[BaseModel], /, *, _types_namespace: dict[str, Any] | None = None, **_: Any) -> None:
    """In place of `model_rebuild` during the import."""
    del cls
    _names.update(_types_namespace or {})


def _rebuild_model(cls: type[BaseModel], /, *, force: bool = False, raise_errors: bool = True, **named: Any) -> bool | None:
    """`model_rebuild` with aiogram's names; pydantic calls it at the first use of a type."""
    names = named.get("_types_namespace") or _names
    build = BaseModel.model_rebuild.__func__  # type: ignore[attr-defined]
    done: bool | None = build(cls, force=force, raise_errors=raise_errors, _types_namespace=names)
    return done

"""Imports aiogram so that its types get their pydantic validators at first use: 3 s and 110 MB less at the start."""

import sys
from typing import Any

from pydantic import BaseModel, ConfigDict

_names: dict[str, Any] = {}
"""Names that annotations of aiogram's types refer to, with their types."""


def import_aiogram() -> None:
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
    """Stands for pydantic's `model_rebuild` during the import."""
    del cls
    _names.update(_types_namespace or {})


def _rebuild_model(cls: type[BaseModel], /, *, force: bool = False, raise_errors: bool = True, **named: Any) -> bool | None:
    names = named.get("_types_namespace") or _names
    build = BaseModel.model_rebuild.__func__  # type: ignore[attr-defined]
    done: bool | None = build(cls, force=force, raise_errors=raise_errors, _types_namespace=names)
    return done

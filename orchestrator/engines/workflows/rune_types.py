"""Where packages of others import it from; looked up late, as nothing here knows an engine."""

from importlib import import_module
from typing import Any, Final

_MODULE: Final = "engines.workflows.core.rune_types"


def __getattr__(name: str) -> Any:
    return getattr(import_module(_MODULE), name)

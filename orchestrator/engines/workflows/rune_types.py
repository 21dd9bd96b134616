"""The interface of types of runes under the name by which packages of others import it; it is engines/workflows/core/rune_types.py.

It is looked up when something of it is asked for, since nothing of the orchestrator knows an engine.
"""

from importlib import import_module
from typing import Any, Final

_MODULE: Final = "engines.workflows.core.rune_types"


def __getattr__(name: str) -> Any:
    return getattr(import_module(_MODULE), name)

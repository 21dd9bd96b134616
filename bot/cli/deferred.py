"""The signature, which `--help` reads, and the work, imported when it is called, are two modules."""

import functools
import gc
import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

_Signature = Callable[..., None]


def _import_at_once(module: str) -> ModuleType:
    """To collect garbage among what is imported, all of which stays, would take a third of a short command's time."""
    if module in sys.modules:
        return sys.modules[module]
    gc.disable()
    try:
        return import_module(module)
    finally:
        gc.freeze()
        gc.enable()


def defer(work: str, *before: object) -> Callable[[_Signature], _Signature]:
    """Runs the function of the same name in the module `work`: with `before`, then with its own parameters."""

    def replace(signature: _Signature) -> _Signature:
        @functools.wraps(signature)
        def run(**values: Any) -> None:
            getattr(_import_at_once(work), signature.__name__)(*before, **values)

        return run

    return replace

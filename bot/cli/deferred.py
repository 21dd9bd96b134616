"""The signature, which `--help` reads, and the work, imported when it is called, are two modules."""

import functools
from collections.abc import Callable
from importlib import import_module
from typing import Any

_Signature = Callable[..., None]


def defer(work: str, *before: object) -> Callable[[_Signature], _Signature]:
    """Runs the function of the same name in the module `work`: with `before`, then with its own parameters."""

    def replace(signature: _Signature) -> _Signature:
        @functools.wraps(signature)
        def run(**values: Any) -> None:
            getattr(import_module(work), signature.__name__)(*before, **values)

        return run

    return replace

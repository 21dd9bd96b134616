"""Commands in two modules: the signature, which `--help` reads, and the work, which is imported when the command is called."""

import functools
from collections.abc import Callable
from importlib import import_module
from typing import Any

import typer

_Signature = Callable[..., None]


def add_command(app: typer.Typer, work: str, name: str | None = None, **settings: Any) -> Callable[[_Signature], _Signature]:
    """Add the decorated function as a command; what it does is the function of its name in the module `work`, with the same parameters."""
    return _defer(app.command(name, **settings), work)


def add_callback(app: typer.Typer, work: str, **settings: Any) -> Callable[[_Signature], _Signature]:
    """Add the decorated function as what a group does without a command; otherwise as `add_command`."""
    return _defer(app.callback(**settings), work)


def _defer(register: Callable[[_Signature], _Signature], work: str) -> Callable[[_Signature], _Signature]:
    def add(signature: _Signature) -> _Signature:
        @functools.wraps(signature)
        def run(**values: Any) -> None:
            getattr(import_module(work), signature.__name__)(**values)

        register(run)
        return signature

    return add

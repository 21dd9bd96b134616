"""Lets NiceGUI ask once per method, and not three times per element, which arguments it takes.

Each element has three collections, and each of them inspects the signature of the method that it calls when it changes. It is the same
method for all elements, and to inspect it takes half the time in which a page is built.
"""

from collections.abc import Callable
from functools import lru_cache
from types import MethodType
from typing import Any, Final

from nicegui import helpers

_expects_arguments: Final = helpers.expects_arguments
_MOST: Final = 1_000


@lru_cache(maxsize=_MOST)
def _expects_arguments_bound(function: Callable[..., Any]) -> bool:
    return _expects_arguments(MethodType(function, function))  # whose method it is makes no difference


def expects_arguments(func: Callable[..., Any]) -> bool:
    """Return what NiceGUI's function of this name returns; of a method it is remembered for all objects that have it."""
    if type(func) is MethodType:
        return _expects_arguments_bound(func.__func__)
    return _expects_arguments(func)


def install() -> None:
    """Let NiceGUI use this function from now on."""
    helpers.expects_arguments = expects_arguments

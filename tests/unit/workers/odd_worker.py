"""A worker that does whatever an order names."""

import os
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final, NoReturn

_ANSWERS: Final = 3
"""The descriptor that `serving.main` makes of the output."""


def _burn() -> NoReturn:
    while True:
        pass


def _raise() -> NoReturn:
    raise KeyError("what a customer wrote")


def _write() -> None:
    with tempfile.TemporaryFile(dir=Path(__file__).parent, buffering=0) as file:
        file.write(b"text")


_WAYS: Final[dict[bytes, Callable[[], object]]] = {
    b"die": lambda: os._exit(3),
    b"hang": signal.pause,
    b"burn": _burn,
    b"raise": _raise,
    b"fill": lambda: bytes(1_000_000_000),
    b"print": lambda: os.write(1, b"a library greets"),
    b"shout": lambda: os.write(_ANSWERS, b"\xff\xff\xff\xffmore than a frame may have"),
    b"lie": lambda: os.write(_ANSWERS, b"\x00\x00\x00\x01?"),
    b"write": _write,
}


def answer(order: bytes) -> bytes:
    if order == b"environment":
        return "\n".join(os.environ).encode()
    if order in _WAYS:
        _WAYS[order]()
    return order

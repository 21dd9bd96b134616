"""Which input the present work goes back to (ring 1): the id of its inbox row, carried along by the context; decides nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

HEADER: Final = "X-Trace-Id"
"""How the portal, the model and the callers of the HTTP API are told it."""

_trace: ContextVar[str] = ContextVar("trace_id", default="")


def get_trace_id() -> str:
    """The id of the input that is being worked, "" where none is."""
    return _trace.get()


def build_trace_headers() -> dict[str, str]:
    """The header that names it to another party; none outside of any input."""
    current = _trace.get()
    return {HEADER: current} if current else {}


@contextmanager
def bind_trace(row_id: str) -> Iterator[None]:
    """Everything begun inside, in tasks and in the store's threads too, goes back to that input."""
    token = _trace.set(row_id)
    try:
        yield
    finally:
        _trace.reset(token)

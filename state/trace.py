"""The trace id of the current work, which is the id of the inbox row that is being handled; kept in a context variable."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

HEADER: Final = "X-Trace-Id"
"""The HTTP header that carries the trace id to the portal, the model and callers of the HTTP API."""

_trace: ContextVar[str] = ContextVar("trace_id", default="")


def get_trace_id() -> str:
    """Return the id of the inbox row that is being handled, "" if there is none."""
    return _trace.get()


def build_trace_headers() -> dict[str, str]:
    """Return the HTTP header with the trace id; an empty dict if no inbox row is being handled."""
    current = _trace.get()
    return {HEADER: current} if current else {}


@contextmanager
def bind_trace(row_id: str) -> Iterator[None]:
    """Make `row_id` the trace id for everything that is started inside the `with` block, including tasks and the store's threads."""
    token = _trace.set(row_id)
    try:
        yield
    finally:
        _trace.reset(token)

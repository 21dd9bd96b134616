"""The trace id of the current work: that of the handled inbox row."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

HEADER: Final = "X-Trace-Id"
"""Carries the trace id to the portal, the model and callers of the HTTP API."""

_trace: ContextVar[str] = ContextVar("trace_id", default="")


def get_trace_id() -> str:
    return _trace.get()


def build_trace_headers() -> dict[str, str]:
    """Empty outside of an inbox row."""
    current = _trace.get()
    return {HEADER: current} if current else {}


@contextmanager
def bind_trace(row_id: str) -> Iterator[None]:
    """Bind it for all that starts in the block, tasks and the store's threads too."""
    token = _trace.set(row_id)
    try:
        yield
    finally:
        _trace.reset(token)

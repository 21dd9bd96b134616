"""Server-sent events, as browsers and `curl -N` read them. Ring 3, pure."""

from collections.abc import Mapping
from typing import Any, Final

import orjson

MEDIA_TYPE: Final = "text/event-stream"
HEARTBEAT: Final = b": still here\n\n"
"""A comment: it keeps proxies from closing a line on which nothing is said."""


def format_event(name: str, identity: str, data: Mapping[str, Any]) -> bytes:
    """One event. JSON holds no line end of its own, so each is three lines."""
    return f"event: {name}\nid: {identity}\ndata: ".encode() + orjson.dumps(data) + b"\n\n"

"""The names of streams: the stream of a session is "session:<key>", that of a run is "run:<id>", which is also its session key."""

from functools import lru_cache


@lru_cache(4096)
def to_lease_key(stream: str) -> str:
    """Return the key of the lease (one process's right to write) that guards `stream`. Raises ValueError for an unknown kind of stream.

    For a session's stream this is the session's key, for a run the stream's own name.
    """
    kind, _, key = stream.partition(":")
    if kind == "session" and key and not key.startswith("run:"):
        return key
    if kind == "run" and key:
        return stream
    msg = f"a stream is session:<key> or run:<id>, not {stream!r}"
    raise ValueError(msg)


def to_stream(key: str) -> str:
    """Return the stream that is guarded by the lease with this key; the inverse of `to_lease_key`."""
    return key if key.startswith("run:") else f"session:{key}"

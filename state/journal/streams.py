from functools import lru_cache


@lru_cache(4096)
def to_lease_key(stream: str) -> str:
    """Return the key of the lease that guards `stream`. Raises ValueError."""
    kind, _, key = stream.partition(":")
    if kind == "session" and key and not key.startswith("run:"):
        return key
    if kind == "run" and key:
        return stream
    msg = f"a stream is session:<key> or run:<id>, not {stream!r}"
    raise ValueError(msg)


def to_stream(key: str) -> str:
    return key if key.startswith("run:") else f"session:{key}"

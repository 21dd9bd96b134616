"""What a worker and its keeper say to each other: an order is a frame, an answer a frame that begins with whether it went well."""

from dataclasses import dataclass
from typing import IO, Final

LONGEST: Final = 64_000_000
"""Bytes: what claims more is no frame."""
GOOD: Final = b"+"
BAD: Final = b"-"
"""Followed by the reason."""
_LENGTH: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerLimits:
    """For one order."""

    seconds: float
    """The start of the process included."""
    cpu_seconds: float | None = None
    memory: int = 1_500_000_000
    """Bytes of address space."""
    may_write_files: bool = False


def read_frame(stream: IO[bytes]) -> bytes | None:
    """None at the end of the stream, and for what is no frame."""
    head = stream.read(_LENGTH)
    size = int.from_bytes(head, "big")
    if len(head) < _LENGTH or size > LONGEST:
        return None
    body = stream.read(size)
    return body if len(body) == size else None


def write_frame(stream: IO[bytes], body: bytes) -> None:
    """Raises ValueError if it is too long."""
    if len(body) > LONGEST:
        raise ValueError("a frame is too long")
    stream.write(len(body).to_bytes(_LENGTH, "big") + body)
    stream.flush()

"""How engines get files from outside: from the folder of files, and from other hosts."""

from dataclasses import dataclass
from typing import Protocol


class ReadFile(Protocol):
    """Reads a file of the folder of files."""

    async def __call__(self, path: str, /) -> bytes:
        """Return the content. Raises FileUnavailable, which says why there is none."""


@dataclass(frozen=True, kw_only=True)
class Downloaded:
    """A file as another host gave it."""

    content: bytes
    media_type: str = ""
    """What the host says that it is, such as application/pdf."""


class Download(Protocol):
    """Fetches files from the hosts that the policy opens."""

    async def __call__(self, url: str, limit: int, /, *, fetches: bool) -> Downloaded | None:
        """Return what stands at the address, of at most `limit` bytes; None without `fetches`, which only asks whether it may be fetched.

        Raises FileUnavailable, which says why not.
        """

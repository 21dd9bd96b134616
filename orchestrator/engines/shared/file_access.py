from dataclasses import dataclass
from typing import Protocol


class ReadFile(Protocol):
    async def __call__(self, path: str, /) -> bytes: ...


@dataclass(frozen=True, kw_only=True)
class Downloaded:
    content: bytes
    media_type: str = ""


class Download(Protocol):
    async def __call__(self, url: str, limit: int, /, *, fetches: bool) -> Downloaded | None:
        """None without `fetches`, which only asks. Raises FileUnavailable."""

"""Pictures that runs show of their progress, in memory only."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

from state.canonical import dumps

MAX_RUNS: Final = 1000
"""The least recently changed is dropped."""
MAX_CHARACTERS: Final = 65_536
"""Of JSON; a larger picture is dropped."""


@dataclass(frozen=True, kw_only=True)
class ShownPicture:
    """Each has its own number."""

    number: int
    snapshot: Any
    patch: Any = None
    """JSON merge patch (RFC 7396) since `after`; None if all is new."""
    after: int = 0


@dataclass(frozen=True, slots=True)
class Draft:
    node: str
    text: str


class RunProgress:
    def __init__(self) -> None:
        self._shown: dict[str, ShownPicture] = {}
        self._numbers = count(1)
        self.listeners: list[Callable[[], None]] = []
        self._drafts: dict[str, Draft] = {}
        self.draft_listeners: list[Callable[[str], None]] = []
        """May be called hundreds of times a second."""

    def show_snapshot(self, key: str, snapshot: Any) -> bool:
        """False if too large."""
        return self._put(key, snapshot, None)

    def show_patch(self, key: str, patch: Any) -> bool:
        """False if too large."""
        before = self._shown.get(key)
        merged = merge_patch(before.snapshot if before is not None else None, patch)
        return self._put(key, merged, patch if before is not None else None)

    def find(self, key: str) -> ShownPicture | None:
        """None if this process has none."""
        return self._shown.get(key)

    def show_draft(self, key: str, node: str, text: str) -> None:
        """Replaces the one before; "" shows none."""
        if text:
            self._drafts[key] = Draft(node, text)
        else:
            self._drafts.pop(key, None)
        for listener in tuple(self.draft_listeners):
            listener(key)

    def find_draft(self, key: str) -> Draft | None:
        return self._drafts.get(key)

    def drop(self, key: str) -> None:
        self._shown.pop(key, None)
        self._drafts.pop(key, None)

    def _put(self, key: str, snapshot: Any, patch: Any) -> bool:
        if len(dumps(snapshot)) > MAX_CHARACTERS:
            return False
        before = self._shown.pop(key, None)
        after = before.number if before is not None else 0
        self._shown[key] = ShownPicture(number=next(self._numbers), snapshot=snapshot, patch=patch, after=after)
        while len(self._shown) > MAX_RUNS:
            del self._shown[next(iter(self._shown))]
        for listener in tuple(self.listeners):
            listener()
        return True


def merge_patch(target: Any, patch: Any) -> Any:
    """RFC 7396; changes neither argument."""
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(target) if isinstance(target, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged

"""What runs show of their progress while they work: a picture of each run as JSON data, in memory only.

A run (an execution of a scenario, flow or workflow) shows a whole picture or a change of it; a client that watches the run gets the change
if it has the picture before, otherwise the whole. Nothing of it is stored, since the run's events say what has really happened.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

from state.canonical import dumps

MAX_RUNS: Final = 1000
"""How many pictures are kept; beyond them the one that has not changed for longest is dropped."""
MAX_CHARACTERS: Final = 65_536
"""How large a picture may be as JSON text; an update that would make it larger is dropped."""


@dataclass(frozen=True, kw_only=True)
class ShownPicture:
    """The picture of a run; no two pictures have the same number."""

    number: int
    snapshot: Any
    patch: Any = None
    """What changed since the picture with the number `after`, as a JSON merge patch (RFC 7396); None if the whole was shown anew."""
    after: int = 0


@dataclass(frozen=True, slots=True)
class Draft:
    """The beginning of the model's answer to a node of a run, while it comes."""

    node: str
    text: str


class RunProgress:
    """The pictures of the runs that are played in this process."""

    def __init__(self) -> None:
        """Begin with no pictures."""
        self._shown: dict[str, ShownPicture] = {}
        self._numbers = count(1)
        self.listeners: list[Callable[[], None]] = []
        """Called after each change of a picture."""
        self._drafts: dict[str, Draft] = {}
        self.draft_listeners: list[Callable[[str], None]] = []
        """Called with the key of a run after each piece of an answer that it shows; there may be hundreds a second."""

    def show_snapshot(self, key: str, snapshot: Any) -> bool:
        """Show a whole picture of the run `key`. Return whether it was taken, or dropped because it is too large."""
        return self._put(key, snapshot, None)

    def show_patch(self, key: str, patch: Any) -> bool:
        """Change the picture of the run `key` by a JSON merge patch. Return whether it was taken, or dropped because it is too large."""
        before = self._shown.get(key)
        merged = merge_patch(before.snapshot if before is not None else None, patch)
        return self._put(key, merged, patch if before is not None else None)

    def find(self, key: str) -> ShownPicture | None:
        """Return the picture of the run, None if it has shown none, or none in this process."""
        return self._shown.get(key)

    def show_draft(self, key: str, node: str, text: str) -> None:
        """Show the beginning of the model's answer to a node of the run `key`, in place of the one before; "" shows none."""
        if text:
            self._drafts[key] = Draft(node, text)
        else:
            self._drafts.pop(key, None)
        for listener in tuple(self.draft_listeners):
            listener(key)

    def find_draft(self, key: str) -> Draft | None:
        """Return the answer of the model that the run shows while it comes, None if it shows none."""
        return self._drafts.get(key)

    def drop(self, key: str) -> None:
        """Forget the picture of a run that has ended."""
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
    """Return `target` with the JSON merge patch applied (RFC 7396); neither is changed."""
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(target) if isinstance(target, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged

"""What a run shows: whole texts replace, increments change (S003-66 … S003-70).

One that does not fit leaves it incomplete until the next whole text.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import jsonpatch

from orchestrator.sessions.run_progress import ShownPicture
from state.canonical import dumps, loads
from state.stored import JsonObject

JSON_PATCH: Final = "json-patch"
LONGEST: Final = 200_000
"""Characters; longer content counts as incomplete."""
_INCREMENTAL: Final = "Incremental"


@dataclass(frozen=True, kw_only=True)
class ShownUpdate:
    content: str = ""
    request_id: str = ""
    status: str = ""
    """Streaming, Complete or Error."""
    target: str = ""
    """A tuum; "" for the run as a whole."""
    is_incomplete: bool = False
    """An increment was missed or did not fit."""


NOTHING: Final = ShownUpdate()


class UpdateReader:
    """Pictures of one run in order."""

    def __init__(self) -> None:
        self.shown = NOTHING
        self._number = 0

    def take(self, picture: ShownPicture) -> ShownUpdate:
        """Call it after each change: nobody can say whether a missed one held an increment."""
        if picture.number == self._number:
            return self.shown
        follows = picture.patch is not None and picture.after == self._number
        is_first, self._number = self._number == 0, picture.number
        change = picture.patch if follows else picture.snapshot
        update = change.get("displayUpdate") if isinstance(change, Mapping) else None
        if not isinstance(update, Mapping):
            return self.shown
        if follows or update.get("UpdateMode") != _INCREMENTAL:
            self.shown = apply_update(self.shown, update)
        elif is_first:
            self.shown = replace(apply_update(self.shown, update), is_incomplete=True)
        else:
            self.shown = replace(self.shown, is_incomplete=True)
        return self.shown


def apply_update(before: ShownUpdate, update: JsonObject) -> ShownUpdate:
    fields = {name: update.get(name) for name in ("Content", "RequestId", "StreamingStatus", "TargetElementId")}
    content, request, status, target = (one if isinstance(one, str) else "" for one in fields.values())
    now = replace(before, request_id=request, status=status, target=target)
    if update.get("UpdateMode") != _INCREMENTAL:
        return replace(now, content=content[:LONGEST], is_incomplete=len(content) > LONGEST)
    if update.get("IncrementalType") != JSON_PATCH:
        joined = before.content + content
        return replace(now, content=joined[:LONGEST], is_incomplete=before.is_incomplete or len(joined) > LONGEST)
    patched = _patch(before.content, content)
    if patched is None or len(patched) > LONGEST:
        return replace(now, is_incomplete=True)
    return replace(now, content=patched)


def _patch(content: str, patch: str) -> str | None:
    """By a JSON Patch (RFC 6902), None if it does not fit. Content that is no JSON is itself the document."""
    try:
        operations = loads(patch)
        if not isinstance(operations, list):
            return None
        changed = jsonpatch.apply_patch(_read_document(content), operations)
    except (
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        RecursionError,
        jsonpatch.JsonPatchException,
        jsonpatch.JsonPointerException,
    ):
        return None
    return changed if isinstance(changed, str) else dumps(changed)


def _read_document(content: str) -> object:
    """JSON if that is an object or a list, otherwise the text."""
    try:
        document = loads(content)
    except ValueError:
        return content
    return document if isinstance(document, dict | list) else content

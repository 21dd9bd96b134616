"""What a workflow shows while it runs, as whoever watches it sees it: whole texts replace, increments change (S003-66 … S003-70).

An increment may be dropped on its way. A patch that does not fit what is there is no error: what is shown is incomplete then, and the next
whole text mends it.
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
"""How many characters of content are kept; a longer one counts as incomplete."""
_INCREMENTAL: Final = "Incremental"


@dataclass(frozen=True, kw_only=True)
class ShownUpdate:
    """What is shown now."""

    content: str = ""
    request_id: str = ""
    status: str = ""
    """Streaming, Complete or Error."""
    target: str = ""
    """The tuum that shows it; "" for the run as a whole."""
    is_incomplete: bool = False
    """Whether an increment was missed or did not fit."""


NOTHING: Final = ShownUpdate()


class UpdateReader:
    """Takes the pictures of one run in order, and keeps what is shown."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.shown = NOTHING
        self._number = 0

    def take(self, picture: ShownPicture) -> ShownUpdate:
        """Take the picture of the run as it is now, unless it was taken before, and return what is shown.

        Call it after each change: of a change that was missed nobody can say whether it held an increment.
        """
        if picture.number == self._number:
            return self.shown
        follows = picture.patch is not None and picture.after == self._number
        is_first, self._number = self._number == 0, picture.number
        told = picture.patch if follows else picture.snapshot
        update = told.get("displayUpdate") if isinstance(told, Mapping) else None
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
    """Return what is shown after an update."""
    told = {name: update.get(name) for name in ("Content", "RequestId", "StreamingStatus", "TargetElementId")}
    content, request, status, target = (one if isinstance(one, str) else "" for one in told.values())
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
    """Return the content after a JSON Patch (RFC 6902), None if the patch does not fit it.

    The patch changes the JSON document that the content is; of content that is no JSON, and of none, the text itself is the document.
    """
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
    """Return the document that a content is: what it says as JSON, if that is an object or a list, otherwise the text."""
    try:
        document = loads(content)
    except ValueError:
        return content
    return document if isinstance(document, dict | list) else content

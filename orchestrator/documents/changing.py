"""Changes one place of a JSON document and leaves everything else as it is. Every function returns a new document."""

from collections.abc import Mapping, Sequence
from typing import Final

from orchestrator.domain.finding import Path


class PlaceGone(LookupError):
    """Raised for a place in a list that the document does not have: somebody has changed it since."""


class Absent:
    """The type of `ABSENT`."""


ABSENT: Final = Absent()
"""What stands where a document has nothing, which is not the same as null."""


def find_value(document: object, path: Path) -> object:
    """Return what stands at a place, ABSENT if nothing does."""
    found = document
    for part in path:
        has_key = isinstance(found, Mapping) and isinstance(part, str) and part in found
        if not has_key and not (isinstance(found, list) and isinstance(part, int) and 0 <= part < len(found)):
            return ABSENT
        found = found[part]  # type: ignore[index]  # one of both, as was looked at
    return found


def set_value(document: object, path: Path, value: object) -> object:
    """Return the document with `value` at a place; objects on the way that are not there are made. Raises PlaceGone."""
    if not path:
        return value
    part, rest = path[0], path[1:]
    if isinstance(part, int):
        items = _take_list(document, part)
        return [*items[:part], set_value(items[part], rest, value), *items[part + 1 :]]
    below = dict(document) if isinstance(document, Mapping) else {}
    below[part] = set_value(below.get(part), rest, value)
    return below


def remove_value(document: object, path: Path, *, keep: int = 0) -> object:
    """Return the document without what stands at a place, and without the objects on the way that this leaves empty.

    Of these the outer ones stay that are reached by at most `keep` parts of the path.
    """
    if find_value(document, path) is ABSENT:
        return document
    for end in range(len(path) - 1, keep, -1):
        above = find_value(document, path[:end])
        if not isinstance(above, Mapping) or len(above) > 1:
            return _remove_one(document, path[: end + 1])
    return _remove_one(document, path[: min(keep + 1, len(path))])


def _remove_one(document: object, path: Path) -> object:
    above, last = find_value(document, path[:-1]), path[-1]
    if isinstance(above, Mapping):
        return set_value(document, path[:-1], {name: one for name, one in above.items() if name != last})
    return remove_item(document, path[:-1], int(last))


def insert_item(document: object, path: Path, index: int, value: object) -> object:
    """Return the document with a further element in the list at a place, which is made if there is none."""
    present = find_value(document, path)
    items = present if isinstance(present, list) else []
    return set_value(document, path, [*items[:index], value, *items[index:]])


def remove_item(document: object, path: Path, index: int) -> object:
    """Return the document without one element of the list at a place. Raises PlaceGone."""
    items = _take_list(find_value(document, path), index)
    return set_value(document, path, [*items[:index], *items[index + 1 :]])


def move_item(document: object, path: Path, index: int, to: int) -> object:
    """Return the document with one element of the list at a place moved to another index. Raises PlaceGone."""
    items = list(_take_list(find_value(document, path), index))
    items.insert(to, items.pop(index))
    return set_value(document, path, items)


def _take_list(given: object, index: int) -> Sequence[object]:
    if not isinstance(given, list) or not 0 <= index < len(given):
        raise PlaceGone(index)
    return given

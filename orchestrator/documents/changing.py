"""Changes one place of a JSON document; every function returns a new document."""

from collections.abc import Mapping, Sequence
from typing import Final

from orchestrator.domain.finding import Path


class PlaceGone(LookupError):
    """The document has no such place in a list: somebody has changed it since."""


class Absent:
    pass


ABSENT: Final = Absent()
"""Nothing, which is not the same as null."""


def find_value(document: object, path: Path) -> object:
    """ABSENT if nothing stands there."""
    node = document
    for part in path:
        has_key = isinstance(node, Mapping) and isinstance(part, str) and part in node
        if not has_key and not (isinstance(node, list) and isinstance(part, int) and 0 <= part < len(node)):
            return ABSENT
        node = node[part]  # type: ignore[index]  # one of both, as was looked at
    return node


def set_value(document: object, path: Path, value: object) -> object:
    """Makes objects on the way. Raises PlaceGone."""
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
    """Also removes objects that become empty, but for those reached by at most `keep` parts of the path."""
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
    """Makes the list if there is none."""
    present = find_value(document, path)
    items = present if isinstance(present, list) else []
    return set_value(document, path, [*items[:index], value, *items[index:]])


def remove_item(document: object, path: Path, index: int) -> object:
    """Raises PlaceGone."""
    items = _take_list(find_value(document, path), index)
    return set_value(document, path, [*items[:index], *items[index + 1 :]])


def move_item(document: object, path: Path, index: int, to: int) -> object:
    """Raises PlaceGone."""
    items = list(_take_list(find_value(document, path), index))
    items.insert(to, items.pop(index))
    return set_value(document, path, items)


def _take_list(elements: object, index: int) -> Sequence[object]:
    if not isinstance(elements, list) or not 0 <= index < len(elements):
        raise PlaceGone(index)
    return elements

"""References follow when a step or channel is renamed in the form."""

from collections.abc import Iterator
from typing import Final

from bot.plugins.kind_face import KIND_FACE, Use
from bot.plugins.loading import find_part_of_kind
from orchestrator.documents.changing import find_value, set_value
from orchestrator.domain.finding import Path

_STEPS: Final[Path] = ("steps",)
_ID: Final = "id"


class Renames:
    """A name comes letter by letter: others keep the old one until the new one is its own again."""

    def __init__(self, kind: str) -> None:
        """Only flows and scenarios have names that follow."""
        self._kind = kind
        self._kept: dict[Path, str] = {}

    def forget(self) -> None:
        """The document was changed elsewhere, or its elements were moved."""
        self._kept.clear()

    def follow(self, before: object, after: object, path: Path) -> tuple[object, int]:
        """With all that names the element at `path`; and how many places were changed."""
        list_path = path[:-2]
        if path[-1:] != (_ID,) or list_path not in self._list_lists():
            return after, 0
        old, new = (_to_name(find_value(one, path)) for one in (before, after))
        others = set(list_names(after, list_path, but=path[-2]))
        origin = self._kept.pop(path, old)
        if not new or new in others:
            self._kept[path] = origin
            return after, 0
        if not origin or origin in others:
            return after, 0
        uses = [at for at, name in list_uses(self._kind, after, list_path) if name == origin]
        for at in uses:
            after = set_value(after, at, _replace_name(str(find_value(after, at)), origin, new))
        return after, len(uses)

    def _list_lists(self) -> tuple[Path, ...]:
        face = find_part_of_kind(KIND_FACE, self._kind)
        return face.named_lists if face is not None else ()


def list_names(document: object, list_path: Path, *, but: str | int | None = None) -> Iterator[str]:
    """Without that of the element with the index `but`."""
    items = find_value(document, list_path)
    for index, _ in enumerate(items if isinstance(items, list) else []):
        if index != but and (name := _to_name(find_value(document, (*list_path, index, _ID)))):
            yield name


def list_uses(kind: str, document: object, list_path: Path) -> Iterator[Use]:
    face = find_part_of_kind(KIND_FACE, kind)
    return face.list_uses(document, list_path) if face is not None else iter(())


def _replace_name(text: str, old: str, new: str) -> str:
    """Also in a path such as `$steps.review.output`."""
    if text == old:
        return new
    begin, _, rest = text.partition(".")
    return f"{begin}.{new}{rest.removeprefix(old)}"


def _to_name(value: object) -> str:
    return value if isinstance(value, str) else ""


def name_users(kind: str, document: object, list_path: Path, name: str) -> list[str]:
    """ "" for what is no element. `name` is there no longer."""
    users: list[str] = []
    for at, used in list_uses(kind, document, list_path):
        if used == name:
            index = at[1] if at[:1] == _STEPS and len(at) > 1 else None
            users.append(_to_name(find_value(document, (*_STEPS, index, _ID))) if index is not None else "")
    return list(dict.fromkeys(users))

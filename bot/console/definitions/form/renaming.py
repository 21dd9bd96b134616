"""Lets what names a step, or a channel of memory, follow when its author gives it another name in the form."""

from collections.abc import Iterator
from typing import Final

from bot.plugins.kind_face import KIND_FACE, Use
from bot.plugins.loading import find_part_of_kind
from orchestrator.documents.changing import find_value, set_value
from orchestrator.domain.finding import Path

_STEPS: Final[Path] = ("steps",)
_ID: Final = "id"


class Renames:
    """The names that are being typed in one open form.

    A name comes letter by letter. While what was typed so far is the name of another element, or nothing, whatever names the element keeps
    the name from before, and follows when the name is one of its own again.
    """

    def __init__(self, kind: str) -> None:
        """Follow names in definitions of this kind; others than flows and scenarios have none that follow."""
        self._kind = kind
        self._kept: dict[Path, str] = {}

    def forget(self) -> None:
        """Begin anew: the document was changed elsewhere, or its elements were moved."""
        self._kept.clear()

    def follow(self, before: object, after: object, path: Path) -> tuple[object, int]:
        """Return the document after a text was typed at `path`, with what names the element there; and how many places were changed."""
        listed = path[:-2]
        if path[-1:] != (_ID,) or listed not in self._list_lists():
            return after, 0
        old, new = (_to_name(find_value(one, path)) for one in (before, after))
        others = set(list_names(after, listed, but=path[-2]))
        origin = self._kept.pop(path, old)
        if not new or new in others:
            self._kept[path] = origin
            return after, 0
        if not origin or origin in others:
            return after, 0
        uses = [at for at, name in list_uses(self._kind, after, listed) if name == origin]
        for at in uses:
            after = set_value(after, at, _replace_name(str(find_value(after, at)), origin, new))
        return after, len(uses)

    def _list_lists(self) -> tuple[Path, ...]:
        face = find_part_of_kind(KIND_FACE, self._kind)
        return face.named_lists if face is not None else ()


def list_names(document: object, listed: Path, *, but: str | int | None = None) -> Iterator[str]:
    """Yield the names of the elements of a list, without that of the element with the index `but`."""
    items = find_value(document, listed)
    for index, _ in enumerate(items if isinstance(items, list) else []):
        if index != but and (name := _to_name(find_value(document, (*listed, index, _ID)))):
            yield name


def list_uses(kind: str, document: object, listed: Path) -> Iterator[Use]:
    """Yield where a document names elements of the list at a place."""
    face = find_part_of_kind(KIND_FACE, kind)
    return face.list_uses(document, listed) if face is not None else iter(())


def _replace_name(text: str, old: str, new: str) -> str:
    """Return a name, or a path such as `$steps.review.output`, with another name."""
    if text == old:
        return new
    begin, _, rest = text.partition(".")
    return f"{begin}.{new}{rest.removeprefix(old)}"


def _to_name(value: object) -> str:
    return value if isinstance(value, str) else ""


def name_users(kind: str, document: object, listed: Path, name: str) -> list[str]:
    """Return the elements of a list that still name the element `name`, which is there no longer; "" for what is none of them."""
    users: list[str] = []
    for at, used in list_uses(kind, document, listed):
        if used == name:
            index = at[1] if at[:1] == _STEPS and len(at) > 1 else None
            users.append(_to_name(find_value(document, (*_STEPS, index, _ID))) if index is not None else "")
    return list(dict.fromkeys(users))

"""Lets what names a step, or a channel of memory, follow when its author gives it another name in the form."""

from collections.abc import Iterator, Mapping
from typing import Final

from bot.console.definitions.form.changing import find_value, set_value
from bot.console.definitions.graph import load_step_types
from engines.flows.core.kind import FLOW
from engines.flows.core.references import MARK, read_reference
from engines.scenarios.core.graph import build_graph
from engines.scenarios.core.kind import KIND as SCENARIO
from orchestrator.domain.finding import Path

_STEPS: Final[Path] = ("steps",)
_CHANNELS: Final[Path] = ("memory", "sharedChannels")
_ID: Final = "id"
_WAYS: Final[tuple[Path, ...]] = (("transitions", "onSuccess", "next"), ("transitions", "onFailure", "next"))
_MEMORY: Final = ("memoryReads", "memoryWrites")
_PAYLOAD: Final[Path] = ("outputs", "resultPayload")
_PATHS: Final[tuple[Path, ...]] = (("outputs", "summaryFields"), ("outputs", "titles"))
"""Where paths are written without their sign, too."""

Use = tuple[Path, str]
"""The place of a text, and the name that it has there."""


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
        return {FLOW: (_STEPS, _CHANNELS), SCENARIO: (_STEPS,)}.get(self._kind, ())


def list_names(document: object, listed: Path, *, but: str | int | None = None) -> Iterator[str]:
    """Yield the names of the elements of a list, without that of the element with the index `but`."""
    items = find_value(document, listed)
    for index, _ in enumerate(items if isinstance(items, list) else []):
        if index != but and (name := _to_name(find_value(document, (*listed, index, _ID)))):
            yield name


def list_uses(kind: str, document: object, listed: Path) -> Iterator[Use]:
    """Yield where a document names elements of the list at a place: steps, or channels of memory."""
    if kind == SCENARIO:
        items = find_value(document, listed)
        for node in build_graph(items if isinstance(items, list) else [], load_step_types()):
            yield from (((*listed, *target.path[1:]), target.id) for target in node.targets)
    elif kind == FLOW:
        yield from _list_channels(document) if listed == _CHANNELS else _list_steps(document)


def _list_steps(document: object) -> Iterator[Use]:
    places: list[Path] = [("startStepId",)]
    places += [(*_STEPS, index, *way) for index in _list_indexes(document, _STEPS) for way in _WAYS]
    for place in places:
        if name := _to_name(find_value(document, place)):
            yield place, name
    yield from _list_references(find_value(document, _PAYLOAD), _PAYLOAD, begin=MARK)
    for place in _PATHS:
        yield from _list_references(find_value(document, place), place, begin="")


def _list_channels(document: object) -> Iterator[Use]:
    for index in _list_indexes(document, _STEPS):
        for memory in _MEMORY:
            place: Path = (*_STEPS, index, memory)
            for number in _list_indexes(document, place):
                if name := _to_name(find_value(document, (*place, number, "channel"))):
                    yield (*place, number, "channel"), name


def _list_references(value: object, place: Path, *, begin: str) -> Iterator[Use]:
    """Yield the texts such as `$steps.review.output.content` in a part of a document."""
    match value:
        case str():
            found = read_reference(value) if value.startswith(begin) else None
            if found is not None:
                yield place, found.step
        case Mapping():
            for key, one in value.items():
                yield from _list_references(one, (*place, key), begin=begin)
        case list():
            for index, one in enumerate(value):
                yield from _list_references(one, (*place, index), begin=begin)


def _replace_name(text: str, old: str, new: str) -> str:
    """Return a name, or a path such as `$steps.review.output`, with another name."""
    if text == old:
        return new
    begin, _, rest = text.partition(".")
    return f"{begin}.{new}{rest.removeprefix(old)}"


def _list_indexes(document: object, place: Path) -> range:
    items = find_value(document, place)
    return range(len(items)) if isinstance(items, list) else range(0)


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

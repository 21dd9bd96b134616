"""Judges by the portal's ledger: which of the calls that reached it are right, which are unwanted. It knows the right calls, not the gate."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tests.arena.cases import Call

_OF_PRODUCT: Final = {"originator_id", "origin_id"}
"""Marks that the product adds to what it makes."""
_OF_SPEAKER: Final = {"assigned_by_id", "responsible_id", "responsibleid", "created_by", "author_id"}
"""Whom the product fills in where nobody is named: the person who writes."""

Leaves = Mapping[str, str]


def list_leaves(params: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the single values of params with their paths in lower case; numbers and their texts are the same."""
    if isinstance(params, Mapping):
        for key, value in params.items():
            yield from list_leaves(value, f"{path}.{key}".lower())
    elif isinstance(params, list | tuple):
        for number, value in enumerate(params):
            yield from list_leaves(value, f"{path}.{number}")
    elif params is not None:
        yield path, _write_value(params)


def _write_value(value: Any) -> str:
    text = str(value).strip()
    number = text.lstrip("-").replace(".", "", 1)
    return f"{float(text):.10g}" if number.isdecimal() and number.isascii() and len(number) < 10 else text


def resolve(value: Any, means: Mapping[str, Any]) -> Any:
    """Return params with what their references mean."""
    if isinstance(value, Mapping):
        return {key: resolve(inner, means) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [resolve(inner, means) for inner in value]
    return means[value] if isinstance(value, str) and value.startswith("@") else value


def build_key(call: Call) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return by what two calls are the same call: without the marks that make each addition unique."""
    leaves = sorted(one for one in list_leaves(call.params) if one[0].rpartition(".")[2] not in _OF_PRODUCT)
    return call.method.lower(), tuple(leaves)


class Judge:
    """The right calls of one case, each of which may be used once."""

    def __init__(self, gold: Sequence[Call], means: Mapping[str, Any], speaker: int) -> None:
        """Take the right calls with their references, what these mean, and who writes."""
        self._left = [Call(one.method, resolve(one.params, means)) for one in gold]
        self._speaker = str(speaker)

    def find_right(self, call: Call, among: Sequence[Call] | None = None) -> Call | None:
        """Return the right call that this one is, of those that are left; None if it is an unwanted one."""
        return next((one for one in (self._left if among is None else among) if self._is_same(call, one)), None)

    def are_all_right(self, calls: Sequence[Call]) -> bool:
        """Return whether each of the calls is a right one of its own."""
        left = list(self._left)
        for call in calls:
            right = self.find_right(call, left)
            if right is None:
                return False
            left.remove(right)
        return True

    def use(self, call: Call) -> bool:
        """Take the right call that this one is off the list; returns whether there was one."""
        right = self.find_right(call)
        if right is not None:
            self._left.remove(right)
        return right is not None

    @property
    def left(self) -> Sequence[Call]:
        """The right calls that were not made."""
        return self._left

    def _is_same(self, call: Call, right: Call) -> bool:
        if call.method.lower() != right.method.lower():
            return False
        sent, expected = dict(list_leaves(call.params)), dict(list_leaves(right.params))
        added = {path.rpartition(".")[2]: value for path, value in sent.items() if path not in expected}
        return all(sent.get(path) == value for path, value in expected.items()) and all(map(self._may_be_added, added, added.values()))

    def _may_be_added(self, name: str, value: str) -> bool:
        return name in _OF_PRODUCT or (name in _OF_SPEAKER and value == self._speaker)

"""The variables of one run of a scenario: its `context` (S000-15, S000-X5, S000-X10)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from engines.scenarios.core.definition import GIVEN_WINS, RESERVED
from orchestrator.domain.taint import NOWHERE, Origins, Value, join_origins
from orchestrator.engines.runs import Definition
from orchestrator.expressions.placeholders import TemplateRefused, measure_value
from state.stored import JsonObject

NEVER_HANDED_ON: Final = frozenset({"success", "error", "message"})
"""No parent takes them over from a finished scenario (S000-A8)."""
DECIDED_BY: Final = "__decided_by__"
"""Tells a scenario inside of another by whose text a way was chosen before."""
MOST_CHARACTERS: Final = 2_000_000
"""Characters of texts and keys of all variables, and one for each part."""
MOST_PARTS: Final = 50
_AUTHOR: Final[Origins] = frozenset({"definition"})


class Variables:
    def __init__(self, usual: Mapping[str, Value], initial: JsonObject, caller: Mapping[str, Value], system: Mapping[str, Value]) -> None:
        """Later arguments win: the caller's values over the author's, the system's over all."""
        self._values = {**usual, **{name: Value(one, _AUTHOR) for name, one in initial.items()}}
        self._values |= {name: one for name, one in caller.items() if not name.startswith(RESERVED)}
        self._values |= system
        self._system = frozenset(system)
        self._sizes: dict[str, int] = {}
        self._size = sum(_measure(one.data) for one in self._values.values())
        self.with_blocks: frozenset[str] = frozenset()
        self.decided_by: Origins = NOWHERE
        """Text of strangers that has chosen a way; it also caused what is done afterwards."""
        self.note_decision(caller.get(DECIDED_BY, Value(None)))

    def note_decision(self, by: Value) -> None:
        """After text of strangers, whatever is done counts as caused by it."""
        if by.is_foreign:
            self.decided_by |= by.origins

    @property
    def values(self) -> Mapping[str, Value]:
        return self._values

    def assign(self, changes: Mapping[str, Value], *, has_blocks: bool = False) -> None:
        """Dots set a part of an object. Raises ReservedName, and VariablesRefused for what is too large or too deep."""
        for name, value in changes.items():
            first, *rest = name.split(".", MOST_PARTS)
            if first in self._system or first.startswith(RESERVED):
                raise ReservedName(first)
            if len(rest) == MOST_PARTS:
                raise VariablesRefused(f"a name of a variable has more than {MOST_PARTS} parts")
            self._set(first, self._put_inside(first, rest, value) if rest else value)
            self.with_blocks = self.with_blocks | {first} if has_blocks and not rest else self.with_blocks - {first}

    def _put_inside(self, name: str, path: Sequence[str], part: Value) -> Value:
        before = self._values.get(name, Value(None, NOWHERE))
        return Value(_replace_part(before.data, path, part.data), join_origins((before, part)))

    def _set(self, name: str, value: Value) -> None:
        before = self._sizes.get(name)
        if before is None:
            before = _measure(self._values[name].data) if name in self._values else 0
        size = _measure(value.data)
        if self._size - before + size > MOST_CHARACTERS:
            raise VariablesRefused(f"all variables together would have more than {MOST_CHARACTERS} characters")
        self._size += size - before
        self._sizes[name] = size
        self._values[name] = value

    def to_value(self) -> Value:
        own_values = {name: one for name, one in self._values.items() if name not in self._system}
        return Value({name: one.data for name, one in own_values.items()}, join_origins(own_values.values()) | self.decided_by)

    def copy(self) -> "Variables":
        """A copy; later changes reach only one of the two."""
        variables = Variables({}, {}, {}, {})
        variables._values, variables._system, variables.decided_by = dict(self._values), self._system, self.decided_by
        variables._sizes, variables._size = dict(self._sizes), self._size
        variables.with_blocks = self.with_blocks
        return variables


def find_reserved(definition: Definition, names: Iterable[str]) -> str:
    """The first such name; "" if there is none, or if an earlier edition leaves them out."""
    return next((name for name in names if name.startswith(RESERVED)), "") if definition.edition >= GIVEN_WINS else ""


class ReservedName(ValueError):
    """The text of the error is the name that only the engine may set."""


class VariablesRefused(ValueError):
    """Too large, or too many levels; the text says which."""


def _measure(data: Any) -> int:
    """Raises VariablesRefused."""
    try:
        return len(data) if isinstance(data, str) else measure_value(data, MOST_CHARACTERS)
    except TemplateRefused as error:
        raise VariablesRefused(f"a variable cannot be kept: {error}") from None


def _replace_part(whole: Any, path: Sequence[str], part: Any) -> dict[str, Any]:
    """Copy with `part` at `path`; what is no object on the way becomes one."""
    copied = dict(whole) if isinstance(whole, Mapping) else {}
    first, *rest = path
    copied[first] = _replace_part(copied.get(first), rest, part) if rest else part
    return copied

"""The variables of one run of a scenario: its `context` (S000-15, S000-X5, S000-X10)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from engines.scenarios.core.definition import GIVEN_WINS, RESERVED
from orchestrator.domain.taint import NOWHERE, Origins, Value, join_origins
from orchestrator.engines.runs import Definition
from orchestrator.expressions.placeholders import TemplateRefused, measure_value
from state.stored import JsonObject

NEVER_HANDED_ON: Final = frozenset({"success", "error", "message"})
"""Names of a finished scenario's result that no parent takes over (S000-A8)."""
DECIDED_BY: Final = "__decided_by__"
"""The value by which a scenario tells one inside of it by whose text a way was chosen before."""
MOST_CHARACTERS: Final = 2_000_000
"""How large all variables of a run may be together, in characters of texts and keys and one for each part."""
MOST_PARTS: Final = 50
"""How many parts divided by dots the name of a variable may have that a step sets."""
_AUTHOR: Final[Origins] = frozenset({"definition"})


class Variables:
    """The variables by name, each with where its value comes from."""

    def __init__(self, usual: Mapping[str, Value], initial: JsonObject, caller: Mapping[str, Value], system: Mapping[str, Value]) -> None:
        """Start with what is usual, which the author's values replace, which those of the caller replace; the system's replace all."""
        self._values = {**usual, **{name: Value(one, _AUTHOR) for name, one in initial.items()}}
        self._values |= {name: one for name, one in caller.items() if not name.startswith(RESERVED)}
        self._values |= system
        self._system = frozenset(system)
        self._sizes: dict[str, int] = {}
        """The sizes of the variables that were set since the beginning; `_size` is that of all."""
        self._size = sum(_measure(one.data) for one in self._values.values())
        self.with_blocks: frozenset[str] = frozenset()
        """The variables that a workflow gave, whose blocks a message draws."""
        self.decided_by: Origins = NOWHERE
        """Where the text of strangers comes from by which a way was chosen; what is done afterwards was caused by it, too."""
        self.note_decision(caller.get(DECIDED_BY, Value(None)))

    def note_decision(self, by: Value) -> None:
        """Note that a way was chosen by this value. From text of strangers on, whatever is done counts as caused by it."""
        if by.is_foreign:
            self.decided_by |= by.origins

    @property
    def values(self) -> Mapping[str, Value]:
        """All variables."""
        return self._values

    def assign(self, changes: Mapping[str, Value], *, has_blocks: bool = False) -> None:
        """Set variables. A name with dots sets a part of an object, which is made if there is none. A workflow's values may hold blocks.

        Raises ReservedName for the name of a variable that only the engine sets, and VariablesRefused for what is too large or too deep.
        """
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
        """Return the variables of the author as one value, without those of the system."""
        kept = {name: one for name, one in self._values.items() if name not in self._system}
        return Value({name: one.data for name, one in kept.items()}, join_origins(kept.values()) | self.decided_by)

    def copy(self) -> "Variables":
        """Return the variables as they are now; what is set afterwards changes one of the two only."""
        variables = Variables({}, {}, {}, {})
        variables._values, variables._system, variables.decided_by = dict(self._values), self._system, self.decided_by
        variables._sizes, variables._size = dict(self._sizes), self._size
        variables.with_blocks = self.with_blocks
        return variables


def find_reserved(definition: Definition, given: Iterable[str]) -> str:
    """Return the first of the names of a caller's values that are the system's, "" if there is none, or they are left out as before."""
    return next((name for name in given if name.startswith(RESERVED)), "") if definition.edition >= GIVEN_WINS else ""


class ReservedName(ValueError):
    """A step sets a variable that only the engine may set; the text of the error is its name."""


class VariablesRefused(ValueError):
    """The variables would become too large, or a name or value has too many levels; the text of the error says which."""


def _measure(data: Any) -> int:
    """Return the size of a value. Raises VariablesRefused if it is too large or too deep."""
    try:
        return len(data) if isinstance(data, str) else measure_value(data, MOST_CHARACTERS)
    except TemplateRefused as error:
        raise VariablesRefused(f"a variable cannot be kept: {error}") from None


def _replace_part(whole: Any, path: Sequence[str], part: Any) -> dict[str, Any]:
    """Return a copy of an object in which `part` stands at `path`. What is no object on the way is replaced by one."""
    copied = dict(whole) if isinstance(whole, Mapping) else {}
    first, *rest = path
    copied[first] = _replace_part(copied.get(first), rest, part) if rest else part
    return copied

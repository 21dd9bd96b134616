"""The variables of one run of a scenario: its `context` (S000-15, S000-X5, S000-X10)."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from orchestrator.domain.taint import NOWHERE, Origins, Value, join_origins
from orchestrator.engines.scenarios.definition import RESERVED
from state.stored import JsonObject

NEVER_HANDED_ON: Final = frozenset({"success", "error", "message"})
"""Names of a finished scenario's result that no parent takes over (S000-A8)."""
DECIDED_BY: Final = "__decided_by__"
"""The value by which a scenario tells one inside of it by whose text a way was chosen before."""
_AUTHOR: Final[Origins] = frozenset({"definition"})


class Variables:
    """The variables by name, each with where its value comes from."""

    def __init__(self, initial: JsonObject, caller: Mapping[str, Value], system: Mapping[str, Value]) -> None:
        """Start with the author's values, which those of the caller replace; the system's replace both."""
        self._values = {name: Value(one, _AUTHOR) for name, one in initial.items()}
        self._values |= {name: one for name, one in caller.items() if not name.startswith(RESERVED)}
        self._values |= system
        self._system = frozenset(system)
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

    def assign(self, changes: Mapping[str, Value]) -> None:
        """Set variables. A name with dots sets a part of an object, which is made if there is none."""
        for name, value in changes.items():
            first, *rest = name.split(".")
            if first in self._system or first.startswith(RESERVED):
                raise ReservedName(first)
            if not rest:
                self._values[name] = value
                continue
            before = self._values.get(first, Value(None, NOWHERE))
            self._values[first] = Value(_replace_part(before.data, rest, value.data), join_origins((before, value)))

    def to_value(self) -> Value:
        """Return the variables of the author as one value, without those of the system."""
        kept = {name: one for name, one in self._values.items() if name not in self._system}
        return Value({name: one.data for name, one in kept.items()}, join_origins(kept.values()) | self.decided_by)

    def copy(self) -> "Variables":
        """Return the variables as they are now; what is set afterwards changes one of the two only."""
        made = Variables({}, {}, {})
        made._values, made._system, made.decided_by = dict(self._values), self._system, self.decided_by
        return made


class ReservedName(ValueError):
    """A step sets a variable that only the engine may set; the text of the error is its name."""


def _replace_part(whole: Any, path: Sequence[str], part: Any) -> dict[str, Any]:
    """Return a copy of an object in which `part` stands at `path`. What is no object on the way is replaced by one."""
    copied = dict(whole) if isinstance(whole, Mapping) else {}
    first, *rest = path
    copied[first] = _replace_part(copied.get(first), rest, part) if rest else part
    return copied

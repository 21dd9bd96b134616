"""What a tuum publishes when it ends, and where it comes from (S003-11, S003-34)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from engines.workflows.core.operations import Emitted
from engines.workflows.core.rune_types import AUTHOR
from orchestrator.domain.taint import Origins, Value
from state.stored import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    raw_text: Value | None = None
    operations: Value | None = None


NO_ENDING: Final = Ending()


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    variables: Mapping[str, Value] = field(default_factory=dict)
    operations: tuple[Emitted, ...] = ()
    ending: Ending = NO_ENDING

    def find_origins(self) -> Origins:
        origins = AUTHOR
        for part in (*self.variables.values(), *self.operations, self.ending.raw_text, self.ending.operations):
            if part is not None and not part.origins <= origins:
                origins |= part.origins
        return origins

    def to_stored(self) -> JsonObject:
        stored: dict[str, JsonObject | list[JsonObject]] = {
            "variables": {name: variable.to_stored() for name, variable in self.variables.items()},
            "operations": [operation.to_stored() for operation in self.operations],
        }
        for name, value in (("raw_text", self.ending.raw_text), ("terminal", self.ending.operations)):
            if value is not None:
                stored[name] = value.to_stored()
        return stored

    @classmethod
    def from_stored(cls, stored: Value) -> "Published":
        """Where the run found text of strangers that nothing told of, all counts as theirs."""
        data = stored.data
        read = cls(
            variables={name: Value.from_stored(variable) for name, variable in data["variables"].items()},
            operations=tuple(Emitted.from_stored(operation) for operation in data["operations"]),
            ending=Ending(raw_text=_read(data.get("raw_text")), operations=_read(data.get("terminal"))),
        )
        hidden = stored.origins - read.find_origins()
        return read.add_origins(hidden) if hidden else read

    def add_origins(self, origins: Origins) -> "Published":
        ending = Ending(raw_text=_add(self.ending.raw_text, origins), operations=_add(self.ending.operations, origins))
        return Published(
            variables={name: Value(variable.data, variable.origins | origins) for name, variable in self.variables.items()},
            operations=tuple(replace(one, origins=one.origins | origins) for one in self.operations),
            ending=ending,
        )


def _read(stored: JsonObject | None) -> Value | None:
    return Value.from_stored(stored) if stored is not None else None


def _add(value: Value | None, origins: Origins) -> Value | None:
    return Value(value.data, value.origins | origins) if value is not None else None

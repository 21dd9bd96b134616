from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

Bound = Mapping[str, str | int | float | None]


@dataclass(frozen=True)
class Statement:
    """SQL that code wrote, with named values."""

    sql: str
    values: Bound = field(default_factory=lambda: MappingProxyType({}))

    def __reduce__(self) -> tuple[type, tuple[str, dict[str, str | int | float | None]]]:
        """A view of a dict can't be sent to another process."""
        return Statement, (self.sql, dict(self.values))

"""The base classes of the values that parts of the program exchange: actors, effects, outcomes, replies, messages."""

from typing import Any

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """Base class of immutable values that reject unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class View(BaseModel):
    """Base class of immutable values parsed from stored JSON; fields unknown to this version of the program are dropped.

    Read one with `model_validate`; its errors do not quote the value, because they are logged and it may hold what people wrote.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object with only those fields that were given: an absent field is not the same as its default."""
        return self.model_dump(mode="json", exclude_unset=True)

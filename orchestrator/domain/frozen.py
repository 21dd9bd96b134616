"""The base classes of the values that parts of the program exchange: actors, effects, outcomes, replies, messages."""

from typing import Any

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """Base class of immutable values that reject unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class View(BaseModel):
    """Base class of immutable values parsed from stored JSON; fields that this version of the program does not know are dropped.

    `model_validate` parses one. Its errors do not quote the value, because they are logged and the value may contain what people wrote.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    def to_json(self) -> dict[str, Any]:
        """Return the value as a JSON object without the fields that were not set explicitly.

        So the JSON shows the difference between a field that was not set and one that was set to its default.
        """
        return self.model_dump(mode="json", exclude_unset=True)

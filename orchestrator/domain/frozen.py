"""The base of the values that the parts of the decision ring exchange: actors, effects, outcomes, replies."""

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """Base class of immutable values that reject unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")

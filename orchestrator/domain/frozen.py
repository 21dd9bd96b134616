"""The base of the values that the parts of the decision ring exchange: actors, effects, outcomes, replies."""

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """A value: immutable, and refusing fields it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")

"""What the parts of the decision ring exchange: actors, effects, outcomes, replies, errors.

Plain frozen data that imports nothing of ours.
"""

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """A value: immutable, and refusing fields it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")

"""Value types shared by the whole orchestrator: actors, effects, outcomes, replies, errors.

Frozen data only; nothing here imports another package of this project except `orchestrator.domain` itself.
"""

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """Base class of immutable values that reject unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")

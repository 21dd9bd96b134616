"""The base of answers that are spelled like the seed schemas."""

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class FlowApiModel(BaseModel):
    """Base class of the answers: spelled like the seed's schema; instances are immutable."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)

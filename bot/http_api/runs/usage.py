from collections.abc import Mapping
from decimal import Decimal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from orchestrator.domain.budget import Budget


class Usage(BaseModel):
    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)

    prompt_tokens: int = Field(examples=[812])
    completion_tokens: int = Field(examples=[240])
    cost: float | None = Field(description="By the price table of now; null where a model has no price.", examples=[0.33])
    currency: str = Field(examples=["RUB"])
    seconds: float = Field(0.0, description="How long the models took to answer.")


def round_cost(cost: Decimal) -> float:
    """Six places: single answers cost parts of a coin."""
    return float(round(cost, 6))


def value_use(budget: Budget, used: Mapping[str, tuple[int, int]], seconds: float = 0.0) -> Usage:
    is_known = all(budget.find_price(model) is not None for model in used)
    return Usage(
        prompt_tokens=sum(read for read, _ in used.values()),
        completion_tokens=sum(written for _, written in used.values()),
        cost=round_cost(budget.calculate_cost(used)) if is_known else None,
        currency=budget.currency,
        seconds=round(seconds, 3),
    )

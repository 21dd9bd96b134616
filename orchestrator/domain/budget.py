"""How much a person may use the language model per month, and what it costs."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Annotated, Final
from zoneinfo import ZoneInfo

from pydantic import Field, model_validator

from orchestrator.domain.actor import Actor
from orchestrator.domain.address import KEY_EXAMPLES
from orchestrator.domain.frozen import Frozen

WARN_AT: Final = 80
FULL: Final = 100
_MILLION: Final = Decimal(1_000_000)
Tokens = tuple[int, int]
Currency = Annotated[str, Field(pattern=r"^[A-Z]{3}$", description="a code such as RUB")]
Amount = Annotated[Decimal, Field(ge=0, le=10**12)]
PersonKey = Annotated[str, Field(pattern=r"^[a-z]+:\S+$", description=KEY_EXAMPLES)]


class WrongValue(ValueError):
    """`code` is the Fluent message that says so to people."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


class Price(Frozen):
    input: Amount
    output: Amount


class Limits(Frozen):
    tokens_per_month: int | None = Field(default=None, ge=0)
    money_per_month: Amount | None = None


class Budget(Limits):
    currency: Currency = "RUB"
    prices: dict[str, Price] = Field(default_factory=dict)
    """A name also covers its dated versions."""
    people: dict[PersonKey, Limits] = Field(default_factory=dict)
    """By person key; a limit set here replaces the one above."""

    @model_validator(mode="after")
    def _has_prices(self) -> "Budget":
        """A limit in money without a price would never be reached."""
        if not self.prices and any(limits.money_per_month is not None for limits in (self, *self.people.values())):
            raise WrongValue(
                "finding-policy-prices-missing",
                "a limit in money needs `prices`, for example prices: {gpt-5-thinking: {input: 120, output: 960}}",
            )
        return self

    def find_limits(self, actor: Actor) -> Limits:
        """The person's own where set."""
        own = self.people.get(build_person_key(actor.key, actor.bitrix_user_id)) or self.people.get(actor.key)
        if own is None:
            return Limits(tokens_per_month=self.tokens_per_month, money_per_month=self.money_per_month)
        own_fields = own.model_fields_set
        return Limits(
            tokens_per_month=own.tokens_per_month if "tokens_per_month" in own_fields else self.tokens_per_month,
            money_per_month=own.money_per_month if "money_per_month" in own_fields else self.money_per_month,
        )

    def find_price(self, model: str) -> Price | None:
        name = model.lower()
        prices_by_name = {known.lower(): price for known, price in self.prices.items()}
        fitting = [known for known in prices_by_name if name == known or name.startswith((f"{known}-", f"{known}:", f"{known}@"))]
        return prices_by_name[max(fitting, key=len)] if fitting else None

    def calculate_cost(self, used: Mapping[str, Tokens]) -> Decimal:
        return sum((self._calculate_model_cost(model, tokens) for model, tokens in used.items()), Decimal(0))

    def _calculate_model_cost(self, model: str, tokens: Tokens) -> Decimal:
        price = self.find_price(model)
        return (price.input * tokens[0] + price.output * tokens[1]) / _MILLION if price is not None else Decimal(0)

    def describe_unpriced(self, model: str) -> str:
        """Tells that limits in money do not count this model, as it has no price; else ""."""
        in_money = any(limits.money_per_month is not None for limits in (self, *self.people.values()))
        if not in_money or self.find_price(model) is not None:
            return ""
        return f"budget.prices has no price for the model {model!r}: only its tokens are counted, so limits in money are never reached"

    def calculate_percent(self, used: Mapping[str, Tokens], limits: Limits) -> int | None:
        """Of the tighter limit, rounded down: below 100 until it is reached. None without limits."""
        parts: list[int] = []
        if limits.tokens_per_month is not None:
            parts.append(_to_percent(Decimal(sum(sum(tokens) for tokens in used.values())), Decimal(limits.tokens_per_month)))
        if limits.money_per_month is not None:
            parts.append(_to_percent(self.calculate_cost(used), limits.money_per_month))
        return max(parts, default=None)


def _to_percent(used: Decimal, limit: Decimal) -> int:
    return FULL if not limit else int(used * FULL / limit)


def build_person_key(key: str, user: int | None) -> str:
    """One for all accounts of an employee: "employee:7"."""
    return key if user is None else f"employee:{user}"


def to_month(moment: datetime, zone: str) -> int:
    """202611 for November 2026."""
    here = moment.astimezone(ZoneInfo(zone))
    return here.year * 100 + here.month


def find_month_start(now: datetime) -> datetime:
    """Before the current month in every time zone, by no more than about a month."""
    latest = now - timedelta(hours=12)
    return latest.replace(day=1, hour=0, minute=0, second=0, microsecond=0) - timedelta(hours=14)

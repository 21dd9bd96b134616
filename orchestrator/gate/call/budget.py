"""How much of the model a person may use in a month: the rules, and what use comes to under them. Ring 2, pure; counts nothing."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Annotated, Final
from zoneinfo import ZoneInfo

from pydantic import Field, model_validator

from orchestrator.domain.actor import Actor
from orchestrator.domain.frozen import Frozen
from orchestrator.gate.call.policy_format import Currency

WARN_AT: Final = 80
"""Percent."""
FULL: Final = 100
_MILLION: Final = Decimal(1_000_000)
_MONTHS: Final = 12
Tokens = tuple[int, int]
"""Read and written by the model."""
Amount = Annotated[Decimal, Field(ge=0, le=10**12)]
PersonKey = Annotated[str, Field(pattern=r"^[a-z]+:\S+$", description='a key such as "employee:7", "tg:1007" or "http:site"')]


class Price(Frozen):
    """What a million tokens cost."""

    input: Amount
    output: Amount


class Limits(Frozen):
    """How much one person may use in a month; null = no limit."""

    tokens_per_month: int | None = Field(default=None, ge=0)
    money_per_month: Amount | None = None


class Budget(Limits):
    """The limits of everybody, and what models cost."""

    currency: Currency = "RUB"
    """Of prices and limits."""
    prices: dict[str, Price] = Field(default_factory=dict)
    """By model, for a million tokens; a name stands for its dated versions too."""
    people: dict[PersonKey, Limits] = Field(default_factory=dict)
    """Other limits for single people: what is named there takes the place of the one above."""

    @model_validator(mode="after")
    def _has_prices(self) -> "Budget":
        """A limit in money without any price would never be reached."""
        if not self.prices and any(limits.money_per_month is not None for limits in (self, *self.people.values())):
            raise ValueError("a limit in money needs `prices`, for example prices: {gpt-5-thinking: {input: 120, output: 960}}")
        return self

    @property
    def is_set(self) -> bool:
        """Whether anybody has a limit."""
        return any(_has_limit(limits) for limits in (self, *self.people.values()))

    def find_limits(self, actor: Actor) -> Limits:
        """What holds for that person: their own limits, each in the place of everybody's."""
        own = self.people.get(build_person_key(actor.key, actor.bitrix_user_id)) or self.people.get(actor.key)
        if own is None:
            return Limits(tokens_per_month=self.tokens_per_month, money_per_month=self.money_per_month)
        given = own.model_fields_set
        return Limits(
            tokens_per_month=own.tokens_per_month if "tokens_per_month" in given else self.tokens_per_month,
            money_per_month=own.money_per_month if "money_per_month" in given else self.money_per_month,
        )

    def find_price(self, model: str) -> Price | None:
        """The price of the model, or of the longest listed name that it is a version of; None where none is known."""
        name = model.lower()
        listed = {known.lower(): price for known, price in self.prices.items()}
        fitting = [known for known in listed if name == known or name.startswith((f"{known}-", f"{known}:", f"{known}@"))]
        return listed[max(fitting, key=len)] if fitting else None

    def calculate_cost(self, used: Mapping[str, Tokens]) -> Decimal:
        """What it cost, as far as prices are known."""
        return sum((self._calculate_model_cost(model, tokens) for model, tokens in used.items()), Decimal(0))

    def _calculate_model_cost(self, model: str, tokens: Tokens) -> Decimal:
        price = self.find_price(model)
        return (price.input * tokens[0] + price.output * tokens[1]) / _MILLION if price is not None else Decimal(0)

    def describe_unpriced(self, model: str) -> str:
        """A sentence for ops where limits in money would not count what this model costs, else ""."""
        in_money = any(limits.money_per_month is not None for limits in (self, *self.people.values()))
        if not in_money or self.find_price(model) is not None:
            return ""
        return f"budget.prices has no price for the model {model!r}: only its tokens are counted, so limits in money are never reached"

    def calculate_percent(self, used: Mapping[str, Tokens], limits: Limits) -> int | None:
        """How much of the limits is used, the fuller one; None without limits. Never 100 before one of them is reached."""
        parts: list[int] = []
        if limits.tokens_per_month is not None:
            parts.append(_to_percent(Decimal(sum(sum(tokens) for tokens in used.values())), Decimal(limits.tokens_per_month)))
        if limits.money_per_month is not None:
            parts.append(_to_percent(self.calculate_cost(used), limits.money_per_month))
        return max(parts, default=None)


def _has_limit(limits: Limits) -> bool:
    return limits.tokens_per_month is not None or limits.money_per_month is not None


def _to_percent(used: Decimal, limit: Decimal) -> int:
    return FULL if not limit else int(used * FULL / limit)


def build_person_key(key: str, user: int | None) -> str:
    """Who somebody is whatever the account: "employee:7", or the key of who is no employee."""
    return key if user is None else f"employee:{user}"


def to_month(moment: datetime, zone: str) -> int:
    """The month of that moment where the person lives: 202611."""
    here = moment.astimezone(ZoneInfo(zone))
    return here.year * 100 + here.month


def find_month_start(now: datetime) -> datetime:
    """A moment before which the month of now had begun nowhere on earth, yet not a month before that."""
    latest = now - timedelta(hours=12)
    return latest.replace(day=1, hour=0, minute=0, second=0, microsecond=0) - timedelta(hours=14)


def to_next_month(month: int) -> int:
    """202612 after 202611."""
    year, number = divmod(month, 100)
    return (year + 1) * 100 + 1 if number == _MONTHS else month + 1

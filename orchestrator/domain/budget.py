"""Budget rules: how much a person may use the language model per month, and what the use costs. Pure; nothing is counted here."""

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
"""The percentage of a budget at which the person is warned."""
FULL: Final = 100
_MILLION: Final = Decimal(1_000_000)
Tokens = tuple[int, int]
"""The numbers of tokens that the model read and that it wrote."""
Currency = Annotated[str, Field(pattern=r"^[A-Z]{3}$", description="a code such as RUB")]
Amount = Annotated[Decimal, Field(ge=0, le=10**12)]
PersonKey = Annotated[str, Field(pattern=r"^[a-z]+:\S+$", description=KEY_EXAMPLES)]


class WrongValue(ValueError):
    """A value of a policy that cannot be; `code` is the message of the Fluent files that says so to people."""

    def __init__(self, code: str, text: str) -> None:
        """Keep the code; `text` says in English what is wrong and how to mend it."""
        super().__init__(text)
        self.code = code


class Price(Frozen):
    """The prices of a model, for a million tokens of input and of output."""

    input: Amount
    output: Amount


class Limits(Frozen):
    """The limits of one person's use of the language model in a month; None means no limit."""

    tokens_per_month: int | None = Field(default=None, ge=0)
    money_per_month: Amount | None = None


class Budget(Limits):
    """The monthly limits for the use of the language model that apply to each person, and the prices of models.

    The limits inherited from `Limits` are for everybody who has no other limits in `people`.
    """

    currency: Currency = "RUB"
    """The currency of prices and limits."""
    prices: dict[str, Price] = Field(default_factory=dict)
    """Prices per million tokens by model name; a name also covers its dated versions."""
    people: dict[PersonKey, Limits] = Field(default_factory=dict)
    """Other limits for single people, by person key; a limit set here replaces the one above."""

    @model_validator(mode="after")
    def _has_prices(self) -> "Budget":
        """Raise ValueError if there is a limit in money but no price, because such a limit would never be reached."""
        if not self.prices and any(limits.money_per_month is not None for limits in (self, *self.people.values())):
            raise WrongValue(
                "finding-policy-prices-missing",
                "a limit in money needs `prices`, for example prices: {gpt-5-thinking: {input: 120, output: 960}}",
            )
        return self

    def find_limits(self, actor: Actor) -> Limits:
        """Return the monthly limits of one person's use of the model: the person's own where set, otherwise those of everybody."""
        own = self.people.get(build_person_key(actor.key, actor.bitrix_user_id)) or self.people.get(actor.key)
        if own is None:
            return Limits(tokens_per_month=self.tokens_per_month, money_per_month=self.money_per_month)
        given = own.model_fields_set
        return Limits(
            tokens_per_month=own.tokens_per_month if "tokens_per_month" in given else self.tokens_per_month,
            money_per_month=own.money_per_month if "money_per_month" in given else self.money_per_month,
        )

    def find_price(self, model: str) -> Price | None:
        """Return the price of the model, or None if it has none.

        A listed name also covers its versions (`model-2026`). If several listed names fit, the longest counts.
        """
        name = model.lower()
        listed = {known.lower(): price for known, price in self.prices.items()}
        fitting = [known for known in listed if name == known or name.startswith((f"{known}-", f"{known}:", f"{known}@"))]
        return listed[max(fitting, key=len)] if fitting else None

    def calculate_cost(self, used: Mapping[str, Tokens]) -> Decimal:
        """Return the cost of `used` (tokens by model), counting only models with a known price."""
        return sum((self._calculate_model_cost(model, tokens) for model, tokens in used.items()), Decimal(0))

    def _calculate_model_cost(self, model: str, tokens: Tokens) -> Decimal:
        price = self.find_price(model)
        return (price.input * tokens[0] + price.output * tokens[1]) / _MILLION if price is not None else Decimal(0)

    def describe_unpriced(self, model: str) -> str:
        """Return a warning for operations staff if the model has no price although there is a limit in money; otherwise "".

        Such a limit does not count the use of this model.
        """
        in_money = any(limits.money_per_month is not None for limits in (self, *self.people.values()))
        if not in_money or self.find_price(model) is not None:
            return ""
        return f"budget.prices has no price for the model {model!r}: only its tokens are counted, so limits in money are never reached"

    def calculate_percent(self, used: Mapping[str, Tokens], limits: Limits) -> int | None:
        """Return how much of a person's monthly limits `used` (tokens by model) is, in percent; None without limits.

        If there are limits for tokens and for money, the higher percentage counts. It is rounded down, so it is below 100 until a limit is
        reached.
        """
        parts: list[int] = []
        if limits.tokens_per_month is not None:
            parts.append(_to_percent(Decimal(sum(sum(tokens) for tokens in used.values())), Decimal(limits.tokens_per_month)))
        if limits.money_per_month is not None:
            parts.append(_to_percent(self.calculate_cost(used), limits.money_per_month))
        return max(parts, default=None)


def _to_percent(used: Decimal, limit: Decimal) -> int:
    return FULL if not limit else int(used * FULL / limit)


def build_person_key(key: str, user: int | None) -> str:
    """Return a key that is the same for all accounts of an employee: "employee:7".

    For people who are no employees (`user` is None) it is the account's own key.
    """
    return key if user is None else f"employee:{user}"


def to_month(moment: datetime, zone: str) -> int:
    """Return the month of `moment` in the time zone `zone` as a number, for example 202611 for November 2026."""
    here = moment.astimezone(ZoneInfo(zone))
    return here.year * 100 + here.month


def find_month_start(now: datetime) -> datetime:
    """Return a time that lies before the start of the current month in every time zone, by no more than about a month.

    A read of the journal from this time covers the whole month of every person.
    """
    latest = now - timedelta(hours=12)
    return latest.replace(day=1, hour=0, minute=0, second=0, microsecond=0) - timedelta(hours=14)

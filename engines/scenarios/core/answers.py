"""Reads an answer to a question of a scenario, and says what does not fit. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Annotated, Any, Final, Literal

from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import SchemaError

from engines.scenarios.core.day_answers import DAYS, Bounds, Mistake, read_day
from orchestrator.engines.runs import AnswerKind, Takes
from orchestrator.language.text import Locale
from orchestrator.language.typed_numbers import AmbiguousNumber, UnaskedCurrency, read_typed_number, shorten_number

InputType = Literal["text", "number", "integer", "money", "date", "datetime", "phone", "email", "contact", "photo", "document"]
SENT: Final[frozenset[InputType]] = frozenset({"contact", "photo", "document"})
LONGEST_ANSWER: Final = 10_000
UNCLEAR: Final = frozenset({"answer-number-ambiguous", "answer-number-currency"})
"""Mistakes that only a further answer can clear up, whatever the author says."""
_EMAIL: Final = re.compile(r"[^\s@<>,;]{1,64}@[^\s@<>,;]{1,190}\.[^\W\d_]{2,63}")
_PHONE: Final = re.compile(r"\+?[\d ()\u00a0.-]+", re.ASCII)
_PHONE_DIGITS: Final = range(5, 16)
_RUSSIAN_PHONE: Final = re.compile(r"(?:\+?7|8)(\d{10})", re.ASCII)
_CENTS: Final = 2
_LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    type: InputType = "text"
    choices: Sequence[str] = ()
    """Without regard to case; empty for any."""
    pattern: str = ""
    """Matches the whole text; "" for any."""
    min_length: int = 0
    max_length: int = LONGEST_ANSWER
    minimum: float | None = None
    maximum: float | None = None
    question: str = ""
    """It may name the currency of a sum."""
    locale: Locale = "ru"
    zone: str = "UTC"
    bounds: Bounds = field(default_factory=Bounds)

    @property
    def takes(self) -> frozenset[Takes]:
        match self.type:
            case "contact" | "photo" | "document":
                return frozenset({self.type})
            case "phone":
                return frozenset({"text", "contact"})
            case _:
                return frozenset({"text"})

    def read(self, kind: AnswerKind, data: Any, *, said_at: datetime = _LONG_AGO) -> Any:
        """Return the variable's value, or a `Mistake`. A button's value always fits; words for a day on it are read at `said_at`."""
        if kind == "option":
            return self._read_button(data, said_at)
        if self.type in SENT:
            return data
        if kind == "contact":
            return _read_phone(str(data.get("phone", ""))) if isinstance(data, Mapping) else Mistake("scenario-answer-phone")
        text = str(data).strip()
        if not text:
            return Mistake("scenario-answer-empty")
        if len(text) > self.max_length:
            return Mistake("scenario-answer-long", {"most": self.max_length, "length": len(text)})
        if len(text) < self.min_length:
            return Mistake("scenario-answer-short", {"least": self.min_length, "length": len(text)})
        if self.choices:
            return self._choose(text)
        if self.pattern and not matches_pattern(self.pattern, text):
            return Mistake("scenario-answer-form")
        return self._read_typed(text, said_at)

    def _read_button(self, data: Any, said_at: datetime) -> Any:
        if self.type not in (*DAYS, "money") or not isinstance(data, str):
            return data
        value = self._read_typed(data.strip(), said_at)
        return data if isinstance(value, Mistake) else value

    def _read_typed(self, text: str, said_at: datetime) -> Any:
        match self.type:
            case "number" | "integer" | "money":
                return self._read_number(text)
            case "date" | "datetime":
                return read_day(text, self.type, said_at=said_at, zone=self.zone, locale=self.locale, bounds=self.bounds)
            case "phone":
                return _read_phone(text)
            case "email":
                return text if _EMAIL.fullmatch(text) else Mistake("scenario-answer-email")
            case _:
                return text

    def _choose(self, text: str) -> str | Mistake:
        folded = {choice.strip().casefold(): choice for choice in self.choices}
        matching = folded.get(text.casefold())
        return matching if matching is not None else Mistake("scenario-answer-choice", {"choices": ", ".join(self.choices)})

    def _read_number(self, text: str) -> int | float | Mistake:
        number = read_typed_number(text, question=self.question, locale=self.locale)
        match number:
            case None:
                return Mistake("scenario-answer-number", {"type": self.type})
            case AmbiguousNumber():
                return Mistake("answer-number-ambiguous", {"thousands": number.thousands, "decimals": number.decimals})
            case UnaskedCurrency():
                return Mistake("answer-number-currency", {"currency": number.currency, "number": number.number})
        if self.type == "money" and (number < 0 or _count_decimals(number) > _CENTS):
            return Mistake("scenario-answer-number", {"type": self.type})
        if self.type == "integer" and not isinstance(number, int):
            return Mistake("scenario-answer-integer")
        if self.minimum is not None and number < self.minimum:
            return Mistake("scenario-answer-small", {"least": shorten_number(self.minimum)})
        if self.maximum is not None and number > self.maximum:
            return Mistake("scenario-answer-large", {"most": shorten_number(self.maximum)})
        return number


def _count_decimals(number: float) -> int:
    return -int(Decimal(str(number)).as_tuple().exponent)


def _read_phone(text: str) -> str | Mistake:
    """A Russian number as +79011234567, others as they were typed."""
    digits = re.sub(r"\D", "", text)
    if not _PHONE.fullmatch(text) or len(digits) not in _PHONE_DIGITS:
        return Mistake("scenario-answer-phone")
    russian = _RUSSIAN_PHONE.fullmatch(digits) if not text.startswith("+") or digits[0] == "7" else None
    return f"+7{russian[1]}" if russian is not None else text


@lru_cache(maxsize=32)
def compile_pattern(pattern: str) -> TypeAdapter[str]:
    """Match a whole text in linear time: Python's engine takes years for some expressions. Raises ValueError."""
    try:
        TypeAdapter(Annotated[str, Field(pattern=pattern)])
        return TypeAdapter(Annotated[str, Field(pattern=rf"\A(?:{pattern})\z")])
    except SchemaError as error:
        raise ValueError(str(error).strip().splitlines()[-1].strip().removeprefix("error: ")) from None


def matches_pattern(pattern: str, text: str) -> bool:
    """Raises ValueError for a wrong expression."""
    try:
        compile_pattern(pattern).validate_python(text)
    except ValidationError:
        return False
    return True

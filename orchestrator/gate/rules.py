"""The form of the owner's own rules in data/policy.yaml and POLICY_FILE. Ring 2, plain data; what they say of a call stands in `ruling`."""

from decimal import Decimal
from fnmatch import fnmatchcase
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from orchestrator.messages import Frozen, Mode, Role

Then = Literal["ask", "ask_twice", "lead", "two_people", "refuse"]
LONGEST_WHY: Final = 120


def _to_list(value: object) -> object:
    """One word or several."""
    return [value] if isinstance(value, str | int) and not isinstance(value, bool) else value


def _strip_words(words: tuple[str, ...]) -> tuple[str, ...]:
    if any(not word.strip() for word in words):
        raise ValueError("an empty word fits nothing; remove it")
    return tuple(word.strip() for word in words)


def _check_sentence(text: str) -> str:
    text = text.strip()
    if not text or not text.isprintable():
        raise ValueError("one plain sentence is needed: people read it when the rule applies")
    return text


Words = Annotated[tuple[Annotated[str, Field(coerce_numbers_to_str=True)], ...], BeforeValidator(_to_list), AfterValidator(_strip_words)]


Currency = Annotated[str, Field(pattern=r"^[A-Z]{3}$", description="a code such as RUB")]


class Rule(Frozen):
    """One rule; every condition that it names must hold, one of several words of a condition is enough."""

    method: Words = ()
    """crm.deal.update, or with a star: crm.deal.*; a deal changed through crm.item.update counts as crm.deal.update too."""
    entity: Words = ()
    """deal, lead, contact, company, task, item:177 or item:*: whatever the method."""
    field: Words = ()
    """A field that the call changes, or sets on a new record."""
    above: Decimal | None = Field(default=None, ge=0)
    """The sum that it writes, or that stands on the record, is larger."""
    currency: Currency | Literal[""] = ""
    """Of `above`; without it that of the policy."""
    times: int | None = Field(default=None, ge=2)
    """The sum becomes so many times as large, or falls to that part of it."""
    person: Words = ()
    """Who asks for it, as a key of the access file (tg:1007)."""
    role: Annotated[tuple[Role, ...], BeforeValidator(_to_list)] = ()
    mode: Annotated[tuple[Mode, ...], BeforeValidator(_to_list)] = ()
    """The mode that holds for the person."""
    then: Then
    why: Annotated[str, Field(max_length=LONGEST_WHY), AfterValidator(_check_sentence)]
    """Shown to people on the card or in the refusal."""

    @model_validator(mode="after")
    def _concerns_something(self) -> "Rule":
        if not any((self.method, self.entity, self.field, self.above is not None, self.times, self.person, self.role, self.mode)):
            raise ValueError("names no condition, so it would concern every change; name at least one, such as `role: manager`")
        if self.currency and self.above is None:
            raise ValueError("a currency is that of `above`; name the sum, or remove the currency")
        return self


def is_match(pattern: str, name: str) -> bool:
    """Whether a word of a rule means this name; a star stands for any part of it."""
    return fnmatchcase(name.lower(), pattern.lower())

"""A type of runes that a package adds: `tax_numbers` finds the taxpayer numbers (INN) in a text, those whose check digits are right.

    - {runeType: tax_numbers, input: letter, output: numbers}

Read it beside engines/workflows/README.md, "Runes of your own". Everything that a rune needs is in `engines/workflows/core/rune_types.py`.
"""

import re
from collections.abc import Sequence
from typing import Any, Final

from pydantic import Field

from engines.workflows.core.rune_types import Changes, Local, RuneCall, RuneParams, RuneType
from orchestrator.expressions.placeholders import format_value

_CANDIDATE: Final = re.compile(r"(?<!\d)(?:\d{10}|\d{12})(?!\d)", re.ASCII)
_WEIGHTS: Final = (3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8)
"""The weights of the digits before the last check digit of twelve; those of a shorter number are the last ones of these."""


class TaxNumbersParams(RuneParams):
    """Where numbers are looked for. Names, types, bounds and descriptions here are what validation checks and the JSON Schema shows."""

    input: Local = Field(description="The variable that holds the text.")
    output: Local = Field(description="The variable that gets the numbers, a list of texts.")
    most: int = Field(10, ge=1, le=1_000, description="How many are taken at most.")


def is_tax_number(digits: str) -> bool:
    """Return whether the check digits of a number are right: the last one of ten digits, the last two of twelve."""
    checks = (9,) if len(digits) == 10 else (10, 11)  # noqa: PLR2004 - said in the sentence above
    return all(_sum_digits(digits[:place]) % 11 % 10 == int(digits[place]) for place in checks)


def _sum_digits(digits: str) -> int:
    weights: Sequence[int] = _WEIGHTS[-len(digits) :]
    return sum(weight * int(digit) for weight, digit in zip(weights, digits, strict=True))


async def _find_numbers(call: RuneCall[TaxNumbersParams]) -> Changes:
    """Set the variable. `map` keeps where the text comes from: the gate asks a person by that."""

    def find(text: Any) -> list[str]:
        found = [digits for digits in _CANDIDATE.findall(format_value(text)) if is_tax_number(digits)]
        return list(dict.fromkeys(found))[: call.params.most]

    return {call.params.output: call.find(call.params.input).map(find)}


TAX_NUMBERS: Final = RuneType[TaxNumbersParams](
    name="tax_numbers",
    summary="Finds the taxpayer numbers (INN) in a text whose check digits are right.",
    params=TaxNumbersParams,
    perform=_find_numbers,
    example={"input": "letter", "output": "numbers"},
    list_consumes=lambda params: (params.input,),
    list_produces=lambda params: (params.output,),
    prepares=True,
)
"""What the entry point names."""

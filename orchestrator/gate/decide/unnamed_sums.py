"""A written sum that the person's words do not give: «50 тысяч» became 500 000. In doubt nothing is said. Pure."""

import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import product
from typing import Final

from orchestrator.gate.call import critical_fields, fields
from orchestrator.gate.call.effect import Call, Facts
from orchestrator.gate.normalize.sums import SUM, RawSum
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.money_parser import UnclearSum, find_amounts, parse_sum
from orchestrator.language.text import fold

_KEY: Final = fields.to_field_key(SUM)
_NUMBER: Final = re.compile(r"[0-9]+(?:[.,][0-9]+)?")
_SPACED: Final = re.compile(r"(?<=[0-9])[ \u00a0\u202f](?=[0-9]{3})")
_WORD_END: Final = re.compile(r"(?=\s)|$")
_MOST_WORDS: Final = 3
_COUNTED: Final = re.compile(load_lexicon("money").join_patterns("counted"))
_MOST_NUMBERS: Final = 12


def find_unnamed_sum(call: Call, facts: Facts, text: str) -> tuple[str, RawSum] | None:
    """A pair (field, sum) that the person's `text` does not give; None also in doubt."""
    if call.reads_only or call.kind != "bitrix":
        return None
    amounts = [(name, value, fields.parse_number(value)) for name, value in critical_fields.list_written_amounts(call)]
    sums = [(name, value, number) for name, value, number in amounts if number and fields.to_field_key(name) == _KEY]
    plain = _list_numbers(text)
    if all(number in plain for _, _, number in sums):  # nearly always: reading the words of a text costs fifty times more
        return None
    own = {number for _, number in call.targets}
    named_sums = [found for found in _list_named_sums(text) if found not in own]
    if not named_sums or _COUNTED.search(fold(text)):
        return None
    record = critical_fields.find_current_record(call, facts) or {}
    present = fields.parse_number(fields.find_value(record, SUM, call.entity) or 0) or Decimal(0)
    possible = _list_possible_sums(named_sums, plain, present)
    for name, value, number in sums:
        if number not in possible:
            return critical_fields.to_field_code(call, name), RawSum(value=value)
    return None


def _list_numbers(text: str) -> list[Decimal]:
    return [Decimal(number.replace(",", ".")) for number in _NUMBER.findall(_SPACED.sub("", text))]


def _list_named_sums(text: str) -> list[Decimal]:
    amounts = [(one.amount, start, end) for one, start, end in find_amounts(text)]
    return [amount for first, start, end in amounts for amount in (first, *_read_longer(text[start:], end - start))]


def _read_longer(text: str, end: int) -> Iterator[Decimal]:
    for space in [*_WORD_END.finditer(text, end + 1)][:_MOST_WORDS]:
        try:
            yield parse_sum(text[: space.start()].strip(" ,;:)")).amount
        except UnclearSum:
            continue


def _list_possible_sums(named_sums: list[Decimal], plain: list[Decimal], present: Decimal) -> frozenset[Decimal]:
    known = list(dict.fromkeys([*named_sums, *plain, present]))[:_MOST_NUMBERS]
    return frozenset((*known, sum(named_sums, Decimal(0)), *_combine(known)))


def _combine(known: list[Decimal]) -> Iterator[Decimal]:
    for first, other in product(known, repeat=2):
        yield from (first + other, first - other, first * other)

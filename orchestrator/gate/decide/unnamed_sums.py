"""Finds a sum that a call writes and that the person's words do not give, although they name another one: «50 тысяч» became 500 000. Pure.

It is no reason to ask by itself, but the card that asks for another reason says so. In doubt nothing is said: a sum that follows from those
in the message and in the record, or from words such as «на 10 %» and «пополам», may be right.
"""

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
    """Return (field, sum) of a written sum of a record that the person's `text` does not give; None if there is none, or in doubt."""
    if call.reads_only or call.kind != "bitrix":
        return None
    written = [(name, value, fields.parse_number(value)) for name, value in critical_fields.list_written_amounts(call)]
    sums = [(name, value, number) for name, value, number in written if number and fields.to_field_key(name) == _KEY]
    plain = _list_numbers(text)
    if all(number in plain for _, _, number in sums):  # nearly always: reading the words of a text costs fifty times more
        return None
    own = {number for _, number in call.targets}
    named = [found for found in _list_named_sums(text) if found not in own]
    if not named or _COUNTED.search(fold(text)):
        return None
    record = critical_fields.find_current_record(call, facts) or {}
    present = fields.parse_number(fields.find_value(record, SUM, call.entity) or 0) or Decimal(0)
    possible = _list_possible_sums(named, plain, present)
    for name, value, number in sums:
        if number not in possible:
            return critical_fields.to_field_code(call, name), RawSum(value=value)
    return None


def _list_numbers(text: str) -> list[Decimal]:
    return [Decimal(number.replace(",", ".")) for number in _NUMBER.findall(_SPACED.sub("", text))]


def _list_named_sums(text: str) -> list[Decimal]:
    """Return the sums of money in the text, each also with the words behind it: «миллион двести» means 1,200,000 where it ends."""
    found = [(one.amount, start, end) for one, start, end in find_amounts(text)]
    return [amount for first, start, end in found for amount in (first, *_read_longer(text[start:], end - start))]


def _read_longer(text: str, end: int) -> Iterator[Decimal]:
    for space in [*_WORD_END.finditer(text, end + 1)][:_MOST_WORDS]:
        try:
            yield parse_sum(text[: space.start()].strip(" ,;:)")).amount
        except UnclearSum:
            continue


def _list_possible_sums(named: list[Decimal], plain: list[Decimal], present: Decimal) -> frozenset[Decimal]:
    """Return the sums and numbers of a text, the present sum, and what comes of two of them by adding, taking away or multiplying."""
    known = list(dict.fromkeys([*named, *plain, present]))[:_MOST_NUMBERS]
    return frozenset((*known, sum(named, Decimal(0)), *_combine(known)))


def _combine(known: list[Decimal]) -> Iterator[Decimal]:
    for one, other in product(known, repeat=2):
        yield from (one + other, one - other, one * other)

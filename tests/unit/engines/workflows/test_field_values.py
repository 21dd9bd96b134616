"""Values of fields are compared and computed without knowing their types: no change of a text hides, no number grows by gluing (S003-X9)."""

from typing import Any

import pytest

from engines.workflows.core.entities import compute_value, is_same
from engines.workflows.core.operations import read_operation
from orchestrator.engines.runs import RunFailed

SAME: list[tuple[Any, Any]] = [
    (100, "100.00"), (100, "100"), (100.0, "100"), ("100.00", "100"), ("100.5000", "100.5"), ("-0.50", -0.5), ("100|RUB", "100.00|RUB"),
    (True, "Y"), (True, "1"), (True, 1), (False, "N"), (False, "0"), (None, ""), ([], ""), ([1, 2], ["1", "2.00"]),
    ([["a"], {"b": 1}], [["a"], {"b": 1}]), ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
]  # fmt: skip
OTHER: list[tuple[Any, Any]] = [
    ("007", "7"), (7, "007"), ("+79161234567", "79161234567"), (79161234567, "+79161234567"), ("1.0", "1"), ("1e3", "1000"),
    ("1_000", "1000"), (" 5", "5"), ("-0", "0"), ("٥", "5"), ("100.00", "100.01"), ("100|RUB", "100|USD"), ("100.00|RUB", "100.00"),
    ("Y", "1"), (True, "N"), (True, "да"), (False, None), (False, ""), (["7"], ["007"]), ([1, 2], [2, 1]), ([1, 2], [1]), ([1], 1),
    ([""], [None]), ({"a": 1}, {"a": 2}),
]  # fmt: skip


@pytest.mark.req("S003-X10", "S003-54")
@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_the_portal_takes_for_the_same_is_no_change(one: Any, other: Any) -> None:
    """Numbers, flags and lists are the same however JSON writes them, whichever side wrote which."""
    assert is_same(one, other)
    assert is_same(other, one)


@pytest.mark.req("S003-X10", "S003-54")
@pytest.mark.parametrize(("one", "other"), OTHER)
def test_a_change_of_a_text_is_a_change_although_both_read_as_one_number(one: Any, other: Any) -> None:
    """Otherwise a person's correction of a phone, an index or the number of an article would be written over without a question."""
    assert not is_same(one, other)
    assert not is_same(other, one)


def compute(before: Any, operator: str, change: Any) -> Any:
    """The value after an operation on a field."""
    written = {"operationType": "ModifyEntity", "entityType": "deal", "entityId": "1", "attributeKey": "X", "modifyOperator": operator}
    return compute_value(read_operation({**written, "modifyValue": change}), before)


@pytest.mark.req("S003-X9")
@pytest.mark.parametrize(("before", "operator", "change", "after"), [
    ("1000.00", "+=", 500, "1500"), ("1000.00", "+=", " 500.50 ", "1500.5"), ("1000.00|RUB", "+=", 500, "1500|RUB"),
    ("1000|RUB", "-=", "500|RUB", "500|RUB"), ("1000|RUB", "*=", "1.5", "1500|RUB"), ("007", "+=", "1", "0071"),
    ("5", "+=", " и ещё", "5 и ещё"), ("Скидка ", "+=", "500", "Скидка 500"), (None, "+=", "500", "500"),
])  # fmt: skip
def test_numbers_are_computed_and_texts_are_added_to(before: Any, operator: str, change: Any, after: str) -> None:
    """A sum keeps its currency, and digits that are no number stay what they are."""
    assert compute(before, operator, change) == after


@pytest.mark.req("S003-X9")
@pytest.mark.parametrize(("before", "operator", "change"), [
    ("1000.00", "+=", "500 RUB"), ("1000.00", "+=", " 50 000"), ("1000", "+=", "+500"), ("1000.00", "+=", "пятьсот"),
    ("1000|RUB", "+=", "пятьсот"), ("1000|RUB", "+=", "500|USD"), ("1000.00", "+=", "500|RUB"), ("1000|RUB", "*=", "2|RUB"),
    ("007", "-=", "1"), (True, "+=", 1), ([1], "+=", 1),
])  # fmt: skip
def test_what_cannot_be_computed_is_refused(before: Any, operator: str, change: Any) -> None:
    """No sum becomes another one because digits were written behind it, and no currency another one."""
    with pytest.raises(RunFailed) as refused:
        compute(before, operator, change)
    assert refused.value.code == "workflow-operations-uncomputed"

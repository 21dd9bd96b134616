"""No hostile condition gives a value, changes what it reads, or ends in anything but a finding with its place."""

import copy
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.domain.finding import DefinitionRefused, Finding
from orchestrator.expressions.conditions import ConditionFailed, compile_condition
from tests.unit.expressions.hostile_kit import build_names, read_hostile


def try_condition(source: str, names: dict[str, Any]) -> tuple[Finding, ...]:
    """Return why a condition gives no value; fail if it gives one."""
    try:
        value = compile_condition(source).evaluate(names)
    except DefinitionRefused as error:
        return error.findings
    except ConditionFailed as error:
        return (error.finding,)
    pytest.fail(f"{source[:80]!r} gave {str(value)[:80]}")


@pytest.mark.req("G3", "S000-A4", "S000-A6", "S000-A7")
@pytest.mark.timeout(5)
@pytest.mark.parametrize("source", read_hostile(), ids=lambda one: ascii(one[:40]))
def test_a_hostile_condition_gives_no_value_and_changes_nothing(source: str) -> None:
    """Each is refused or fails with a code and a place, and the variables are those before it."""
    names = build_names()
    before = copy.deepcopy(names)

    findings = try_condition(source, names)

    assert all(one.code.startswith("expression-") and one.line >= 1 and one.column >= 1 and one.message for one in findings)
    assert names == before


def test_the_corpus_is_not_read_in_part() -> None:
    """A change of its form must not make the test above pass over nothing."""
    assert len(read_hostile()) > 250


@pytest.mark.timeout(5)
@pytest.mark.parametrize("source", ["a" + ".b" * 190, "a" + ".lower()" * 90, "not " * 190 + "a", "a" + " + a" * 90, "-" * 190 + "a"])
def test_a_long_chain_ends_in_a_finding_also_where_little_stack_is_left(source: str) -> None:
    """A definition may be loaded deep inside other calls; the process survives it, whatever the chain."""

    def descend(levels: int) -> tuple[Finding, ...]:
        if levels:
            return descend(levels - 1)
        return try_condition(source, {})

    used = 0
    frame = sys._getframe()
    while frame := frame.f_back:  # type: ignore[assignment]
        used += 1

    for left in (900, 300, 200, 120):
        if sys.getrecursionlimit() - used > left:
            assert descend(sys.getrecursionlimit() - used - left - 5)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("source", [
    " or ".join(["'zz' in many"] * 60), " or ".join([f"{number} in many" for number in range(2, 62)]), "max(many) == 'x'",
    "many == others and many == others", "deep == other_deep", "'{wide}' == 'x'",
    " or ".join(f"0.{number} in texts" for number in range(1, 66)),
    " or ".join(f"'0.{number}' in numbers" for number in range(1, 66)), " or ".join(["'{parts}' == 'x'"] * 60),
    "wide.upper().lower().strip().casefold() == 'x'", "'b' in wide or wide.find('b') > 0 or wide.startswith('b')",
])  # fmt: skip
def test_large_values_end_in_an_answer_or_a_finding(source: str) -> None:
    """A variable of a run may hold a million characters, a hundred thousand parts, or be nested ten thousand deep."""

    def nest() -> Any:
        data: Any = 1
        for _ in range(10_000):
            data = [data]
        return data

    texts = {"texts": [f" {number} " for number in range(100_000)], "numbers": [float(number) for number in range(100_000)]}
    texts |= {"parts": {str(number): number for number in range(100_000)}}  # type: ignore[dict-item]
    names = {**texts, "many": [1] * 50_000, "others": [1] * 50_000, "deep": nest(), "other_deep": nest(), "wide": "a" * 1_000_000}
    try:
        found = compile_condition(source).evaluate(names)
    except ConditionFailed as error:
        found = error.finding.code

    assert found in {True, False, "expression-function", "expression-failed", "expression-long"}


TOKENS = [
    *"()[]{}.,:+-*/%<>=!'\"\\n#@&|^~;",
    *("n", "text", "items", "deal", "typed", "nobody", "context", "1", "0", "2.5", "'a'", "'{n}'", "true", "None"),
    *(" and ", " or ", " not ", " in ", " is ", " if ", " else ", "==", "!=", "**", "//", "<<", ":=", "lambda ", " for ", "\n", "\t", "\\"),
    *(".get(", ".lower()", ".keys()", ".split(", ".title", "len(", "str(", "int(", "max(", "round(", ".__class__", "f'", "b'", "é", "😀"),
]


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from(TOKENS), max_size=12).map("".join))
def test_any_text_ends_in_json_data_or_in_a_finding_with_its_place(source: str) -> None:
    """Whatever stands in a condition, nothing else comes out of it, and the variables stay what they are."""
    names = build_names()
    try:
        value = compile_condition(source).evaluate(names)
    except DefinitionRefused as error:
        found = error.findings
    except ConditionFailed as error:
        found = (error.finding,)
    else:
        found = ()
        assert isinstance(value, str | int | float | bool | list | dict | None)

    assert all(one.line >= 1 and one.column >= 1 for one in found)
    assert names == build_names()

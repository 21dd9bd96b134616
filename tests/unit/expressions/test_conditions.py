"""Conditions do what Python's expressions do as far as they go, and nothing else."""

import copy
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.domain.finding import DefinitionRefused
from orchestrator.domain.taint import Value
from orchestrator.expressions.conditions import Condition, ConditionFailed, compile_condition
from orchestrator.expressions.syntax import MAX_CHARACTERS

NAMES: dict[str, Any] = {
    "age": 20, "typed": "25", "plan": "pro",
    "deal": {"title": "Ромашка", "sum": 150000, "tags": ["vip", "new"], "has_owner": False},
    "results": [{"text": "a"}, {"text": "b"}], "nothing": None, "имя": "Алиса",
}  # fmt: skip


def evaluate(source: str, names: dict[str, Any] | None = None) -> Any:
    return compile_condition(source).evaluate(NAMES if names is None else names)


def refuse(source: str) -> list[str]:
    """The codes of all mistakes of a condition."""
    with pytest.raises(DefinitionRefused) as error:
        compile_condition(source)
    return [one.code for one in error.value.findings]


@pytest.mark.req("S000-A7")
@pytest.mark.parametrize(("source", "value"), [
    ("age >= 18 and plan in ['pro', 'max']", True),
    ("context['age'] >= 18", True),
    ("context.get('age', 0) >= 18", True),
    ("context.get('height', 0) >= 18", False),
    ("context.get('height') is None", True),
    ("deal.title == 'Ромашка'", True),
    ("deal['tags'][0] == 'vip' and 'new' in deal.tags", True),
    ("results[-1].text", "b"),
    ("len(deal.tags) == 2 and 'sum' in deal", True),
    ("not deal.has_owner", True),
    ("nothing is null and nothing == None", True),
    ("имя.lower().startswith('ал')", True),
    ("0 < age < 30 != 5", True),
    ("age % 7 + age // 7 - age / 4 * -2", 18.0),
    ("'yes' if age > 18 else 'no'", "yes"),
    ("plan[:2] + '-' + str(age)", "pr-20"),
    ("min(3, 1, 2) + max([1, 5]) + abs(-2) + round(2.567, 1)", 10.6),
    ("(age > 18\n and plan == 'pro'  # a remark\n)", True),
    ("age > 18\nand plan == 'pro'", True),
    ("{age} >= 18 and {deal.title} == 'Ромашка' and {results[0].text} == 'a'", True),
    ("'{имя} {age}' == 'Алиса 20'", True),
    (r"'\{nobody}'", "{nobody}"),
    ("'{nothing}'", ""),
    (r"'\{имя}'", "{имя}"),
    (r"'{имя}' == '\{имя}' or plan in ['\{plan}']", False),
    ("context.get('order', {}).get('items', []) == []", True),
    ("{'a': age}.a == +20", True),
])  # fmt: skip
def test_what_authors_write_gives_what_they_mean(source: str, value: object) -> None:
    """Bare names, the context, paths, placeholders in and out of quotes, functions and methods that only read."""
    assert evaluate(source) == value


@pytest.mark.req("S000-A5")
@pytest.mark.parametrize(("source", "value"), [
    ("typed >= 18", True), ("18 <= typed", True), ("typed == 25 and 25 == typed and typed != 26", True), ("typed in [24, 25]", True),
    ("' 25.0 ' == 25", True), ("'25' == '25.0'", False), ("'abc' == 25", False), ("'9' < '10'", False),
])  # fmt: skip
def test_a_number_and_a_numeric_text_are_compared_as_numbers(source: str, value: object) -> None:
    """What a person typed is text; two texts stay texts."""
    assert evaluate(source) == value


@pytest.mark.req("S000-A4")
@pytest.mark.parametrize(("source", "code", "column"), [
    ("age > 1 and agee > 2", "expression-name", 13), ("deal.titel == 'x'", "expression-no-part", 1),
    ("results[5].text", "expression-no-part", 1), ("plan > 5", "expression-compare", 1), ("nothing < 5", "expression-compare", 1),
    ("typed + 1", "expression-arithmetic", 1), ("'31.12.2026' < '10.01.2027'", "expression-day-text", 1), ("True and age / 0", "expression-zero", 10), ("age.title", "expression-no-parts", 1),
    ("plan.get('x')", "expression-method", 1), ("int('no')", "expression-function", 1),
    ("'Алиса' == имя and nobody", "expression-name", 20), ("age > 1 and '{agee}' != 'x'", "expression-name", 13),
    ("'{deal.titel}!' == 'x'", "expression-no-part", 1), ("'{context.age}' == '20'", "expression-name", 1),
    ("context['context'] == 1", "expression-name", 1), ("context.true", "expression-name", 1),
])  # fmt: skip
def test_a_value_that_does_not_fit_stops_with_its_place(source: str, code: str, column: int) -> None:
    """Never a silent False: the branch that follows would be taken by accident."""
    with pytest.raises(ConditionFailed) as error:
        evaluate(source)

    assert (error.value.finding.code, error.value.finding.column) == (code, column)


def test_all_mistakes_of_a_condition_are_told_at_once_with_their_places() -> None:
    """An author mends them in one go; what was probably meant stands beside them."""
    with pytest.raises(DefinitionRefused) as error:
        compile_condition("agee > 1 and lenn(plan) == 2\nor plan.lowr() == f'x'\nor '{plann}' == 'pro'", known=["age", "plan"])

    found = [(one.code, one.line, one.column, one.suggestion) for one in error.value.findings]
    assert found == [
        ("expression-name", 1, 1, "age"), ("expression-function-unknown", 1, 14, "len"), ("expression-method-unknown", 2, 4, "lower"),
        ("expression-forbidden", 2, 19, ""), ("expression-name", 3, 4, "plan"),
    ]  # fmt: skip


@pytest.mark.parametrize(("source", "place"), [
    ("age >", (1, 6)), ("   age > ", (1, 9)), ("\n  age >\n", (2, 8)), ("  возраст возраст", (1, 11)), ("  '😀' x\nor y", (1, 3)),
    ("age > 1\n  and 'x", (2, 7)), ("age\r\n and > x", (2, 6)),
])  # fmt: skip
def test_a_mistake_of_syntax_has_the_place_that_the_author_sees(source: str, place: tuple[int, int]) -> None:
    """In the text as it was written, with the space around it; what is missing is missing behind the last sign."""
    with pytest.raises(DefinitionRefused) as error:
        compile_condition(source)

    assert [(one.code, (one.line, one.column)) for one in error.value.findings] == [("expression-syntax", place)]


@pytest.mark.parametrize("source", [r"'\ud800' == plan", r"'a\x00' != plan", r"{'\udfff': 1}", r"plan in ['\0', 'a']"])
def test_a_text_that_cannot_be_stored_has_no_place_in_a_condition(source: str) -> None:
    """An escape can write it, so that a value would be made at which the journal fails."""
    assert "expression-forbidden" in refuse(source)


@pytest.mark.parametrize("source", ["", "  ", "a b", "a)", "a) or (b", "(a", "'", "\0", "\ud800", "a = 1", "import os", "a;b"])
def test_what_is_no_expression_is_refused_with_a_place(source: str) -> None:
    """Whatever stands there: a finding, and no other error."""
    assert set(refuse(source)) <= {"expression-empty", "expression-syntax"}


def test_a_condition_says_which_variables_it_reads_and_where_its_result_comes_from() -> None:
    """Only the variables that are named, also by `context.get`; the whole context reads all."""
    condition = compile_condition("context.get('mail') == 'x' and context['plan'] == '{имя}' and deal.sum > 1")
    values = {"mail": Value("y", frozenset({"prose"})), "plan": Value("pro", frozenset({"person"})), "other": Value(1, frozenset({"web"}))}

    assert condition.reads == {"mail", "plan", "имя", "deal"}
    assert condition.decide(values) == Value(False, frozenset({"prose", "person"}))
    assert compile_condition("len(context) > 2").decide(values) == Value(True, frozenset({"prose", "person", "web"}))


def test_evaluating_changes_nothing() -> None:
    """The variables after it are those before it."""
    before = copy.deepcopy(NAMES)
    for source in ("deal.tags + ['x']", "context.keys()", "deal.get('tags')[:1]", "[deal, deal.tags]"):
        evaluate(source)

    assert before == NAMES


SMALL = st.integers(-50, 50)
LEAVES = st.one_of(SMALL.map(str), st.sampled_from(["a", "b", "c", "'x'", "'y'", "s", "True", "False", "None", "flag"]))


def join(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Larger expressions of smaller ones."""
    signs = st.sampled_from(["and", "or", "==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "//", "%", "/"])
    return st.one_of(
        st.tuples(parts, signs, parts).map(lambda one: f"({one[0]} {one[1]} {one[2]})"),
        parts.map(lambda one: f"(not {one})"),
        st.tuples(parts, parts).map(lambda one: f"({one[0]} in [{one[1]}, 1, 'x'])"),
        st.tuples(parts, parts, parts).map(lambda one: f"({one[0]} if {one[1]} else {one[2]})"),
    )


@settings(max_examples=300, deadline=None)
@given(st.recursive(LEAVES, join, max_leaves=12))
def test_an_expression_has_the_value_that_python_gives(source: str) -> None:
    """Where Python gives a value; where it does not, neither do we. Texts here are no numbers, so that nothing is converted."""
    names = {"a": 3, "b": -7, "c": 2.5, "s": "x", "flag": True}
    try:
        wanted = eval(source, {"__builtins__": {}}, dict(names))  # noqa: S307 - the yardstick; the texts are made above
    except (TypeError, ZeroDivisionError):
        with pytest.raises(ConditionFailed):
            evaluate(source, names)
        return
    try:
        found = evaluate(source, names)
    except ConditionFailed as error:
        refused = error.finding.code  # Python multiplies texts and counts with True; conditions do not
    else:
        refused = ""
    if refused:
        assert refused in {"expression-arithmetic", "expression-compare"}
        return

    assert found == wanted or (isinstance(wanted, float) and math.isclose(found, wanted))


def test_the_longest_condition_is_compiled_and_evaluated() -> None:
    """At its limits it still is a condition, one sign above it is refused."""
    longest = " and ".join(["a"] * 199)
    assert isinstance(compile_condition(longest), Condition)
    assert evaluate(longest, {"a": 1}) == 1
    assert refuse(longest + " " * MAX_CHARACTERS) == ["expression-long-source"]


def test_a_computed_key_is_quoted_without_hidden_signs() -> None:
    """A stranger may have written it, and people read the finding."""
    with pytest.raises(ConditionFailed) as error:
        evaluate("deal[key] == 1", {"deal": {}, "key": "a\n✅ done\u202e"})

    assert error.value.finding.args["name"] == "aU+000A✅ doneU+202E"


def test_a_condition_full_of_unknown_names_is_refused_whole_and_soon() -> None:
    """Each of them is named; what was meant is searched among thousands of variables for the first few only."""
    with pytest.raises(DefinitionRefused) as error:
        compile_condition(" or ".join(f"valu{number}" for number in range(190)), known=[f"value{number}" for number in range(5_000)])

    found = error.value.findings
    assert [one.args["name"] for one in found] == [f"valu{number}" for number in range(190)]
    assert [bool(one.suggestion) for one in found] == [True] * 10 + [False] * 180

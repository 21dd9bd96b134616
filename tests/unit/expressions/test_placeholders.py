"""Placeholders of all three kinds of definitions: one resolver, values are put in once and keep their type and their origins."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.taint import Value
from orchestrator.expressions.placeholders import FLOW, SCENARIO, WORKFLOW, Syntax, Template, TemplateRefused, fill_text

NAMES = {
    "name": Value("Алиса", frozenset({"person"})),
    "n": Value(5),
    "none": Value(None),
    "yes": Value(True),
    "deal": Value({"title": "Ромашка", "tags": ["vip"], "два слова": 1}, frozenset({"label"})),
    "results": Value([{"text": "a"}, {"text": "b"}], frozenset({"document"})),
    "secret": Value("42"),
    "typed": Value("{secret} {{secret}} $secret", frozenset({"person"})),
    "steps": Value({"solve-it": {"output": {"draft": "d"}}}, frozenset({"model"})),
}


def fill(tree: Any, syntax: Syntax = SCENARIO) -> Any:
    """The data of a filled template, without origins."""

    def strip(data: Any) -> Any:
        if isinstance(data, Value):
            return data.data
        if isinstance(data, dict):
            return {key: strip(one) for key, one in data.items()}
        return [strip(one) for one in data] if isinstance(data, list) else data

    return strip(Template(tree, syntax).fill(NAMES).data)


@pytest.mark.req("S000-17", "S000-18", "S000-19", "S000-X1", "S000-X2")
@pytest.mark.parametrize(("text", "value"), [
    ("Привет, {name}!", "Привет, Алиса!"), ("{n}", 5), ("{deal}", {"title": "Ромашка", "tags": ["vip"], "два слова": 1}),
    ("{deal.title}", "Ромашка"), ("{results[0].text}{results[-1].text}{results.1.text}", "abb"),
    ("{deal['два слова']} {deal[\"title\"]}", "1 Ромашка"), ("{ name }", "Алиса"), ("n = {n}, {none}, {yes}", "n = 5, , true"),
    ("{deal.tags}!", '["vip"]!'), ("{nobody} {deal.nobody} {results[7]}", "{nobody} {deal.nobody} {results[7]}"),
    ("{nobody}", "{nobody}"), ("{none}", None), (r"\{name} {{name}}", "{name} {Алиса}"),
    ('{"a": 1} {} {1} {a b} {name', '{"a": 1} {} {1} {a b} {name'), ("", ""),
])  # fmt: skip
def test_a_scenario_fills_braces(text: str, value: object) -> None:
    """A lone placeholder keeps the type, what is not there stays, other braces are text."""
    assert fill(text) == value


@pytest.mark.parametrize(("text", "value"), [
    ("Hi {{name}} {{NAME}}", "Hi Алиса Алиса"), ("{{n}}", 5), ("a{{nobody}}b", "ab"), ("{{nobody}}", ""), ("{name}", "{name}"),
    (r"\{{n}}", "{{n}}"),
])  # fmt: skip
def test_a_workflow_fills_double_braces(text: str, value: object) -> None:
    """What is not there leaves nothing; names go without regard to case."""
    assert fill(text, WORKFLOW) == value


@pytest.mark.parametrize(("text", "value"), [
    ("$steps.solve-it.output.draft", "d"), ("$steps.x.output", None), ("costs $n", "costs $n"), ("$n ", "$n "), ("$5", "$5"),
])  # fmt: skip
def test_a_flow_fills_references_that_are_the_whole_text(text: str, value: object) -> None:
    """A missing path is null; a dollar sign in a sentence is a dollar sign."""
    assert fill(text, FLOW) == value


@pytest.mark.req("G3", "S000-X4")
@pytest.mark.parametrize(("text", "syntax"), [("{typed}!", SCENARIO), ("{{typed}}!", WORKFLOW), ("$typed", FLOW), ("{typed}", SCENARIO)])
def test_what_a_person_typed_is_never_filled_again(text: str, syntax: Syntax) -> None:
    """Whoever types the name of a variable reads its name, not the variable."""
    assert "42" not in fill(text, syntax)
    assert "{secret} {{secret}} $secret" in fill(text, syntax)


def test_each_text_comes_from_where_its_values_come_from() -> None:
    """The gate learns it for each parameter by itself."""
    filled = Template({"to": "{name}", "text": "{name}: {results[0].text}", "plain": "x", "more": ["{n}"]}, SCENARIO).fill(NAMES)

    assert filled.data["to"] == Value("Алиса", frozenset({"person"}))
    assert filled.data["text"] == Value("Алиса: a", frozenset({"person", "document"}))
    assert (filled.data["plain"], filled.data["more"]) == ("x", [Value(5)])


def test_missing_placeholders_are_told_with_their_places() -> None:
    """For the warning of a workflow, and for who writes the definition."""
    template = Template({"a": ["{{n}} {{gone}}"]}, WORKFLOW)

    assert [(one.at, one.offset, one.path) for one in template.placeholders] == [(("a", 0), 0, ("n",)), (("a", 0), 6, ("gone",))]
    assert [one.name for one in template.fill(NAMES).missing] == ["gone"]


@pytest.mark.parametrize(
    ("tree", "code", "path"),
    [("x" * 1_000_001, "template-long", ""), (["x" * 600_000] * 2, "template-long", "[1]"), ("{n}" * 10_001, "template-many", "")],
    ids=["long", "long-together", "many"],
)
def test_a_template_beyond_its_limits_is_refused(tree: Any, code: str, path: str) -> None:
    """Before anything is filled, with the place."""
    with pytest.raises(TemplateRefused) as error:
        Template(tree, SCENARIO)

    assert (error.value.finding.code, error.value.finding.path) == (code, path)


def test_a_deep_template_is_refused() -> None:
    """However deep it is, without exhausting the stack."""
    tree: Any = "{n}"
    for _ in range(10_000):
        tree = [tree]
    with pytest.raises(TemplateRefused):
        Template(tree, SCENARIO)


def test_values_that_make_a_text_too_long_are_refused_while_it_grows() -> None:
    """Ten thousand times a long text is not put together first."""
    names = {"long": Value("x" * 900_000)}
    with pytest.raises(TemplateRefused):
        Template("{long} " * 10_000, SCENARIO).fill(names)
    with pytest.raises(TemplateRefused):
        fill_text("a {odd}", {"odd": Value([float("nan")])}, SCENARIO)


@pytest.mark.parametrize("step", ["wide", "deep"])
def test_a_value_that_grows_with_each_filling_is_refused_before_it_is_too_large_to_store(step: str) -> None:
    """A scenario whose update puts a variable twice into itself would else write more than any disk holds."""
    template = Template(["{n}"] * (2 if step == "wide" else 1), SCENARIO)

    def grow(data: Any, times: int) -> Any:
        for _ in range(times):
            data = [one.data for one in template.fill({"n": Value(data)}).data]
        return data

    assert grow("x" * 20_000, 3)
    with pytest.raises(TemplateRefused):
        grow("x" * 20_000, 200)


def test_a_text_full_of_escapes_is_read_in_time_that_grows_with_its_length() -> None:
    """A million characters are read at once, not copied again for each escape."""
    assert fill(r"\{" * 500_000) == "{" * 500_000


@given(st.text(alphabet="{}[]$\\'\". ab1\n", max_size=60), st.sampled_from([SCENARIO, WORKFLOW, FLOW]))
def test_any_text_is_a_template(text: str, syntax: Syntax) -> None:
    """What holds no placeholder comes back as it is, but for what was escaped."""
    template = Template(text, syntax)
    filled = template.fill({}).data
    if not template.placeholders:
        assert filled == (text if syntax is FLOW else syntax.pattern.sub(lambda found: found["literal"], text))


@pytest.mark.req("S000-19")
def test_a_key_that_looks_like_a_number_is_taken_as_it_is_written() -> None:
    """Telephone 007 is not telephone 7."""
    names = {"phones": Value({"007": "bond", "7": "seven", "٣": "three"}), "rows": Value(["a", "b"])}

    assert fill_text("{phones.007} {phones[007]} {phones.7} {phones[7]} {phones.٣}", names, SCENARIO).data == "bond bond seven seven three"
    assert fill_text("{rows.0} {rows[1]} {rows[-1]} {rows[01]}", names, SCENARIO).data == "a b b {rows[01]}"


def test_a_variable_with_exactly_this_name_comes_before_one_in_other_letters() -> None:
    """Names of workflows have no case, but which of two is meant is not left to their order."""
    names = {"Total": Value(1), "total": Value(2), "TOTAL": Value(3)}

    assert fill_text("{{Total}} {{total}} {{TOTAL}}", names, WORKFLOW).data == "1 2 3"


def test_a_number_of_thousands_of_digits_is_refused_as_text() -> None:
    """It is no JSON data, and no other error comes of it."""
    with pytest.raises(TemplateRefused):
        fill_text("a {odd}", {"odd": Value(10**5000)}, SCENARIO)

"""The examples of docs/expressions.md are true, and its tables name what there is."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.finding import DefinitionRefused, Finding
from orchestrator.domain.taint import Value
from orchestrator.expressions.conditions import ConditionFailed, compile_condition
from orchestrator.expressions.operations import FUNCTIONS, LONGEST, MAX_SEARCHED, METHODS
from orchestrator.expressions.placeholders import FLOW, SCENARIO, WORKFLOW, fill_text
from orchestrator.expressions.syntax import MAX_BRACKETS, MAX_CHARACTERS, MAX_NODES

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "expressions.md").read_text(encoding="utf-8")
NAMES: dict[str, Any] = {
    "age": 20, "typed": "25", "plan": "pro", "deal": {"title": "Ромашка", "sum": 150000, "tags": ["vip"]}, "nothing": None,
}  # fmt: skip
CONDITIONS = re.findall(r"^\| `([^|]+)` \| (true|false|\"[^|]*\"|error [^|]*) \|$", PAGE, re.MULTILINE)
PLACEHOLDERS = re.findall(r"^\| (scenarios|workflows|flows) \| `([^|]+)` \| (\S[^|]*) \|$", PAGE, re.MULTILINE)
SYNTAXES = {"scenarios": SCENARIO, "workflows": WORKFLOW, "flows": FLOW}


def describe(finding: Finding) -> str:
    return f"error `{finding.code}`, column {finding.column}"


@pytest.mark.req("S000-A4", "S000-A5", "S000-A7", "S000-21")
@pytest.mark.parametrize(("source", "wanted"), CONDITIONS)
def test_an_example_of_a_condition_has_the_value_that_the_page_says(source: str, wanted: str) -> None:
    """Each row of the examples, also those that fail."""
    try:
        found = json.dumps(compile_condition(source).evaluate(NAMES), ensure_ascii=False)
    except DefinitionRefused as error:
        found = describe(error.findings[0])
    except ConditionFailed as error:
        found = describe(error.finding)

    assert found == wanted


@pytest.mark.req("S000-X1", "S000-X2", "S000-X3")
@pytest.mark.parametrize(("kind", "text", "wanted"), PLACEHOLDERS)
def test_an_example_of_a_placeholder_becomes_what_the_page_says(kind: str, text: str, wanted: str) -> None:
    """Each row of the examples, in the syntax of its kind."""
    filled = fill_text(text, {name: Value(data) for name, data in NAMES.items()}, SYNTAXES[kind])

    assert json.dumps(filled.data, ensure_ascii=False) == wanted


def test_the_page_names_every_function_method_and_limit() -> None:
    """What is added to the code is added to the page."""
    functions, texts, objects = (
        re.findall(r"`(\w+)`", PAGE.split(f"| {row} |")[1].split(" | ")[0])
        for row in ("functions", "methods of texts", "methods of objects")
    )
    limits = {int(found.replace(",", "")) for found in re.findall(r"\| (\d[\d,]*)", PAGE.split("### Limits")[1].split("## ")[0])}

    assert set(functions) == set(FUNCTIONS)
    assert {*texts, *objects} == set(METHODS)
    assert limits >= {MAX_CHARACTERS, MAX_NODES, MAX_BRACKETS, LONGEST, MAX_SEARCHED}
    assert (len(CONDITIONS), len(PLACEHOLDERS)) == (25, 8)

"""Collecting findings: places come from the document, errors come before warnings when there are too many."""

import pytest

from orchestrator.documents.document import Document
from orchestrator.documents.findings import Findings
from orchestrator.documents.reading import read_document
from orchestrator.domain.suggestions import suggest_name

TEXT = """steps:
  - id: ask
    next_step: edn
  - {id: end, branches: {if: nowhere}}
"""


def test_a_finding_takes_line_column_and_step_from_the_document() -> None:
    findings = Findings(read_document(TEXT).document)
    findings.add("finding-unknown-step", "no step nowhere", ("steps", 1, "branches", "if"), of_value=True)
    findings.add("finding-unknown-step", "no step edn", ("steps", 0, "next_step"), suggestion=suggest_name("edn", ["ask", "end"]))
    findings.add("finding-key-missing", "no name", ("steps", 0, "name"))
    assert [(one.line, one.column, one.step, one.path, one.suggestion) for one in findings.list_all()] == [
        (2, 5, "ask", "steps[0].name", ""),
        (3, 5, "ask", "steps[0].next_step", "end"),
        (4, 30, "end", "steps[1].branches.if", ""),
    ]
    assert findings.has_errors


def test_a_document_without_a_text_has_steps_and_no_lines() -> None:
    findings = Findings(Document.from_data({"steps": [{"id": "a", "x": 1}]}))
    findings.add("finding-unknown-step", "x", ("steps", 0, "x"))
    findings.add("finding-unknown-step", "x", ("steps", 9, "x"), step="given")
    assert [(one.line, one.step) for one in findings.list_all()] == [(0, "a"), (0, "given")]


def test_errors_push_out_warnings_and_the_last_says_that_more_follow() -> None:
    findings = Findings(most=3)
    for number in range(5):
        findings.add("finding-yaml-word", f"warning {number}", severity="warning")
    findings.add("finding-duplicate-key", "an error")
    found = findings.list_all()
    assert sorted(one.severity for one in found) == ["error", "info", "warning", "warning"]
    assert found[-1].code == "finding-more"
    assert not findings.is_full


def test_without_a_finding_too_many_nothing_is_said_of_more() -> None:
    findings = Findings(most=1)
    findings.add("finding-duplicate-key", "an error")
    assert [one.code for one in findings.list_all()] == ["finding-duplicate-key"]
    assert findings.is_full


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("refine_soluton", "refine_solution"),
        ("RefineSolution", "refine_solution"),
        ("next-step", "next_step"),
        ("зaявка", "заявка"),
        ("quite other", ""),
        ("", ""),
        ("x" * 1000, ""),
    ],
)
def test_a_misspelt_name_suggests_the_one_that_was_meant(wrong: str, meant: str) -> None:
    assert suggest_name(wrong, ["next_step", "refine_solution", "заявка", ""]) == meant


def test_a_hundred_thousand_known_names_are_not_all_compared() -> None:
    assert suggest_name("name-000001x", (f"name-{number:06}" for number in range(100_000))).startswith("name-")


def test_the_name_that_was_meant_is_found_among_many() -> None:
    """Only those that look like it are compared in full, and it is one of them."""
    known = [*(f"variable_of_the_run_{number}" for number in range(999)), "refine_solution"]
    assert suggest_name("refine_soluton", known) == "refine_solution"
    assert suggest_name("Variable-of-the-run-998", known) == "variable_of_the_run_998"

"""The matrix of bad documents: each field of a workflow absent, null, of a wrong type, or too large; and documents of any shape."""

import json
import random
from typing import Any

import pytest

from engines.workflows.core.checks import check_tuum, check_workflow
from engines.workflows.core.kind import build_kinds
from engines.workflows.kind_face import build_chart
from orchestrator.definitions.kinds import find_mistakes
from orchestrator.documents.document import Document
from orchestrator.documents.reading import read_document
from orchestrator.domain.finding import Finding
from tests.unit.engines.flows.bad_documents import Field, check_huge, check_wrong_values, drop, put
from tests.unit.engines.workflows.bad_documents import FIELDS, FULL
from tests.unit.engines.workflows.workflow_kit import TYPES

WORKFLOWS, TUUMS = build_kinds(TYPES)
_FOLLOWS = frozenset({
    "finding-workflow-no-source", "finding-tuum-variable-unmapped", "finding-tuum-output-missing", "finding-tuum-prompt-missing",
    "finding-workflow-types", "finding-tuum-variable-late",
})  # fmt: skip
"""What a wrong or missing field leads to elsewhere: what it would have given is not there."""


def find(document: object) -> list[Finding]:
    """The errors in a document, read from its text as every door reads it."""
    found = find_mistakes(WORKFLOWS, read_document(json.dumps(document, ensure_ascii=False), "json"))
    return [one for one in found if one.severity == "error"]


def name(field: Field) -> str:
    return field.place


@pytest.mark.req("S003-60", "S003-73", "S003-75", "S003-76", "S003-77", "S003-78", "S003-79", "S003-80")
def test_the_full_workflow_is_right() -> None:
    """So that each case below has one mistake; nor is anything in it doubtful."""
    assert list(check_workflow(Document.from_data(FULL), TYPES)) == []


@pytest.mark.long
@pytest.mark.parametrize("field", FIELDS, ids=name)
def test_what_may_not_stand_in_a_field_is_an_error_at_that_field(field: Field) -> None:
    """Its path is exact, its line and column are those of the text; elsewhere there is only what follows of it."""
    check_wrong_values(field, find, _FOLLOWS, FULL)


@pytest.mark.parametrize("field", FIELDS, ids=name)
def test_only_what_is_needed_is_missed(field: Field) -> None:
    """A required field is named where it should stand, every other may be left out or, where that is said, be null."""
    errors = find(drop(field.path, FULL))
    if field.required:
        assert ("finding-field-missing", field.place) in [(one.code, one.path) for one in errors]
    else:
        assert "finding-field-missing" not in {one.code for one in errors} or field.place.endswith((".tuum", "[0]", "[1]")), errors
    if field.nullable:
        assert {one.code for one in find(put(field.path, None, FULL))} <= _FOLLOWS


def spoil(tree: Any, chance: random.Random) -> Any:
    """A copy in which some parts are junk, gone, or stand where others should."""
    roll = chance.random()
    if roll < 0.03:
        return chance.choice([None, 5, -1, 1.5, True, "", "x", "{{x}}", "a b", [], {}, [[]], {"": 1}, [None], {"tuum": 5}, "т" * 300])
    if isinstance(tree, dict):
        return {name: spoil(one, chance) for name, one in tree.items() if chance.random() > 0.03}
    if isinstance(tree, list):
        found = [spoil(one, chance) for one in tree]
        return found * 2 if roll < 0.06 else found
    return tree


@pytest.mark.long
def test_documents_of_any_shape_are_checked_and_drawn() -> None:
    """2,000 spoilt ones, as workflows and as tuums: none raises, and what is accepted can be told what it writes."""
    chance = random.Random(20)  # noqa: S311 - a fixed seed repeats a case
    accepted = 0
    for _ in range(2000):
        document = Document.from_data(spoil(FULL, chance))
        found = list(check_workflow(document, TYPES))
        build_chart(document.data, TYPES)
        list(WORKFLOWS.list_references(document.data))
        if not any(one.severity == "error" for one in found):
            accepted += 1
            WORKFLOWS.list_writes(document.data)
            list(WORKFLOWS.list_methods(document.data))
        list(check_tuum(Document.from_data(spoil(FULL["tuums"][0], chance)), TYPES))
    assert accepted > 20


HUGE: dict[str, tuple[Any, str]] = {
    "40,000 tuums that are none": ({**FULL, "tuums": [1] * 40_000}, "tuums"),
    "20,000 tuums without fields": ({**FULL, "tuums": [{}] * 20_000}, "tuums"),
    "8,000 tuums": ({**FULL, "tuums": [{"tuumId": f"s{n}", "outputMappings": {f"v{n}": "x"}} for n in range(8_000)]}, "tuums"),
    "200 runes that need what is nearly there": (
        {**FULL, "tuums": [{"tuumId": "a", "runes": [
            {"runeType": "script", "source": "1", "consumes": [f"v{n}"], "produces": [f"w{n}"]} for n in range(200)]} for _ in range(20)]},
        "tuums"),
    "20,000 fields that are unknown and look misspelt": ({**FULL, "tuums": {}, **{f"tuums{n}": 1 for n in range(20_000)}}, "tuums"),
    "a circle of everyone with everyone": (
        {**FULL, "tuums": [{"tuumId": f"t{n}", "runes": [{"runeType": "script", "source": "1", "consumes": [f"v{one}" for one in range(100)],
         "produces": ["x"]}], "outputMappings": {f"v{n}": "x"}} for n in range(100)]},
        "tuums"),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("case", HUGE)
def test_what_is_huge_is_refused_in_bounded_time(case: str) -> None:
    """With at most 200 findings and one more, the first of them at its place."""
    check_huge(*HUGE[case], find)

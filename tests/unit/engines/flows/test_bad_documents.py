"""The matrix of bad documents: each field of the schema absent, null, of a wrong type, with a wrong reference, or too large."""

import json
from typing import Any

import pytest

from engines.flows.core.kind import FLOWS
from orchestrator.definitions.kinds import find_mistakes
from orchestrator.documents.reading import read_document
from orchestrator.domain.finding import Finding
from tests.unit.engines.flows.bad_documents import FIELDS, FULL, WRONG_REFERENCES, Field, check_huge, check_wrong_values, drop, put

_FOLLOWS = frozenset(
    {"finding-flow-step-unknown", "finding-flow-reference-unknown", "finding-flow-default-no-choice", "finding-flow-choice-unfit"}
)
"""What a wrong name or type leads to elsewhere."""


def find(document: object) -> list[Finding]:
    """The errors in a document, read from its text as every door reads it."""
    found = find_mistakes(FLOWS, read_document(json.dumps(document, ensure_ascii=False), "json"))
    return [one for one in found if one.severity == "error"]


def name(field: Field) -> str:
    return field.place


@pytest.mark.req("S002-4", "S002-51", "S002-A4", "S002-X1")
def test_the_full_flow_is_right() -> None:
    """So that each case below has one mistake. Two of its steps share an agent, and two ways lead to one step."""
    assert find(FULL) == []


@pytest.mark.req("S002-10")
def test_ids_may_be_uuids() -> None:
    """Of the flow, of steps, and where these are named."""
    own, step = "0f9d2a34-1111-2222-3333-444444444444", "aaaaaaaa-1111-2222-3333-444444444444"
    text = json.dumps(FULL).replace("solution-workshop", own).replace("review", step)
    assert (find(json.loads(text)), text.count(step)) == ([], 5)


@pytest.mark.req("S002-51", "S002-A11")
@pytest.mark.parametrize("field", FIELDS, ids=name)
def test_what_may_not_stand_in_a_field_is_an_error_at_that_field(field: Field) -> None:
    """Its path is exact, its line and column are those of the text; elsewhere there is only what follows of it."""
    check_wrong_values(field, find, _FOLLOWS)


@pytest.mark.req("S002-51")
@pytest.mark.parametrize("field", FIELDS, ids=name)
def test_only_what_is_needed_is_missed(field: Field) -> None:
    """A required field is named where it should stand, every other may be left out or, where that is said, be null."""
    errors = find(drop(field.path))
    if field.required:
        assert ("finding-field-missing", field.place) in [(one.code, one.path) for one in errors]
    else:
        assert {one.code for one in errors} <= _FOLLOWS
    if field.nullable:
        assert find(put(field.path, None)) == []


@pytest.mark.req("S002-48", "S002-58", "S002-A6")
@pytest.mark.parametrize(("place", "value"), WRONG_REFERENCES)
def test_a_wrong_reference_is_an_error_at_its_place(place: str, value: str) -> None:
    field = Field(place, "word")
    assert [one.path for one in find(put(field.path, value))] == [place]


def _nest(depth: int) -> Any:
    found: Any = 1
    for _ in range(depth):
        found = [found]
    return found


HUGE: dict[str, tuple[Any, str]] = {
    "100,000 steps that are none": ({**FULL, "steps": [1] * 100_000}, "steps"),
    "40,000 steps without fields": ({**FULL, "steps": [{}] * 40_000}, "steps"),
    "20,000 steps": ({**FULL, "steps": [{"id": f"s{n}", "agentVersionId": "a"} for n in range(20_000)]}, "steps"),
    "a text of 900,000 characters": ({**FULL, "flowId": "a" * 900_000}, "flowId"),
    "20,000 fields that are unknown and look misspelt": ({**FULL, "steps": {}, **{f"step{n}": 1 for n in range(20_000)}}, "steps"),
    "a deep context": ({**FULL, "defaults": {"context": {"a": _nest(150)}}}, ""),
    "many outputs of no step": ({**FULL, "outputs": {"resultPayload": {f"a{n}": "$steps.x.output" for n in range(20_000)}}}, "outputs"),
}


@pytest.mark.long
@pytest.mark.parametrize("case", HUGE)
def test_what_is_huge_is_refused_in_bounded_time(case: str) -> None:
    """With at most 200 findings and one more, the first of them at its place."""
    check_huge(*HUGE[case], find)


RAW = {
    "a doubled key": (b'{"flowId": "a", "steps": [{"id": "a", "id": "b"}]}', "steps[0].id"),
    "a NUL in a text": (b'{"flowId": "a\\u0000b"}', "flowId"),
    "a NUL in a key": (b'{"flowId": "a", "metadata": {"ti\\u0000tle": "x"}}', "metadata"),
    "a raw NUL": (b'{"flowId": "a\x00"}', ""),
    "half of a pair": (b'{"flowId": "\\ud800"}', "flowId"),
    "no number": (b'{"flowId": "a", "version": NaN}', "version"),
    "an endless number": (b'{"flowId": "a", "version": 1e999}', "version"),
    "a long number": (b'{"flowId": "a", "version": ' + b"9" * 5000 + b"}", "version"),
    "no UTF-8": (b'{"flowId": "\xff\xfe"}', ""),
    "cut off": (b'{"flowId": "a", "steps": [{"id": "a"', ""),
    "nothing": (b"", ""),
    "deep": (b'{"flowId": ' + b"[" * 100_000, ""),
}


@pytest.mark.parametrize("case", RAW)
def test_what_is_no_good_json_is_an_error_at_its_place(case: str) -> None:
    """Whatever the bytes are, there is a finding, and no exception."""
    text, place = RAW[case]
    found = find_mistakes(FLOWS, read_document(text, "json"))
    assert any(one.severity == "error" and one.path.startswith(place) for one in found), found

"""What definitions of the example engines may not be, told at once with lines; what they write."""

from collections.abc import Sequence

import pytest
import yaml

from examples.engines.definitions import _DEFINITIONS
from examples.engines.kinds import FAN, STEPS
from orchestrator.definitions.kinds import DefinitionKind, find_mistakes, find_writes
from orchestrator.documents.reading import read_document

KINDS = {"steps": STEPS, "fan": FAN}
WRONG = """steps:
  - name: ask
    ask: Which plan?
    takes: [text, fax]
    optoins: [a]
  - name: ask
    ask: Again?
    options: [{label: yes}]
  - say: Hello
    write: crm.deal.update
    params: []
  - sleep: soon
  - just text
  - {name: "", turn: ""}
"""


def test_every_mistake_is_told_at_once_with_its_place() -> None:
    found = find_mistakes(STEPS, read_document(WRONG))
    assert [(one.line, one.code, one.path, one.suggestion) for one in found if one.severity == "error"] == [
        (4, "finding-value-unknown", "steps[0].takes[1]", ""),
        (5, "finding-field-unknown", "steps[0].optoins", "options"),
        (6, "finding-name-twice", "steps[1].name", ""),
        (8, "finding-field-missing", "steps[1].options[0].value", ""),
        (9, "finding-one-of", "steps[2]", ""),
        (9, "finding-field-missing", "steps[2].name", ""),
        (11, "finding-field-shape", "steps[2].params", ""),
        (12, "finding-field-missing", "steps[3].name", ""),
        (12, "finding-field-shape", "steps[3].sleep", ""),
        (13, "finding-field-shape", "steps[4]", ""),
        (14, "finding-field-empty", "steps[5].name", ""),
        (14, "finding-field-empty", "steps[5].turn", ""),
    ]


@pytest.mark.parametrize("text", ["[]", "null", "5", '"x"', "{}", '{"steps": []}', '{"steps": {"a": 1}}', '{"steps": [[]], "x": 1}'])
@pytest.mark.parametrize("kind", [STEPS, FAN], ids=["steps", "fan"])
def test_any_data_has_a_finding_and_no_exception(text: str, kind: DefinitionKind) -> None:
    found = find_mistakes(kind, read_document(text))
    assert found
    assert "finding-check-failed" not in {one.code for one in found}


def test_mistakes_of_the_text_and_of_the_definition_come_together() -> None:
    found = find_mistakes(FAN, read_document('{"things": [01], "promt": "x"}'))
    assert [one.code for one in found] == [
        "finding-field-missing", "finding-field-shape", "finding-number-form", "finding-field-unknown",
    ]  # fmt: skip


def test_the_shipped_definitions_of_the_examples_have_no_mistake() -> None:
    rows = yaml.safe_load(_DEFINITIONS.read_text(encoding="utf-8"))["definitions"]
    for row in rows:
        assert find_mistakes(KINDS[row["engine"]], read_document(yaml.safe_dump(row["document"], allow_unicode=True))) == ()


@pytest.mark.parametrize(("kind", "document", "writes"), [
    (STEPS, {"steps": [{"say": "x"}, {"write": "crm.deal.update"}, {"child": "other"}]}, [("bitrix", "crm.deal.update")]),
    (STEPS, {"steps": [{"turn": "x"}]}, None), (STEPS, {"steps": [{"say": "x"}]}, []), (STEPS, {"no": "steps"}, None), (FAN, {}, ()),
])  # fmt: skip
def test_what_a_definition_writes_is_told_or_nothing_is(kind: DefinitionKind, document: object, writes: Sequence[object] | None) -> None:
    """A turn of the CRM agent may propose anything."""
    assert find_writes(kind, document) == writes


def test_a_kind_whose_check_fails_takes_no_document(caplog: pytest.LogCaptureFixture) -> None:
    """A mistake in the check itself must not let a definition through."""

    def fail(_: object) -> Sequence[object]:
        raise KeyError("steps")

    kind = DefinitionKind(name="odd", check=fail)  # type: ignore[arg-type]
    assert [one.code for one in find_mistakes(kind, read_document("a: 1"))] == ["finding-check-failed"]
    assert [one.code for one in find_mistakes(kind, read_document("a: [1"))] == ["finding-yaml-flow"]
    assert "could not be checked" in caplog.text

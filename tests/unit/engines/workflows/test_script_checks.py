"""The scripts of workflows are checked before they run, without running them."""

from typing import Any

import pytest

from engines.workflows.core import kind
from engines.workflows.core.kind import build_kinds, check_scripts
from orchestrator.definitions.checking import Submission, check_document
from orchestrator.documents.document import Document
from orchestrator.documents.reading import read_document
from orchestrator.expressions.scripts.checking import ScriptChecker
from orchestrator.expressions.scripts.failures import ScriptFailed, build_finding
from tests.unit.engines.workflows.workflow_kit import TYPES, script, tuum, workflow

TEXT = """\
workflowId: dossier
metadata: {title: A}
tuums:
  - tuumId: a
    runes:
      - {runeType: script, source: "{'x': dels}", consumes: [deals], produces: [x]}
    mainScript:
      consumes: [x]
      produces: [y]
      source: |
        entity = await get_entity("deal", x)
        await emmit({})
        {"y": entity}
    outputMappings: {y: y}
triggerParameters: [{name: deals, type: array}]
"""


def test_a_name_that_a_script_is_not_given_is_found_at_its_place() -> None:
    """In its line of the document, with what was probably meant, when the document is handed in."""
    kind, _ = build_kinds(TYPES)
    checked = check_document(kind, Submission(read=lambda: read_document(TEXT, "yaml")), lambda *_: frozenset("R"), lambda *_: False)
    assert [(one.code, one.path, one.line, one.column, one.suggestion) for one in checked.findings] == [
        ("finding-script-name", "tuums[0].runes[0].source", 6, 43, "deals"),
        ("finding-script-name", "tuums[0].mainScript.source", 12, 15, "emit"),
    ]
    assert checked.document is None


@pytest.mark.parametrize(("fields", "names"), [
    ({"mainScript": {"source": "await show('x')\nawait query('crm.deal.list')\nawait emit({})\nawait stop('x')"}}, []),
    ({"chunkCallback": {"source": "await show(text)", "consumes": ["text"]}}, []),
    ({"chunkCallback": {"source": "await emit({})\nawait query('x')"}}, ["emit", "query"]),
    ({"promptRunes": [script("x", source="{'y': x + z}")]}, ["z"]),
    ({"mainScript": {"source": "def f(:"}}, None),
])  # fmt: skip
def test_a_script_may_call_what_it_is_given(fields: dict[str, Any], names: list[str] | None) -> None:
    """A callback may only show something. What cannot be read is a mistake, too."""
    found = [one for one in check_scripts(Document.from_data(tuum("a", **fields))) if one.severity == "error"]
    assert [one.args.get("name") for one in found] == names or (names is None and {one.code for one in found} == {"finding-script-syntax"})


def test_equal_scripts_are_checked_once_and_only_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a document could keep the program busy for minutes."""
    asked: list[str] = []

    def check(_self: ScriptChecker, source: str, *_more: object) -> tuple[()]:
        asked.append(source)
        return ()

    monkeypatch.setattr(ScriptChecker, "check", check)
    monkeypatch.setattr(kind, "MOST_SCRIPTS", 3)
    runes = [script(source="1"), script(source="1"), *(script(source=str(number)) for number in range(2, 9))]
    (found,) = check_scripts(Document.from_data(workflow(tuum("a", *runes))))
    assert (asked, found.code, found.path) == (["1", "2", "3"], "finding-workflow-scripts-many", "tuums[0].runes[4].source")


def test_without_a_process_the_check_says_so_and_the_document_may_be_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a run can tell then."""

    def check(*_args: object) -> None:
        raise ScriptFailed(build_finding("finding-script-crashed", problem="no memory"))

    monkeypatch.setattr(ScriptChecker, "check", check)
    (found,) = check_scripts(Document.from_data(tuum("a", script(), script(source="2"))))
    assert (found.code, found.severity) == ("finding-workflow-scripts-unchecked", "warning")


@pytest.mark.parametrize("document", [None, 5, {"tuums": [5, {"tuum": "x", "mainScript": {"source": "x"}}]}, {"mainScript": {"source": 5}}])
def test_what_has_no_scripts_starts_no_process(document: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it is."""
    monkeypatch.setattr("orchestrator.expressions.scripts.checking.Monty", None)
    assert check_scripts(Document.from_data(document)) == ()

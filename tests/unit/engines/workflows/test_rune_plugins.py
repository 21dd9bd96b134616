"""A package adds types of runes by an entry point, and the engine, its checks and its schema know them like their own."""

import logging
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from engines.workflows.core.checks import check_workflow
from engines.workflows.core.engine import WorkflowEngine
from engines.workflows.core.registry import build_rune_types, load_plugins
from engines.workflows.kind_face import build_workflow_schema
from orchestrator.documents.document import Document
from orchestrator.expressions.scripts.runner import ScriptRunner
from tests.unit.engines.workflows.stage_kit import QuietOutside, Stage
from tests.unit.engines.workflows.workflow_kit import parameter, put, tuum, workflow

EXAMPLE = Path(__file__).parents[4] / "examples" / "workflow_runes"
FIND = {"runeType": "tax_numbers", "input": "letter", "output": "numbers"}


def install(monkeypatch: pytest.MonkeyPatch, folder: Path, points: str) -> None:
    """Put a package with these entry points on the path, as pip does."""
    info = folder / "sdelka_example-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sdelka-example\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[sdelka.workflow_runes]\n{points}\n")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.syspath_prepend(str(EXAMPLE))
    monkeypatch.delitem(sys.modules, "tax_numbers", raising=False)


@pytest.mark.req("S003-5", "S003-6", "S003-7")
async def test_a_type_of_a_package_plays_and_is_checked_like_the_program_s_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example of the documentation: its variables put tuums in order, its parameters are validated, and editors know it."""
    install(monkeypatch, tmp_path, "tax_numbers = tax_numbers:TAX_NUMBERS")
    types = build_rune_types(load_plugins())
    find = tuum("find", FIND, outputMappings={"numbers": "numbers"})
    write = tuum("write", put("letter", "ИНН {{client}}"), outputMappings={"letter": "letter"})
    document = workflow(find, write, triggerParameters=[parameter("client")])
    assert list(check_workflow(Document.from_data(document), types)) == []
    found = check_workflow(Document.from_data(workflow(tuum("find", {**FIND, "most": 0}), write)), types)
    (wrong,) = (one for one in found if one.severity == "error")
    assert (wrong.code, wrong.path) == ("finding-value-least", "tuums[0].runes[0].most")
    assert "tax_numbers" in build_workflow_schema(types)["$defs"]
    async with ScriptRunner() as scripts:
        played = await Stage(WorkflowEngine(types, scripts)).play(document, QuietOutside(), client="7707083893, 7707083894, 500100732259")
    assert played.value.data["globals"]["numbers"] == ["7707083893", "500100732259"]


@pytest.mark.parametrize(("digits", "is_right"), [
    ("7707083893", True), ("7707083894", False), ("500100732259", True), ("500100732258", False), ("500100732269", False),
])  # fmt: skip
def test_the_check_digits_of_the_example(monkeypatch: pytest.MonkeyPatch, digits: str, *, is_right: bool) -> None:
    """Of a company the tenth digit, of a person the last two."""
    monkeypatch.syspath_prepend(str(EXAMPLE))
    import tax_numbers  # noqa: PLC0415 - a package of its own, which is not installed here

    assert tax_numbers.is_tax_number(digits) is is_right


@pytest.mark.parametrize("points", ["mine = tax_numbers:PROMPT", "one = tax_numbers:TAX_NUMBERS\ntwo = tax_numbers:SAME_NAME"])
def test_a_name_that_is_taken_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, points: str
) -> None:
    """Neither a rune of the program nor one of another package is replaced in silence: the types are left out, and the log says which."""
    install(monkeypatch, tmp_path, points)
    import tax_numbers  # noqa: PLC0415 - a package of its own, which is not installed here

    monkeypatch.setattr(tax_numbers, "PROMPT", replace(tax_numbers.TAX_NUMBERS, name="prompt"), raising=False)
    monkeypatch.setattr(tax_numbers, "SAME_NAME", replace(tax_numbers.TAX_NUMBERS, summary="Another."), raising=False)
    with caplog.at_level(logging.ERROR):
        assert load_plugins() == []
    told = [record.getMessage() for record in caplog.records]  # its arguments are gone where another test installed the masking of secrets
    taken = {"mine": "prompt"} if "PROMPT" in points else {"one": "tax_numbers", "two": "tax_numbers"}
    assert len(told) == len(taken)
    for line, (point, name) in zip(told, taken.items(), strict=True):
        assert f"plugin {point} " in line
        assert f"called {name}," in line

"""The page about workflows: its examples are right as they stand there, and it names what there is."""

import re
from pathlib import Path

import pytest

from engines.workflows.core.checks import check_tuum, check_workflow
from engines.workflows.core.mistakes import MISTAKES, SEVERITIES
from engines.workflows.terminal import app as workflow_app
from orchestrator.documents.reading import read_document
from tests.unit.engines.scenarios.terminal import scenario_files
from tests.unit.engines.workflows.workflow_kit import TYPES

PAGE = (Path(__file__).parents[4] / "engines" / "workflows" / "README.md").read_text(encoding="utf-8")


def read_block(name: str) -> str:
    """The example that begins with this name."""
    (source,) = re.findall(rf"```yaml\n(# {name}\.yaml.*?)```", PAGE, re.DOTALL)
    return str(source)


def test_the_examples_of_the_page_have_no_mistakes() -> None:
    """Whoever copies them begins without a finding, also with both together."""
    tuum, workflow = (read_document(read_block(name), "yaml").require_document() for name in ("tuums/deals", "review"))
    assert list(check_tuum(tuum, TYPES)) == []
    assert list(check_workflow(workflow, TYPES)) == []
    assert list(check_workflow(workflow, TYPES, {"deals": tuum.data})) == []


@pytest.mark.req("S003-31")
def test_the_order_on_the_page_is_what_the_command_prints(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """But for the spaces and lines of its table."""
    monkeypatch.setenv("STATE_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tuums").mkdir()
    for name in ("tuums/deals", "review"):
        (tmp_path / f"{name}.yaml").write_text(read_block(name), encoding="utf-8")
    (shown,) = re.findall(r"```sh\n\$ sdelka workflow compile review\.yaml --language en\n(.*?)```", PAGE, re.DOTALL)
    code, told = scenario_files.call("compile", "review.yaml", "--language", "en", app=workflow_app.app)
    cells = [[cell.strip() for cell in re.split("[│┃]", line)] for line in told.splitlines() if "━" not in line]
    assert (code, cells) == (0, [[cell.strip() for cell in line.split("│")] for line in shown.splitlines()])


def test_the_page_names_every_type_grade_and_rule() -> None:
    """And none that there is not."""
    (table,) = re.findall(r"(\| `runeType` \| does.*?)\n\n", PAGE, re.DOTALL)
    named = [name for line in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", line.split("|")[1])]
    assert sorted(named) == sorted(TYPES)
    prepares = {name for line in table.splitlines()[2:] if "yes" in line for name in re.findall(r"`(\w+)`", line.split("|")[1])}
    assert prepares == {name for name, kind in TYPES.items() if kind.prepares}
    rows = {line.split("|")[1].strip() for line in PAGE.splitlines() if line.startswith("| ")}
    assert {*SEVERITIES, *(one.rule for one in MISTAKES.values())} <= rows

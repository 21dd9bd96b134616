"""Packages that were written before engines had folders of their own still find what they import."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from engines.scenarios.core import step_types
from engines.scenarios.core.registry import build_step_types
from engines.scenarios.core.registry import load_plugins as load_step_plugins
from engines.workflows.core import rune_types
from engines.workflows.core.registry import build_rune_types
from engines.workflows.core.registry import load_plugins as load_rune_plugins
from orchestrator.engines.crm_agent.blocks import parse

ROOT = Path(__file__).resolve().parents[3]
OLD = {
    "engines.scenarios.core.step_types": "orchestrator.engines.scenarios.step_types",
    "engines.workflows.core.rune_types": "orchestrator.engines.workflows.rune_types",
}


def install(monkeypatch: pytest.MonkeyPatch, folder: Path, example: str, module: str, group: str, point: str) -> None:
    """The example of the documentation as a package that imports by the old name."""
    source = (ROOT / "examples" / example / f"{module}.py").read_text(encoding="utf-8")
    for new, old in OLD.items():
        source = source.replace(f"from {new} import", f"from {old} import")
    assert "from orchestrator.engines." in source
    info = folder / f"old_{module}-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / f"old_{module}.py").write_text(source, encoding="utf-8")
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: old-{module}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{point} = old_{module}:{point.upper()}\n")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, f"old_{module}", raising=False)


@pytest.mark.parametrize(("old", "module", "names"), [
    (
        "orchestrator.engines.scenarios.step_types",
        step_types,
        ("StepType", "StepParams", "StepCall", "StepResult", "AUTHOR", "list_named", "ReadFile", "Download", "Downloaded"),
    ),
    ("orchestrator.engines.workflows.rune_types", rune_types, ("RuneType", "RuneParams", "RuneCall", "Changes", "Local", "AUTHOR")),
])  # fmt: skip
def test_the_old_name_gives_the_same_things(old: str, module: object, names: tuple[str, ...]) -> None:
    again = importlib.import_module(old)
    assert all(getattr(again, name) is getattr(module, name) for name in names)
    with pytest.raises(AttributeError):
        again.nothing_of_the_kind  # noqa: B018 - asking is the test


def test_types_of_packages_that_import_the_old_names_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, tmp_path / "a", "scenario_steps", "working_days", "sdelka.scenario_steps", "working_day")
    install(monkeypatch, tmp_path / "b", "workflow_runes", "tax_numbers", "sdelka.workflow_runes", "tax_numbers")
    assert "working_day" in build_step_types(load_step_plugins())
    assert len(build_rune_types(load_rune_plugins())) == len(build_rune_types()) + 1


@pytest.mark.slow
@pytest.mark.parametrize("statement", [
    "from orchestrator.engines.scenarios.step_types import StepType", "from orchestrator.engines.workflows.rune_types import RuneType",
])  # fmt: skip
@pytest.mark.long
def test_the_old_name_is_enough_in_a_process_of_its_own(statement: str) -> None:
    """As in the tests of such a package, which start nothing of the program."""
    subprocess.run([sys.executable, "-c", statement], cwd=ROOT, check=True)


def test_the_parser_of_answers_stays_where_it_is() -> None:
    blocks = parse("THOUGHT: a\nACTION: []\nASSISTANT: b")
    assert (blocks.steps, blocks.assistant) == ((), "b")

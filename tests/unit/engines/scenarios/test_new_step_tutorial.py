"""The tutorial of the documentation is true: its change, made in a copy of the program, passes its own tests and is what the page says."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest

ROOT = Path(__file__).resolve().parents[4]
PAGE = (ROOT / "docs" / "new-step-tutorial.md").read_text(encoding="utf-8")
CHANGED = ("engines", "bot", "tests")
"""The folders that the page changes; of the others the copy has links."""
FOR_ALL_TYPES = (
    "tests/unit/bot/console/test_schema_form.py::test_every_field_has_a_name_in_russian",
    "tests/unit/bot/console/test_schema_form.py::test_each_type_of_steps_and_runes_has_its_own_fields",
    "tests/unit/engines/scenarios/terminal/test_scenario_authoring.py::test_the_table_of_the_page_agrees_with_the_models",
    "tests/unit/engines/scenarios/test_published_schema.py::test_the_example_of_each_type_is_taken_by_the_check_and_the_schema[move_deal]",
)
_FILE = re.compile(r"^`(\S+)`:\n\n```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def change_text(text: str, hunks: str) -> str:
    """Return the text with the hunks of a diff; the lines before each must stand in it exactly once."""
    for hunk in hunks.split("@@\n"):
        lines = hunk.splitlines(keepends=True)
        before, after = ("".join(line[1:] for line in lines if line[0] in marks) for marks in (" -", " +"))
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    return text


def change_program(folder: Path) -> Iterator[str]:
    """Make the change of the page in the copy, and yield the path of each file."""
    for name, language, text in _FILE.findall(PAGE):
        path = folder / name
        assert path.exists() is (language == "diff"), name
        path.write_text(change_text(path.read_text(encoding="utf-8"), text) if language == "diff" else text, encoding="utf-8")
        yield name


def run_copy(folder: Path, *words: str) -> str:
    """Return what a command says in the copy, which must succeed."""
    done = subprocess.run([sys.executable, "-m", *words], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the program with the change of the page."""
    folder = tmp_path_factory.mktemp("copy")
    for path in ROOT.iterdir():
        if path.name in CHANGED:
            copytree(path, folder / path.name, ignore=ignore_patterns("__pycache__", "corpus", "dialogues"))
        elif not path.name.startswith("."):
            (folder / path.name).symlink_to(path)
    assert len(list(change_program(folder))) == 5
    (folder / "move.yaml").write_text(re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[0], encoding="utf-8")
    return folder


@pytest.mark.long
def test_the_tests_of_the_page_pass_in_a_program_with_its_change(changed: Path) -> None:
    """Check, form, card and call; and those for every type of steps hold for the new one."""
    own = [name for name, language, _ in _FILE.findall(PAGE) if language == "python"]
    run_copy(changed, "pytest", "-n", "0", "-q", "-p", "no:cacheprovider", *own[1:], *FOR_ALL_TYPES)
    run_copy(changed, "ruff", "check", "--no-cache", *own)
    run_copy(changed, "ruff", "format", "--no-cache", "--check", *own)


@pytest.mark.long
def test_the_scenario_of_the_page_plays_and_its_step_is_documented(changed: Path) -> None:
    assert "No mistakes." in run_copy(changed, "bot", "scenario", "validate", "move.yaml")
    assert "crm.deal.update" in run_copy(changed, "bot", "scenario", "run", "move.yaml", "--input", "481")
    assert "Moves a deal to another stage." in run_copy(changed, "bot", "scenario", "steps", "move_deal")

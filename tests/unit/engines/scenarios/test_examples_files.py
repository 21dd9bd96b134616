"""The files of engines/scenarios/examples as a whole: without findings, published as they are, and named in their table."""

import re
from pathlib import Path

import pytest

from engines.scenarios.wiring import build_scenarios
from orchestrator.definitions.kinds import find_mistakes
from orchestrator.documents.reading import read_document
from tests.unit.engines.scenarios.example_kit import FOLDER, load_examples
from tests.unit.engines.scenarios.test_checks import TYPES

FILES = sorted(FOLDER.glob("*.yaml"))


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_an_example_has_no_finding(path: Path) -> None:
    """Neither an error nor a warning: what a reader copies is checked clean."""
    kind = build_scenarios().kind
    assert kind is not None
    found = find_mistakes(kind, read_document(path.read_text(encoding="utf-8")))
    assert [one for one in found if one.severity != "info"] == []


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_an_example_begins_with_a_comment_for_its_reader(path: Path) -> None:
    """What it does and what its person sees stand before the first step, and it has a name and a description for the list."""
    assert path.read_text(encoding="utf-8").startswith("# ")
    document = load_examples()[path.stem]
    assert document["name"]
    assert document["description"]


def test_every_scenario_that_an_example_starts_is_an_example_too() -> None:
    """By its key, which is the name of its file."""
    known = load_examples()
    started = {step["params"]["scenario_id"] for one in known.values() for step in one["steps"] if step["type"] == "schedule_scenario_run"}
    assert started <= set(known)
    assert started


def test_the_table_names_each_file_once() -> None:
    """And the types of steps that are known here are those that the examples use."""
    table = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| \[\w+\]\((\w+)\.yaml\)", table, re.MULTILINE)) == [path.stem for path in FILES]
    assert {step["type"] for one in load_examples().values() for step in one["steps"]} <= set(TYPES)

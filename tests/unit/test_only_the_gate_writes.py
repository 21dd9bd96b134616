"""What code asks of the portal by itself: reads, whoever asks. Only a decided call may change something (DESIGN, the sentence)."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from bitrix.catalogue.catalogue import Catalogue, load_catalogue
from bitrix.catalogue.names import is_method_name

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("orchestrator/directory", "orchestrator/performers", "orchestrator/portal_events", "bot")


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return load_catalogue(ROOT / "data" / "catalogue")


def _named(catalogue: Catalogue) -> Iterator[tuple[str, str]]:
    """Every text of our own code that is the name of a method of the portal; a `case` only compares, `examples` only describe."""
    for path in (file for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*.py"))):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        compared = {id(case.value) for case in ast.walk(tree) if isinstance(case, ast.MatchValue)}
        shown = (word.value for word in ast.walk(tree) if isinstance(word, ast.keyword) and word.arg == "examples")
        compared |= {id(part) for example in shown for part in ast.walk(example)}
        for node in ast.walk(tree):
            if (
                id(node) not in compared
                and isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and "." in node.value
                and is_method_name(node.value)
                and catalogue.find(node.value)
            ):
                yield f"{path.relative_to(ROOT)}:{node.lineno}", node.value


@pytest.mark.slow
@pytest.mark.req("G1")
def test_code_outside_the_gate_names_reads_only(catalogue: Catalogue) -> None:
    """No file that reads for names, looks or checks holds the name of a method that changes something."""
    named = list(_named(catalogue))
    assert len(named) > 15
    assert [(where, name) for where, name in named if not _reads(catalogue, name)] == []


@pytest.mark.req("G1")
def test_records_are_read_by_reads(catalogue: Catalogue) -> None:
    """What is called by the catalogue's own word for reading a record reads."""
    for entity in catalogue.entities.values():
        assert _reads(catalogue, entity.get), entity.name
        assert _reads(catalogue, entity.list), entity.name


def _reads(catalogue: Catalogue, name: str) -> bool:
    found = catalogue.find(name)
    return found is not None and found.reads_only

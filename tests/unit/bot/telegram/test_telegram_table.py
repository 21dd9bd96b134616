"""docs/telegram-table.md is complete and true: every mistake and rule has its row, and every test that it names exists where it says."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]
LINE = re.compile(r"\| *([MTSW]\d+) *\|([^|]*)\|([^|]*)\|")
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
COUNTS = {"M": 15, "T": 14, "S": 7, "W": 10}


def _text() -> str:
    return (ROOT / "docs" / "telegram-table.md").read_text(encoding="utf-8")


def test_every_row_has_tests_and_a_sentence() -> None:
    """15 mistakes seen elsewhere, 14 rules of presses and cards, 7 of streaming, 10 of the wire."""
    rows = {found[1]: (found[2], found[3]) for line in _text().splitlines() if (found := LINE.match(line))}
    assert sorted(rows) == sorted(f"{kind}{number}" for kind, count in COUNTS.items() for number in range(1, count + 1))
    for name, (tests, sentence) in rows.items():
        assert NAMED.search(tests), name
        assert len(sentence.strip()) > 20, name


@pytest.mark.parametrize("path", sorted({path for path, _ in NAMED.findall(_text())}))
def test_every_named_test_exists(path: str) -> None:
    """A test that was renamed or deleted takes the proof of its row along: this fails then."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    there = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    assert {name for named, name in NAMED.findall(_text()) if named == path} <= there
    assert len(re.findall(r"::test_", _text())) == len(NAMED.findall(_text()))

"""The tables of engines/scenarios/README.md name a test for each rule, and the test exists."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[4]
HOLDERS = [*ROOT.glob("tests/unit/engines/scenarios/test_*.py"), ROOT / "tests/unit/bot/http_api/test_api_customers_scenarios.py"]


def test_each_rule_names_a_test_that_exists() -> None:
    """A rule without a test is a wish."""
    rules = (ROOT / "engines/scenarios/README.md").read_text(encoding="utf-8").split("## What happens when", 1)[1].split("\n## ", 1)[0]
    rows = [line for line in rules.splitlines() if line.startswith("|") and not line.startswith(("| when", "|---"))]
    named = [re.findall(r"`(test_\w+)` \|$", row) for row in rows]
    known = "\n".join(path.read_text(encoding="utf-8") for path in HOLDERS)
    assert len(rows) > 20
    assert [row for row, names in zip(rows, named, strict=True) if not names] == []
    assert [name for names in named for name in names if f"def {name}(" not in known] == []

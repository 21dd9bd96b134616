"""The page about flows: its agent and its flow are right as they stand there."""

import re
from pathlib import Path

import pytest

from engines.flows.core.checks import check_flow
from engines.flows.core.kind import check_agent
from orchestrator.documents.reading import read_document

PAGE = (Path(__file__).parents[4] / "engines" / "flows" / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "check"), [("writer", check_agent), ("offer", check_flow)])
def test_the_examples_of_the_page_have_no_mistakes(name: str, check: object) -> None:
    """Whoever copies them begins without a finding."""
    (source,) = re.findall(rf"```yaml\n(# {name}\.yaml.*?)```", PAGE, re.DOTALL)
    reading = read_document(source)
    assert reading.document is not None, reading.findings
    assert list(check(reading.document)) == []  # type: ignore[operator]  # two checks of one form

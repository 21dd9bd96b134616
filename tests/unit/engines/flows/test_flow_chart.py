"""A flow is drawn so that an author sees where success and failure lead, how often a step is tried, and what it remembers."""

from typing import Any
from xml.etree import ElementTree as ET

import pytest

from engines.flows.kind_face import build_chart
from orchestrator.charts.chart import Chart, write_mermaid
from orchestrator.charts.svg import write_svg
from tests.unit.engines.flows.flow_kit import flow, step

EVIL = '"] click <script>alert(1)</script>'
FLOW = flow(
    step("gather", success="write", failure="excuse", maxAttempts=3, memoryWrites=[{"channel": "facts"}]),
    step("write", success="review", fail=False, memoryReads=[{"channel": "facts"}], memoryWrites=[{"channel": "drafts"}]),
    step("review", failure="excuse", fail=True, memoryReads=[{"channel": "drafts"}]),
    {**step("excuse", success="nowhere", fail=True), "name": EVIL},
)


def list_ways(chart: Chart) -> list[tuple[str, str, str, str]]:
    """The arrows by the names of their boxes."""
    names = [box.title.partition(" ")[0] for box in chart.boxes]
    return [(names[one.source], names[one.target], one.label, one.way) for one in chart.arrows]


def test_success_failure_and_memory_are_arrows_of_their_own() -> None:
    """What an author wrote is drawn, each way as what it is; a step that is not there, and the failure that fails by itself, are not."""
    chart = build_chart(FLOW)
    assert list_ways(chart) == [
        ("gather", "write", "", "usual"), ("gather", "excuse", "onFailure", "failure"), ("write", "review", "", "usual"),
        ("write", "complete", "onFailure", "failure"), ("review", "complete", "", "usual"),
        ("review", "excuse", "onFailure, fail", "failure"), ("excuse", "fail", "onFailure", "failure"), ("gather", "facts", "", "data"),
        ("write", "drafts", "", "data"), ("facts", "write", "", "data"), ("drafts", "review", "", "data"),
    ]  # fmt: skip
    assert (chart.boxes[0].title, chart.boxes[0].text) == ("gather · GATHER", "writer · ×3")


def test_the_three_ways_look_different_and_no_text_of_an_author_becomes_markup() -> None:
    """In Mermaid by the line and its colour, in SVG by their classes."""
    text = write_mermaid(build_chart(FLOW))
    assert '  s0 -.->|"onFailure"| s3\n' in text
    assert "  linkStyle 1,3,5,6 stroke:#b5452f\n" in text
    assert "  linkStyle 7,8,9,10 stroke:#3b8347,stroke-width:1px\n" in text
    assert "<script" not in text
    drawn = ET.fromstring(write_svg(build_chart(FLOW)))  # noqa: S314 - our own text
    classes = [one.get("class") for one in drawn.iter() if one.get("marker-end")]
    assert sorted(one or "" for one in classes) == ["", "", "", "data", "data", "data", "data", *["failure"] * 4]
    assert {one.tag.rpartition("}")[2] for one in drawn.iter()} == {"svg", "style", "defs", "marker", "path", "rect", "text", "g"}


@pytest.mark.parametrize(
    "document", [None, [], {"steps": "x"}, {"steps": [None, 5, {"id": 7, "transitions": "x"}, {"id": "a b", "maxAttempts": "2"}]}]
)
def test_a_draft_that_is_no_flow_is_drawn_as_far_as_it_goes(document: Any) -> None:
    """A picture of a draft never fails."""
    ET.fromstring(write_svg(build_chart(document)))  # noqa: S314 - our own text


def test_an_agent_is_shown_by_its_name_and_never_by_its_id() -> None:
    """Nobody reads 36 signs."""
    chart = build_chart(flow(step("a", agentVersionId="0b9f4a52-1111-2222-3333-444444444444")))
    assert chart.boxes[0].text == ""
    known = build_chart(
        flow(step("a", agentVersionId="0b9f4a52-1111-2222-3333-444444444444")),
        {"0b9f4a52-1111-2222-3333-444444444444": {"title": "Seller"}},
    )
    assert known.boxes[0].text == "Seller"

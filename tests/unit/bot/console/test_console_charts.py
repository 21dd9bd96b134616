"""Graphs of definitions in the console."""

from orchestrator.charts.chart import Box, Chart, Mark, write_mermaid


def test_a_mark_stands_at_its_box() -> None:
    """The style of a mark is the class of its node, and its word stands in the box."""
    chart = Chart(title="", boxes=[Box(title="a", text="", shape="step"), Box(title="b", text="", shape="step")], arrows=[])

    text = write_mermaid(chart, {1: Mark("done", "готово")})

    assert 's1["b<br/>готово"]' in text
    assert "class s1 done" in text
    assert "class s0" not in text

"""Parts of the pages of definitions that need no page: differences of texts, places of steps in graphs."""

import time
from collections.abc import Sequence

import pytest

from bot.console.definitions.graph import StepPlace, mark_boxes
from bot.console.definitions.graph import find_places as find_step_places
from bot.console.diffing import DiffLine, list_diff
from bot.plugins.kind_face import KIND_FACE
from bot.plugins.kind_face import build_definition_chart as build_chart
from bot.plugins.loading import find_part_of_kind
from orchestrator.charts.chart import Chart
from orchestrator.domain.finding import Finding

TEXT = [f"line {number}" for number in range(20)]


def find_places(kind: str, data: object, chart: Chart) -> Sequence[StepPlace]:
    """Where the steps of a definition of this kind stand."""
    face = find_part_of_kind(KIND_FACE, kind)
    assert face is not None
    assert face.steps is not None
    return find_step_places(face.steps, data, chart)


@pytest.mark.req("C-30")
def test_a_difference_shows_changes_with_the_lines_around_them() -> None:
    """Each line has its numbers in both texts; what is equal and far away is left out, which a gap says."""
    after = [*TEXT[:10], "new", *TEXT[11:]]

    found = list(list_diff(TEXT, after))

    assert found[0] == DiffLine("gap", "")
    assert found[4:6] == [DiffLine("removed", "line 10", before=11), DiffLine("added", "new", after=11)]
    assert found[1] == DiffLine("same", "line 7", 8, 8)
    assert found[-2:] == [DiffLine("same", "line 13", 14, 14), DiffLine("gap", "")]


@pytest.mark.req("C-30")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([], ["a"]),
        (["a"], []),
        (["a", "b"], ["b"]),
        (["b"], ["a", "b"]),
        (["a", "a"], ["a"]),
        (TEXT, [*TEXT, "end"]),
        (TEXT, ["begin", *TEXT]),
    ],
)
def test_a_difference_leads_from_one_text_to_the_other(before: list[str], after: list[str]) -> None:
    """All removed lines are of the one text and all added ones of the other, with the right numbers."""
    found = list(list_diff(before, after))

    assert all(before[one.before - 1] == one.text for one in found if one.before)
    assert all(after[one.after - 1] == one.text for one in found if one.after)
    removed, added = ([one for one in found if one.way == way] for way in ("removed", "added"))
    assert len(after) - len(before) == len(added) - len(removed)


@pytest.mark.req("C-30")
def test_equal_texts_differ_in_nothing_and_long_ones_take_no_long() -> None:
    """Two texts of 20,000 lines that differ throughout are compared in bounded time: compared line by line they take minutes."""
    assert not list(list_diff(TEXT, TEXT))
    before, after = ([f"{word} {number}" for number in range(20_000)] for word in ("old", "new"))
    began = time.monotonic()

    assert len(list(list_diff(before, after))) == len(before) + len(after)
    assert time.monotonic() - began < 30


@pytest.mark.req("C-29")
@pytest.mark.parametrize("kind", ["scenario", "flow"])
def test_a_finding_marks_the_node_of_its_step(kind: str) -> None:
    """Also of steps without an id, of steps with the id of another, and of the second step alone."""
    steps = [{"type": "message", "id": "a", "agentVersionId": "x"}, {"type": "message", "id": "a", "agentVersionId": "x"}]
    data = {"steps": steps}
    chart = build_chart(kind, data)
    findings = [Finding(code="x", message="x", path="steps[1].params"), Finding(code="x", message="x", path="steps[0]", severity="info")]

    places = find_places(kind, data, chart)

    assert {number: mark.word for number, mark in mark_boxes(places, findings, str).items()} == {1: "1"}


@pytest.mark.req("C-29")
def test_the_nodes_of_a_workflow_are_found_by_their_names() -> None:
    """A part that is switched off has no node, so that the places of nodes are not those of parts."""
    tuums = [{"tuumId": "off", "enabled": False}, {"tuumId": "first"}, {"tuum": "stored", "id": "second"}]
    data = {"workflowId": "w", "tuums": tuums}
    chart = build_chart("workflow", data)

    found = {chart.boxes[one.number].key: one.path for one in find_places("workflow", data, chart)}

    assert found == {"first": ("tuums", 1), "second": ("tuums", 2)}


@pytest.mark.parametrize("data", [None, [], {}, {"steps": 5}, {"steps": [None, 1, {}]}, {"tuums": [None, {}]}])
@pytest.mark.parametrize("kind", ["scenario", "flow", "workflow"])
def test_a_draft_of_any_form_has_a_graph(kind: str, data: object) -> None:
    """Whatever is typed is drawn as far as it can be."""
    find_places(kind, data, build_chart(kind, data))

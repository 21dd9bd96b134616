"""The picture of a workflow shows who waits for whom, and for what."""

from typing import Any

import pytest

from engines.workflows.kind_face import RESULT, build_chart
from orchestrator.charts.chart import Chart, write_mermaid
from orchestrator.charts.svg import write_svg
from tests.unit.engines.workflows.workflow_kit import TYPES, link, parameter, prompt, put, tuum, workflow


def draw(document: object, tuums: dict[str, Any] | None = None) -> tuple[Chart, list[tuple[str, str, str]]]:
    """The chart, and its arrows as (source, target, label)."""
    chart = build_chart(document, TYPES, tuums or {})
    names = [box.title.split(" · ")[0] for box in chart.boxes]
    return chart, [(names[one.source], names[one.target], one.label) for one in chart.arrows]


@pytest.mark.req("S003-3", "S003-14")
def test_arrows_carry_variables() -> None:
    """All that one tuum gives to another is one arrow; parameters and the result have boxes of their own."""
    chart, arrows = draw(
        workflow(
            link("letter", ["deals", "sum", "client"], ["text"]),
            link("deals", ["client"], ["deals", "sum"]),
            triggerParameters=[parameter("client"), parameter("spare")],
            terminal={"rawText": "text"},
        )
    )
    assert arrows == [
        ("client", "letter", ""), ("deals", "letter", "deals, sum"), ("client", "deals", ""), ("letter", RESULT, "rawText: text"),
    ]  # fmt: skip
    assert [one.shape for one in chart.boxes] == ["step", "step", "question", "end"]
    assert chart.title == "Dossier"


def test_a_box_says_what_its_tuum_does() -> None:
    """In its order, with the model; one that proposes operations stands out."""
    operation = {"runeType": "operation", "operationType": "DeleteEntity", "entityType": "deal", "entityId": "1"}
    ends = {"runeType": "terminal", "rawText": "x"}
    asks = tuum("ask", put("x"), operation, promptRunes=[prompt(), prompt()], aiService="fast", metadata={"title": "Ask"})
    chart, arrows = draw(workflow(asks, tuum("end", put("x"), ends)))
    assert [(one.title, one.text, one.shape) for one in chart.boxes[:2]] == [
        ("ask · Ask", "prompt → fast → set, operation", "effect"),
        ("end", "set, terminal", "step"),
    ]
    assert arrows == [("end", RESULT, "")]


@pytest.mark.req("S003-4")
def test_a_stored_tuum_is_drawn_with_what_is_known_of_it() -> None:
    """Its variables if it is at hand, its name otherwise."""
    document = workflow({"tuum": "deals@2"}, link("letter", ["deals"]))
    assert draw(document)[1] == []
    assert draw(document, {"deals@2": link("d", gives=["deals"])})[1] == [("d", "letter", "deals")]
    chart, _ = draw(workflow({"tuum": "0f9d2a34-1111-2222-3333-444444444444"}))
    assert chart.boxes[0].title == "0f9d2a34"


@pytest.mark.parametrize("document", [None, 5, [], {}, {"tuums": 5}, {"tuums": [5, {}], "terminal": 5, "triggerParameters": [{}]}])
def test_what_is_no_workflow_has_a_picture_of_what_can_be_read(document: object) -> None:
    """It does not raise."""
    assert draw(document)[1] == []


def test_a_circle_and_words_of_strangers_are_drawn() -> None:
    """As Mermaid and as SVG; no text ends its quotes."""
    chart, arrows = draw(workflow(link("a", ["x"], ["x"]), tuum("b", put("y", "{{x}}"), metadata={"title": '"]; click <b>'})))
    assert arrows == [("a", "a", "x"), ("a", "b", "x")]
    assert '"]; click' not in write_mermaid(chart)
    assert "<b>" not in write_svg(chart)

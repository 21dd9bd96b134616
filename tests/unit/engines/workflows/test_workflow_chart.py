"""The picture of a workflow shows who waits for whom, and for what."""

from typing import Any

import pytest

from bot.i18n.translate import Translator
from engines.workflows.charts import RESULT, RESULT_KEY, START, START_KEY, build_chart
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
    """Each variable is a way of its own; what the start gives comes from one box, and the result has another."""
    chart, arrows = draw(
        workflow(
            link("letter", ["deals", "sum", "client"], ["text"]),
            link("deals", ["client"], ["deals", "sum"]),
            triggerParameters=[parameter("client"), parameter("spare")],
            terminal={"rawText": "text"},
        )
    )
    assert arrows == [
        ("deals", "letter", "deals"), ("deals", "letter", "sum"), (START, "letter", "client"), (START, "deals", "client"),
        ("letter", RESULT, "rawText: text"),
    ]  # fmt: skip
    assert [one.shape for one in chart.boxes] == ["question", "step", "step", "end"]
    assert [[port.label for port in one.ports] for one in chart.boxes] == [["client", "spare"], ["text"], ["deals", "sum"], []]
    assert [one.path for one in chart.boxes] == [("triggerParameters",), ("tuums", 0), ("tuums", 1), ("terminal",)]
    assert [one.port for one in chart.arrows] == [0, 1, 0, 0, 0]
    assert chart.title == "Dossier"


def test_a_box_says_what_its_tuum_does() -> None:
    """In its order, with the model; one that proposes operations stands out."""
    operation = {"runeType": "operation", "operationType": "DeleteEntity", "entityType": "deal", "entityId": "1"}
    ends = {"runeType": "terminal", "rawText": "x"}
    asks = tuum("ask", put("x"), operation, promptRunes=[prompt(), prompt()], aiService="fast", metadata={"title": "Ask"})
    chart, arrows = draw(workflow(asks, tuum("end", put("x"), ends)))
    assert [(one.title, one.text, one.shape) for one in chart.boxes[1:3]] == [
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
    known, _ = draw(document, {"deals@2": link("d", gives=["deals"], metadata={"title": "Deals"})})
    assert (known.boxes[1].title, known.boxes[1].key) == ("d · Deals", "deals@2")
    assert [port.label for port in known.boxes[1].ports] == ["deals"]


@pytest.mark.parametrize("name", ["id", "tuum"])
def test_no_box_shows_a_uuid(name: str) -> None:
    """A word stands there until the stored tuum is at hand."""
    uuid = "0f9d2a34-1111-2222-3333-444444444444"
    for document in (workflow({"tuum": uuid}), workflow({"tuum": uuid, "enabled": False})):
        box = draw(document)[0].boxes[1]
        assert "0f9d2a34" not in box.title + box.text
        assert (box.word, box.key) == ("workflow-box-stored", uuid)


def test_a_tuum_that_takes_no_part_is_drawn_so_that_it_can_be_switched_on() -> None:
    """Without ways."""
    chart, arrows = draw(workflow(link("a", ["x"], enabled=False), triggerParameters=[parameter("x")]))
    assert [(box.key, box.kind, box.ports) for box in chart.boxes[1:2]] == [("a", "off", ())]
    assert arrows == []


def test_the_answer_of_a_model_is_a_way_before_it_is_published() -> None:
    """With a word; afterwards under its name."""
    asks = tuum("ask", promptRunes=[prompt()], aiService="fast")
    (port,) = draw(workflow(asks))[0].boxes[1].ports
    assert (port.word, port.path) == ("workflow-way-answer", ("tuums", 0, "outputMappings", "ask_answer"))
    (port,) = draw(workflow({**asks, "outputMappings": {"letter": "ai_final_output"}}))[0].boxes[1].ports
    assert (port.word, port.label) == ("", "letter")


@pytest.mark.parametrize("locale", ["ru", "en"])
def test_every_word_of_a_box_or_a_way_is_one_of_both_languages(locale: Any) -> None:
    """Codes are for programs."""
    say = Translator(locale).translate
    ends = tuum("end", put("x"), {"runeType": "terminal", "rawText": "x"})
    asks = tuum("ask", promptRunes=[prompt("{{c}}")], aiService="fast")
    chart, _ = draw(workflow(asks, ends, {"tuum": "0f9d2a34-1111-2222-3333-444444444444"}, 5, triggerParameters=[parameter("c")]))
    words = {one.word for box in chart.boxes for one in (box, *box.ports) if one.word}
    assert {box.key for box in chart.boxes} >= {START_KEY, RESULT_KEY}
    assert len(words) >= 5
    assert not [word for word in words if say(word) == word]


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

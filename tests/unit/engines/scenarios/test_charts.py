"""A scenario is drawn so that every step and way is seen, and no text of its author becomes markup."""

from typing import Any
from xml.etree import ElementTree as ET

import pytest

from engines.scenarios.core.authoring import build_chart
from orchestrator.charts.chart import write_mermaid
from orchestrator.charts.layout import BOX_HEIGHT, BOX_WIDTH, MOST_BOXES, ChartTooLarge, arrange
from orchestrator.charts.svg import write_svg
from tests.unit.engines.scenarios.scenario_kit import TYPES, ask, say, scenario

EVIL = 'a"]; click x "javascript:1" </text><script>alert(1)</script>'
BRANCH = scenario(
    ask("sum", step="budget"),
    {"id": "choose", "type": "branch", "condition": "sum > 5", "branches": {"if": "big"}},
    say("usual", next_step="bye"),
    say(EVIL, id="big"),
    {"id": "bye", "type": "end"},
    name=EVIL,
)
LOOP = scenario(
    say("Начнём"),
    ask("more", step="again", next_step_map={"да": "again", "default": "bye"}, timeout=60, on_timeout="late"),
    say("поздно", id="late"),
    {"id": "bye", "type": "end"},
)
WIDE = scenario(
    ask("way", next_step_map={f"{number}": f"way_{number}" for number in range(6)}),
    *(say("x", id=f"way_{number}", next_step="bye" if number % 2 else "last") for number in range(6)),
    say("y", id="last"),
    {"id": "bye", "type": "end"},
)
LONG = scenario(*(ask(f"q{number}", step=f"q{number}", on_invalid=f"q{number + 7}") for number in range(60)))


def ways(document: Any) -> list[tuple[int, int, str]]:
    return [(one.source, one.target, one.label) for one in build_chart(document, TYPES).arrows]


def test_every_way_has_its_reason() -> None:
    """Branches, refusals, answers, and the next step in the list; a way without a target that exists is left out."""
    assert ways(BRANCH) == [(0, 1, ""), (1, 3, "if"), (1, 2, "else"), (2, 4, ""), (3, 4, "")]
    assert ways(LOOP) == [(0, 1, ""), (1, 2, "timeout"), (1, 1, "да"), (1, 3, "default"), (2, 3, "")]
    assert ways(scenario(say("x", next_step="nowhere"))) == []


@pytest.mark.parametrize("document", [BRANCH, LOOP, WIDE, LONG])
def test_boxes_stand_apart_and_arrows_lead_down(document: Any) -> None:
    """No two boxes overlap, and only an arrow of a loop leads upwards."""
    chart = build_chart(document, TYPES)
    layout = arrange(chart)
    for number, (x, y) in enumerate(layout.places):
        assert BOX_WIDTH / 2 - 1 <= x <= layout.width
        assert all(abs(x - a) >= BOX_WIDTH or abs(y - b) >= BOX_HEIGHT for a, b in layout.places[:number])
    for route in layout.routes:
        is_up = layout.places[route.arrow.target][1] <= layout.places[route.arrow.source][1]
        assert route.is_back == is_up
    assert sum(route.is_back for route in layout.routes) == (1 if document is LOOP else 0)


def test_the_texts_of_an_author_stay_texts() -> None:
    """The SVG is well-formed XML without a script, in Mermaid nothing ends the quotes."""
    drawn = ET.fromstring(write_svg(build_chart(BRANCH, TYPES)))  # noqa: S314 - our own text
    tags = {one.tag.rpartition("}")[2] for one in drawn.iter()}
    assert tags == {"svg", "style", "defs", "marker", "path", "rect", "polygon", "text", "g"}
    assert EVIL in [one.text for one in drawn.iter() if one.tag.endswith("text")]
    line = next(one for one in write_mermaid(build_chart(BRANCH, TYPES)).splitlines() if "big" in one)
    assert line.count('"') == 2
    assert not set("<>&") & set(line.replace("<br/>", ""))


@pytest.mark.parametrize("document", [None, [], {"steps": "x"}, {"steps": [None, 5, {"type": 7}]}, {"steps": []}])
def test_a_draft_that_is_no_scenario_is_drawn_as_far_as_it_goes(document: Any) -> None:
    """A picture of a draft never fails."""
    ET.fromstring(write_svg(build_chart(document, TYPES)))  # noqa: S314 - our own text


def test_a_scenario_that_nobody_could_read_is_refused_with_a_reason() -> None:
    """Too many boxes, or arrows that pass too many layers."""
    with pytest.raises(ChartTooLarge, match="2001 steps"):
        arrange(build_chart(scenario(*[say("x")] * (MOST_BOXES + 1)), TYPES))
    far = [ask(f"q{number}", step=f"q{number}", on_invalid=f"q{1999 - number}") for number in range(2000)]
    with pytest.raises(ChartTooLarge, match="bends"):
        arrange(build_chart(scenario(*far), TYPES))

"""What a person does on the canvas changes the author's text alone; what is wrong stands at its port or step."""

from typing import Any

import pytest

from bot.console.canvas import Canvas, CanvasDeed, find_place, place_findings
from bot.console.definitions.form.renaming import list_names
from bot.plugins.kind_face import KIND_FACE, build_definition_chart
from bot.plugins.loading import find_part_of_kind
from orchestrator.charts.chart import Arrow, Box, Chart, Mark
from orchestrator.documents.reading import read_document
from orchestrator.domain.finding import Finding
from tests.unit.bot.console.console_kit import OLGA, ConsoleWorld, OpenPage
from tests.unit.bot.console.definitions_kit import find_code, store, type_text

EDIT = "/definitions/scenario/hello/edit"
STEPS = """# Зачем это: знакомство
name: Привет
steps:
  - id: ask            # первый вопрос
    type: input
    params: {prompt: Как вас зовут?, input_variable: who, on_invalid: bye}
  - id: hello
    type: message
    params: {text: "Здравствуйте, {who}"}
  - id: bye
    type: end
"""


async def open_canvas(made: ConsoleWorld, text: str = STEPS) -> tuple[OpenPage, Canvas]:
    await store(made)
    page = await made.open(EDIT, OLGA)
    await type_text(page, text)
    [canvas] = [one for one in page.elements if isinstance(one, Canvas)]
    return page, canvas


def find_box(canvas: Canvas, key: str) -> str:
    """The id that the page has for a step."""
    return next(str(one["id"]) for one in canvas.props["boxes"] if one["title"].startswith(key))


def read(text: str) -> Any:
    reading = read_document(text, "yaml")
    assert reading.document is not None
    return reading.document.data


@pytest.mark.req("C-29")
async def test_a_step_is_put_on_a_way_and_the_rest_of_the_text_stays(made: ConsoleWorld) -> None:
    """Added at the usual way of the question it stands between, and every other line is as it was, comments too."""
    page, canvas = await open_canvas(made)

    await page.act(canvas, "deed", {"deed": "add", "kind": "message", "source": find_box(canvas, "ask"), "port": "p0"})

    text = find_code(page).value
    assert list(list_names(read(text), ("steps",))) == ["ask", "message_1", "hello", "bye"]
    assert set(STEPS.splitlines()) <= set(text.splitlines())
    assert [one["title"] for one in canvas.props["boxes"]][1].startswith("message_1")
    assert canvas.chosen is not None
    assert canvas.chosen.key == "message_1"
    assert page.find("Ключ шага").value == "message_1"  # type: ignore[attr-defined]


@pytest.mark.req("C-29")
async def test_lines_are_led_elsewhere_and_cut_and_steps_removed(made: ConsoleWorld) -> None:
    """Each deed changes its own line of the text alone; what led to a removed step leads to the one behind it."""
    page, canvas = await open_canvas(made)
    ask, hello, bye = (find_box(canvas, key) for key in ("ask", "hello", "bye"))

    await page.act(canvas, "deed", {"deed": "connect", "source": ask, "port": "p1", "target": hello, "before": bye})
    assert find_code(page).value == STEPS.replace("on_invalid: bye", "on_invalid: hello")

    await page.act(canvas, "deed", {"deed": "remove", "boxes": [hello]})
    assert read(find_code(page).value)["steps"][0]["params"]["on_invalid"] == "bye"

    await page.act(canvas, "deed", {"deed": "disconnect", "source": ask, "port": "p1", "target": bye})
    assert "on_invalid" not in find_code(page).value
    assert "# первый вопрос" in find_code(page).value


@pytest.mark.req("C-29")
@pytest.mark.parametrize(
    "args",
    [
        None,
        {},
        {"deed": "drop"},
        {"deed": "connect", "source": "s999", "port": "p0", "target": "s0"},
        {"deed": "connect", "source": "ask", "port": "p0", "target": "hello"},
        {"deed": "connect", "source": "s0", "port": "p9", "target": "s1"},
        {"deed": "add", "kind": ["x"], "source": "s0"},
        {"deed": "remove", "boxes": [5, "s999"]},
        {"deed": "remove", "boxes": ["s999"]},
    ],
)
async def test_a_page_that_tells_nonsense_changes_nothing(made: ConsoleWorld, args: Any) -> None:
    """Nothing of what a browser says is believed but its form."""
    page, canvas = await open_canvas(made)

    await page.act(canvas, "deed", args)

    assert find_code(page).value == STEPS


@pytest.mark.req("C-29")
async def test_a_text_that_cannot_be_read_is_not_changed(made: ConsoleWorld) -> None:
    """A sentence says so, and the chart stays as it was."""
    page, canvas = await open_canvas(made)
    boxes = len(canvas.props["boxes"])
    ask = find_box(canvas, "ask")
    await type_text(page, STEPS + "  ]")

    await page.act(canvas, "deed", {"deed": "remove", "boxes": [ask]})

    assert find_code(page).value == STEPS + "  ]"
    assert len(canvas.props["boxes"]) == boxes


@pytest.mark.req("C-29")
async def test_findings_stand_at_their_ports_and_steps(made: ConsoleWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """A way to a step that is not there marks its port, its step and its line; a press on the finding leads to both."""
    page, canvas = await open_canvas(made, STEPS.replace("on_invalid: bye", "on_invalid: byee"))
    gone: list[tuple[object, ...]] = []
    monkeypatch.setattr(find_code(page), "run_method", lambda *args: gone.append(args))

    box = next(one for one in canvas.props["boxes"] if one["title"].startswith("ask"))
    assert [port["isBad"] for port in box["ports"]] == [False, True]
    assert (box["count"], box["tone"]) == (1, "error")
    assert "byee" in box["told"]
    await page.press("Строка 6, столбец 59: показать в тексте")

    assert canvas.chosen is not None
    assert canvas.chosen.key == "ask"
    assert ("revealLine", 6) in gone


@pytest.mark.req("C-29")
async def test_a_step_shows_its_form_alone(made: ConsoleWorld) -> None:
    """Pressed, it has its own fields; pressed beside all steps, the form is whole again."""
    page, canvas = await open_canvas(made)

    await page.act(canvas, "choose", {"id": find_box(canvas, "hello"), "isEntered": False})
    assert page.find("Ключ шага").value == "hello"  # type: ignore[attr-defined]
    assert not [one for one in page.elements if one.props.get("label") == "Как называется сценарий *" and not one.is_deleted]

    await page.act(canvas, "choose", {"id": ""})
    assert page.has("hello")


@pytest.mark.req("C-27")
async def test_a_deed_between_two_letters_of_a_name_ends_the_renaming(made: ConsoleWorld) -> None:
    """A name that is half typed is not led to the step that stands at its place after a deed on the canvas."""
    page, canvas = await open_canvas(made)
    await page.act(canvas, "choose", {"id": find_box(canvas, "bye")})
    await page.enter("Ключ шага", "hello")  # the name of another one: what led to it keeps the old name for now
    assert "on_invalid: bye" in find_code(page).value

    await page.act(canvas, "deed", {"deed": "add", "kind": "message", "source": find_box(canvas, "ask"), "port": "p0"})
    await page.enter("Ключ шага", "first")

    assert "on_invalid: bye" in find_code(page).value


@pytest.mark.req("C-29")
@pytest.mark.parametrize("kind", ["scenario", "flow"])
def test_a_finding_marks_the_node_of_its_step(kind: str) -> None:
    """Also of steps with the id of another, and of the second step alone; what only informs marks nothing."""
    steps = [{"type": "message", "id": "a", "agentVersionId": "x"}, {"type": "message", "id": "a", "agentVersionId": "x"}]
    chart = build_definition_chart(kind, {"steps": steps})
    assert chart is not None
    findings = [Finding(code="x", message="x", path="steps[1].params"), Finding(code="x", message="x", path="steps[0]", severity="info")]

    assert list(place_findings(chart, findings)) == [(1, None)]
    assert find_place(chart, Finding(code="x", message="x", path="steps[0")) is None


@pytest.mark.parametrize("data", [None, [], {}, {"steps": 5}, {"steps": [None, 1, {}]}, {"tuums": [None, {}]}])
@pytest.mark.parametrize("kind", ["scenario", "flow", "workflow"])
def test_a_draft_of_any_form_has_a_graph(kind: str, data: object) -> None:
    """Whatever is typed is drawn as far as it can be."""
    chart = build_definition_chart(kind, data)
    assert chart is not None
    assert place_findings(chart, ()) == {}


async def test_boxes_keep_their_ids_and_hold_no_text_of_authors(made: ConsoleWorld) -> None:
    """Boxes of one key, or of none, have ids of their own; a box keeps its id when others come before it, and lines lead between ids."""
    page = await made.open("/definitions", OLGA)
    boxes = [
        Box(title="a", text="", shape="step", key="a"),
        Box(title="b", text="", shape="step", key="a"),
        Box(title="c", text="", shape="end"),
    ]
    with page.visit.page.content:
        canvas = Canvas(
            page.visit, Chart(title="", boxes=boxes, arrows=[Arrow(source=0, target=2)]), name="x", marks={0: Mark("done", "готово")}
        )
    first = [one["id"] for one in canvas.props["boxes"]]
    assert len(set(first)) == 3
    assert canvas.props["lines"][0]["source"] == first[0]
    assert canvas.props["boxes"][0]["mark"] == {"style": "done", "word": "готово"}
    assert canvas.props["read-only"]

    canvas.update_chart(Chart(title="", boxes=[Box(title="n", text="", shape="step", key="n"), *boxes], arrows=[]))

    assert [one["id"] for one in canvas.props["boxes"]][1:] == first


def test_deeds_are_those_of_the_engine() -> None:
    """A way that is led elsewhere is cut first, in one change."""
    face = find_part_of_kind(KIND_FACE, "scenario")
    assert face is not None
    assert face.steps is not None
    assert face.steps.deeds is not None

    deed = CanvasDeed(deed="connect", source="ask", port=1, target="hello", before="bye")
    changed, key = deed.apply(face.steps.deeds, read(STEPS))

    assert read(STEPS.replace("on_invalid: bye", "on_invalid: hello")) == changed
    assert key == ""

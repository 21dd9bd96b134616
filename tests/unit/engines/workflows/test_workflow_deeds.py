"""A canvas changes a workflow as its author would by hand, and never makes a mistake that was not there."""

import copy
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.i18n.translate import Translator
from bot.plugins.kind_face import Deeds
from engines.workflows.charts import RESULT_KEY, START_KEY, build_chart
from engines.workflows.core.checks import check_workflow
from engines.workflows.deeds import build_deeds
from orchestrator.charts.chart import Chart
from orchestrator.documents.document import Document
from orchestrator.documents.reading import read_document
from tests.unit.engines.workflows.workflow_kit import TYPES, link, parameter, prompt, put, script, tuum, workflow

EXAMPLES = Path(__file__).parents[4] / "engines/workflows/examples"
IDLE = {"finding-workflow-output-unused", "finding-workflow-parameter-unused"}
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.yaml") if not path.stem.endswith(".test"))


def read(path: Path) -> Any:
    document = read_document(path.read_text(encoding="utf-8")).document
    assert document is not None
    return document.data


PARTS = {"find_company": read(EXAMPLES / "tuums/find_company.yaml")}
DEEDS = build_deeds().know_parts(PARTS)


def asks(name: str, template: str = "Hello", gives: str = "", **fields: Any) -> dict[str, Any]:
    """A tuum that asks a model."""
    outputs = {"outputMappings": {gives: "ai_final_output"}} if gives else {}
    return {"tuumId": name, "promptRunes": [prompt(template)], "aiService": "tool", **outputs, **fields}


def count_mistakes(document: object, parts: Any = PARTS) -> Counter[Any]:
    findings = check_workflow(Document.from_data(document), TYPES, parts)
    return Counter((one.code, *sorted(one.args.items())) for one in findings if one.code not in IDLE)


def draw(document: object) -> Chart:
    return build_chart(document, TYPES, PARTS)


def list_ways(document: object) -> set[tuple[str, str, str]]:
    """(from, what, to)."""
    chart = draw(document)
    return {
        (chart.boxes[one.source].key, chart.boxes[one.source].ports[one.port].path[-1], chart.boxes[one.target].key)  # type: ignore[misc]
        for one in chart.arrows
    }


def list_ports(document: object) -> Iterator[tuple[str, int]]:
    for box in draw(document).boxes:
        yield from ((box.key, port) for port in range(len(box.ports)))


@pytest.mark.parametrize("name", NAMES)
def test_no_line_or_tuum_added_or_removed_makes_a_new_mistake(name: str) -> None:
    """Over all boxes and ways of the shipped examples; one that reads what is gone is the only exception."""
    document = read(EXAMPLES / f"{name}.yaml")
    before, whole = count_mistakes(document), copy.deepcopy(document)
    keys = [box.key for box in draw(document).boxes]
    changed = 0
    for source, port in list_ports(document):
        for target in keys:
            after = DEEDS.connect(document, source, port, target)
            changed += after != document
            assert not count_mistakes(after) - before, (source, port, target)
            assert not count_mistakes(DEEDS.disconnect(document, source, port, target)) - before, (source, port, target)
        for kind in ("model", "query", "script", "operation"):
            after, key = DEEDS.add(document, kind, source, port)
            assert not count_mistakes(after) - before, (kind, source, port)
            assert any(box.key == key for box in draw(after).boxes)
    for key in keys:
        new = count_mistakes(DEEDS.remove(document, [key])) - before
        assert {code for code, *_ in new} <= {"finding-workflow-no-source"}, key
    assert changed > 0
    assert document == whole


def test_a_line_adds_the_variable_to_the_prompt_and_cuts_no_other_off() -> None:
    """With implicit inputs, mappings would cut them off."""
    before = workflow(asks("deals", gives="told"), asks("next", "About {{client}}", "text"), triggerParameters=[parameter("client")])
    after: Any = DEEDS.connect(before, "deals", 0, "next")
    assert after["tuums"][1] == asks("next", "About {{client}}\n{{told}}", "text")
    assert DEEDS.disconnect(after, "deals", 0, "next") == before


def test_a_line_into_a_tuum_with_mappings_adds_one() -> None:
    """All that came in before still comes in."""
    mapped = asks("next", "About {{who}}", "text", inputMappings={"who": "client"})
    after: Any = DEEDS.connect(workflow(asks("deals", gives="told"), mapped, triggerParameters=[parameter("client")]), "deals", 0, "next")
    assert after["tuums"][1]["inputMappings"] == {"who": "client", "told": "told"}


def test_a_variable_called_as_one_of_the_targets_own_gets_another_name_there() -> None:
    """Then all that comes in is written out."""
    target = {**asks("next", "{{client}} {{told}}", "text"), "promptRunes": [put("told", "x"), prompt("{{client}} {{told}}")]}
    after: Any = DEEDS.connect(workflow(asks("deals", gives="told"), target, triggerParameters=[parameter("client")]), "deals", 0, "next")
    assert after["tuums"][1]["inputMappings"] == {"client": "client", "told_2": "told"}
    assert after["tuums"][1]["promptRunes"][1]["template"] == "{{client}} {{told}}\n{{told_2}}"


def test_the_answer_is_published_when_a_line_leads_from_it() -> None:
    """Under the name of its tuum, to another tuum or the result."""
    before = workflow(asks("deals"), asks("next", gives="text"), terminal={"rawText": "text"})
    after: Any = DEEDS.connect(before, "deals", 0, "next")
    assert after["tuums"][0]["outputMappings"] == {"deals_answer": "ai_final_output"}
    assert ("deals", "deals_answer", "next") in list_ways(after)
    assert ("deals", "deals_answer", RESULT_KEY) in list_ways(DEEDS.connect(before, "deals", 0, RESULT_KEY))


def test_a_script_without_a_prompt_gets_the_variable_among_those_it_reads() -> None:
    """And loses it only where it does not name it."""
    before = workflow(asks("deals", gives="told"), tuum("sum", script(gives=["n"]), outputMappings={"n": "n"}))
    after: Any = DEEDS.connect(before, "deals", 0, "sum")
    assert after["tuums"][1]["runes"][0]["consumes"] == ["told"]
    assert DEEDS.disconnect(after, "deals", 0, "sum") == before
    after["tuums"][1]["runes"][0]["source"] = "{'n': told}"
    assert DEEDS.disconnect(after, "deals", 0, "sum") == after


@pytest.mark.parametrize(("source", "target"), [("b", "a"), ("a", "a"), ("a", "gone"), ("gone", "a")])
def test_a_line_that_would_close_a_circle_or_leads_nowhere_is_not_made(source: str, target: str) -> None:
    before = workflow(asks("a", gives="x"), asks("b", "{{x}}", "y"))
    assert DEEDS.connect(before, source, 0, target) == before


def test_a_stored_part_takes_the_variable_for_the_input_that_nothing_gives() -> None:
    """In the workflow, not in the part; without the part at hand nothing happens."""
    before = workflow({"tuum": "find_company"}, triggerParameters=[parameter("name")])
    after: Any = DEEDS.connect(before, START_KEY, 0, "find_company")
    assert after["tuums"][0] == {"tuum": "find_company", "inputMappings": {"client": "name"}}
    assert build_deeds().connect(before, START_KEY, 0, "find_company") == before


def test_a_new_tuum_reads_what_the_way_gives() -> None:
    """Behind its source."""
    after, key = DEEDS.add(workflow(asks("a", gives="x"), asks("b")), "model", "a", 0)
    assert (("a", "x", key) in list_ways(after), [box.key for box in draw(after).boxes[1:4]]) == (True, ["a", key, "b"])


def test_who_read_what_is_gone_reads_what_that_had_read() -> None:
    """The result, too."""
    before = workflow(
        asks("a", "{{client}}", "x"), asks("b", "So: {{x}}", "y"), triggerParameters=[parameter("client")], terminal={"rawText": "x"}
    )
    after: Any = DEEDS.remove(before, ["a"])
    assert after["tuums"] == [asks("b", "So: {{client}}", "y")]
    assert after["terminal"] == {"rawText": "client"}


def test_without_anything_before_it_what_it_gave_goes_out_of_the_prompts() -> None:
    after: Any = DEEDS.remove(workflow(asks("a", gives="x"), asks("b", "So:\n{{x}}\nWhat now?", "y")), ["a"])
    assert after["tuums"] == [asks("b", "So:\nWhat now?", "y")]


@pytest.mark.parametrize(
    "document", [None, [], {"tuums": 5}, {"tuums": [None, 5, {"tuumId": 7}, {"tuumId": "a", "promptRunes": 3}, {"tuum": 5}], "terminal": 5}]
)
def test_a_draft_of_whatever_form_is_left_as_it_is(document: Any) -> None:
    before = copy.deepcopy(document)
    for deeds in (DEEDS, build_deeds()):
        assert deeds.connect(document, "a", 0, "b") == before
        assert deeds.disconnect(document, "a", 0, RESULT_KEY) == before
        assert deeds.remove(document, ["z", RESULT_KEY, START_KEY]) == before
        assert deeds.add(document, "model", "z", 3)[1]


def test_random_deeds_never_make_a_mistake_and_never_fail() -> None:
    choice = random.Random(5)  # noqa: S311 - a seed
    document: Any = read(EXAMPLES / "client_dossier.yaml")
    for _ in range(60):
        before, keys = count_mistakes(document), [box.key for box in draw(document).boxes]
        (source, port), target = choice.choice(list(list_ports(document))), choice.choice(keys)
        deed = choice.randrange(4)
        if deed == 0:
            document, _ = DEEDS.add(document, choice.choice(["model", "query", "script", "operation"]), source, port)
        elif deed == 1:
            document = DEEDS.connect(document, source, port, target)
        elif deed == 2 and len(document["tuums"]) > 2:
            document = DEEDS.remove(document, [target])
        else:
            document = DEEDS.disconnect(document, source, port, target)
        assert {code for code, *_ in count_mistakes(document) - before} <= {"finding-workflow-no-source"}


@pytest.mark.parametrize("locale", ["ru", "en"])
def test_what_can_be_added_has_words(locale: Any) -> None:
    say = Translator(locale).translate
    deeds: Deeds = build_deeds()
    choices = deeds.list_types(say)
    assert len(choices) == 5
    assert not [one for one in choices if "workflow-add" in one.label + one.hint]


def test_variables_of_links_are_read_as_the_engine_reads_them() -> None:
    """A way is there for each variable, also between the same two."""
    document = workflow(link("a", gives=["x", "y"]), link("b", ["x", "y"]))
    assert list_ways(document) == {("a", "x", "b"), ("a", "y", "b")}

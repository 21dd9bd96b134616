"""A workflow draws itself: who waits for whom follows from variables alone, wherever the tuums stand in the file."""

import random
import time
from typing import Any

import pytest

from engines.workflows.core.compile import compile_workflow
from engines.workflows.core.definition import Workflow
from orchestrator.domain.finding import DefinitionRefused, Finding
from tests.unit.engines.workflows.workflow_kit import (
    TYPES,
    compile_document,
    link,
    list_names,
    parameter,
    prompt,
    put,
    script,
    tuum,
    workflow,
)


def refuse(document: dict[str, Any], stored: dict[str, Any] | None = None) -> list[Finding]:
    """The errors because of which a workflow is not compiled."""
    with pytest.raises(DefinitionRefused) as caught:
        compile_document(document, stored)
    return [one for one in caught.value.findings if one.severity == "error"]


def list_codes(document: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one.code, one.path) for one in refuse(document)]


@pytest.mark.req("S003-2", "S003-3", "S003-13", "S003-14", "S003-28", "S003-30", "S003-31")
def test_tuums_wait_for_what_publishes_their_inputs() -> None:
    """Though the file names them backwards; those that wait for nothing more form a level together."""
    compiled = compile_document(
        workflow(link("letter", ["deals", "notes"]), link("deals", ["client"], ["deals"]), link("notes", ["client"], ["notes"]),
                 triggerParameters=[parameter("client")])
    )  # fmt: skip
    assert list_names(compiled) == [["deals", "notes"], ["letter"]]
    assert [one.needs for one in compiled.tuums] == [(1, 2), (), ()]
    assert compiled.dependents == ((), (0,), (0,))
    assert [(one.index, one.level) for one in compiled.tuums] == [(0, 1), (1, 0), (2, 0)]


def build_random(seed: int) -> list[dict[str, Any]]:
    """The tuums of an acyclic graph, of which each needs what some before it give."""
    chance = random.Random(seed)  # noqa: S311 - a fixed seed repeats a case
    count = chance.randint(1, 40)
    return [
        link(f"t{number}", [f"v{one}" for one in range(number) if chance.random() < 3 / (number + 1)], [f"v{number}"])
        for number in range(count)
    ]


def find_levels(tuums: list[dict[str, Any]]) -> dict[str, int]:
    """The level of each tuum, by the definition of a level."""
    levels: dict[str, int] = {}
    for one in tuums:
        levels[one["tuumId"]] = 1 + max((levels[f"t{name[1:]}"] for name in one["runes"][0]["consumes"]), default=-1)
    return levels


@pytest.mark.req("S003-13", "S003-28", "S003-A14", "S003-X2")
@pytest.mark.parametrize("seed", range(200))
def test_the_order_of_the_file_changes_nothing(seed: int) -> None:
    """200 random graphs, shuffled, compile to the levels that they must have."""
    tuums = build_random(seed)
    wanted = find_levels(tuums)
    random.Random(-seed).shuffle(tuums)  # noqa: S311 - as above
    compiled = compile_document(workflow(*tuums))
    assert {one.id: one.level for one in compiled.tuums} == wanted
    assert [one.id for one in compiled.tuums] == [one["tuumId"] for one in tuums]
    assert all(compiled.tuums[need].level < one.level for one in compiled.tuums for need in one.needs)


@pytest.mark.req("S003-27", "S003-A1", "S003-X1")
def test_mappings_say_what_is_needed_and_published() -> None:
    """Locals on the left of inputs and on the right of outputs; with input mappings nothing else is needed, used or not."""
    compiled = compile_document(
        workflow(
            tuum("a", put("sum"), outputMappings={"total": "sum"}),
            tuum("b", script("amount", gives=["x"]), inputMappings={"amount": "total", "spare": "client"}, outputMappings={"half": "x"}),
            triggerParameters=[parameter("client")],
        )
    )
    second = compiled.tuums[1]
    assert (second.inputs, second.outputs, second.needs) == ({"amount": "total", "spare": "client"}, {"half": "x"}, (0,))


@pytest.mark.req("S003-A1", "S003-33")
def test_without_mappings_what_no_rune_before_gives_is_needed() -> None:
    """Under the same name; what an earlier rune of the tuum gives comes from there, also if another tuum publishes it."""
    compiled = compile_document(
        workflow(link("a", gives=["x", "y"]), tuum("b", script("x", gives=["y"]), script("y", gives=["z"]), outputMappings={"z": "z"}))
    )
    assert compiled.tuums[1].inputs == {"x": "x"}


@pytest.mark.req("S003-40", "S003-A11", "S003-X7")
def test_templates_read_what_is_there() -> None:
    """A tuum waits for what its templates name, in any case of letters; what nothing gives keeps it from nothing."""
    compiled = compile_document(workflow(tuum("b", put("c", "{{Notes.text}} {{nobody}}")), link("a", gives=["notes"])))
    first = compiled.tuums[0]
    assert (first.inputs, first.reads, first.needs) == ({}, {"Notes": "notes"}, (1,))
    both = compile_document(workflow(tuum("b", put("c", "{{notes}}"), script("notes"), put("d", "{{notes}}")), link("a", gives=["notes"])))
    assert (both.tuums[0].inputs, both.tuums[0].reads) == ({"notes": "notes"}, {})


@pytest.mark.req("S003-47", "S003-51", "S003-44", "S003-50")
def test_what_scripts_are_given_needs_no_source() -> None:
    """The chunks and the answer are there where they are made, and nowhere else."""
    main = {"source": "{}", "consumes": ["ai_final_output", "tuum_execution_time", "ai_error"]}
    callback = {"source": "{}", "consumes": ["ai_stream_output_added", "ai_stream_output_total", "tuum_execution_time"]}
    asks = {"promptRunes": [prompt()], "aiService": "fast", "isStreaming": True}
    compiled = compile_document(
        workflow(
            tuum("alone", script("ai_final_output"), mainScript=main),
            tuum("asks", script("ai_final_output", "ai_error"), **asks, mainScript=main, chunkCallback=callback),
        )
    )
    assert [one.inputs for one in compiled.tuums] == [{}, {}]
    wrong = workflow(
        tuum("alone", script("tuum_execution_time"), mainScript={"source": "{}", "consumes": ["ai_stream_output_added"]}),
        tuum("asks", promptRunes=[script("ai_final_output"), prompt()], aiService="fast"),
    )
    assert {one.args["name"] for one in refuse(wrong)} == {"tuum_execution_time", "ai_stream_output_added", "ai_final_output"}


@pytest.mark.req("S003-A2")
def test_a_parameter_that_is_published_anew_is_taken_anew() -> None:
    """Whoever publishes it reads the value of the start, all others wait for that tuum."""
    compiled = compile_document(
        workflow(link("late", ["notes"]), link("clean", ["notes"], ["notes"]), triggerParameters=[parameter("notes")])
    )
    assert list_names(compiled) == [["clean"], ["late"]]
    assert compiled.tuums[1].inputs == {"notes": "notes"}


@pytest.mark.req("S003-A2")
def test_two_producers_are_named() -> None:
    """Both of them, at the place of the second."""
    (wrong,) = refuse(workflow(link("a", gives=["x"]), link("b", gives=["x"]), link("c", ["x"])))
    assert (wrong.code, wrong.path) == ("finding-workflow-two-producers", "tuums[1].outputMappings.x")
    assert (wrong.args["first"], wrong.args["second"]) == ("a", "b")


@pytest.mark.req("S003-29", "S003-X4")
def test_a_cycle_is_named_with_its_path() -> None:
    """In the direction of the data, and without those that only wait for it."""
    (wrong,) = refuse(
        workflow(link("end", ["c"]), link("a", ["c"], ["a"]), link("b", ["a"], ["b"]), link("c", ["b"], ["c"]), link("free", gives=["f"]))
    )
    assert (wrong.code, wrong.path, wrong.args["names"]) == ("finding-workflow-cycle", "tuums[1]", "a -> b -> c -> a")
    assert "CircularDependency" in wrong.message


@pytest.mark.req("S003-29")
def test_every_cycle_is_named() -> None:
    """Two that share a tuum, one apart from them, and one tuum that waits for itself."""
    tuums = [
        link("a", ["b", "c"], ["a"]), link("b", ["a"], ["b"]), link("c", ["a"], ["c"]),
        link("d", ["e"], ["d"]), link("e", ["d"], ["e"]), link("f", ["f"], ["f"]),
    ]  # fmt: skip
    assert {one.args["names"] for one in refuse(workflow(*tuums))} == {"a -> b -> a", "a -> c -> a", "d -> e -> d", "f -> f"}


@pytest.mark.req("S003-A3")
def test_a_tuum_that_needs_what_it_publishes_waits_for_itself() -> None:
    """Also if a template reads it; unless the start gives it."""
    assert list_codes(workflow(tuum("a", put("x", "{{x}}!"), outputMappings={"x": "x"}))) == [("finding-workflow-cycle", "tuums[0]")]
    compile_document(workflow(tuum("a", put("x", "{{x}}!"), outputMappings={"x": "x"}), triggerParameters=[parameter("x")]))


@pytest.mark.req("S003-A4", "S003-X6")
@pytest.mark.parametrize(("one", "code", "path"), [
    (link("a", ["x"]), "finding-workflow-no-source", "tuums[0].runes[0]"),
    (tuum("a", put("q"), inputMappings={"q": "x"}), "finding-workflow-no-source", "tuums[0].inputMappings.q"),
    (tuum("a", script("x"), put("x")), "finding-tuum-variable-late", "tuums[0].runes[0]"),
    (tuum("a", script("x"), inputMappings={}), "finding-tuum-variable-unmapped", "tuums[0].runes[0]"),
    (tuum("a", script("x"), put("x"), inputMappings={}), "finding-tuum-variable-late", "tuums[0].runes[0]"),
    (tuum("a", put("x"), outputMappings={"y": "z"}), "finding-tuum-output-missing", "tuums[0].outputMappings.y"),
    (tuum("a", mainScript={"source": "{}", "consumes": ["b", "x"]}, inputMappings={"b": "client"}),
     "finding-tuum-variable-unmapped", "tuums[0].mainScript.consumes[1]"),
    (tuum("a", {"runeType": "dance"}), "finding-rune-type-unknown", "tuums[0].runes[0].runeType"),
    (tuum("a", {"runeType": "set", "variable": "x y", "value": 1}), "finding-workflow-name-form", "tuums[0].runes[0].variable"),
    (tuum("a", {"runeType": "ai", "aiService": "fast"}, prompt()), "finding-tuum-prompt-missing", "tuums[0].runes[0]"),
    (tuum("a", aiService="fast"), "finding-tuum-prompt-missing", "tuums[0].aiService"),
    (tuum("a", promptRunes=[{"runeType": "display", "content": "x"}]), "finding-rune-not-preparing", "tuums[0].promptRunes[0].runeType"),
])  # fmt: skip
def test_what_a_tuum_cannot_run_with_is_an_error_at_its_place(one: dict[str, Any], code: str, path: str) -> None:
    """Before anything runs, and alone."""
    assert list_codes(workflow(one, triggerParameters=[parameter("client")])) == [(code, path)]


@pytest.mark.req("S003-A12", "S003-X8")
def test_what_is_switched_off_neither_needs_nor_gives() -> None:
    """Neither tuums nor runes, in a workflow or stored on their own."""
    compiled = compile_document(
        workflow(
            link("off", ["nobody"], ["x"], enabled=False), link("on", gives=["x"]), tuum("b", script("never", enabled=False), script("x")),
            {"tuum": "stored", "enabled": False}, {"tuum": "other"},
        ),
        {"other": link("o", ["nobody"], enabled=False)},
    )  # fmt: skip
    assert [(one.index, one.id) for one in compiled.tuums] == [(1, "on"), (2, "b")]
    assert compiled.tuums[1].needs == (0,)


@pytest.mark.req("S003-4")
def test_a_stored_tuum_stands_in_a_workflow_twice() -> None:
    """Under names of its own, and with mappings in place of those that it has."""
    shared = tuum("shout", script("text", gives=["loud"]), inputMappings={"text": "text"}, outputMappings={"loud": "loud"})
    compiled = compile_document(
        workflow(
            {"tuum": "shout@2", "id": "first", "inputMappings": {"text": "name"}},
            {"tuum": "shout@2", "outputMappings": {"louder": "loud"}, "inputMappings": {"text": "loud"}},
            triggerParameters=[parameter("name")],
        ),
        {"shout@2": shared},
    )
    assert [(one.id, dict(one.inputs), dict(one.outputs), one.needs) for one in compiled.tuums] == [
        ("first", {"text": "name"}, {"loud": "loud"}, ()),
        ("shout", {"text": "loud"}, {"louder": "loud"}, (0,)),
    ]
    assert compiled.tuums[0].tuum.input_mappings == {"text": "name"}


def test_a_tuum_that_is_not_at_hand_keeps_a_workflow_from_running() -> None:
    """And one with the name of another, too."""
    assert list_codes(workflow({"tuum": "shout@2"})) == [("finding-workflow-tuum-missing", "tuums[0]")]
    assert list_codes(workflow(link("a"), link("a"))) == [("finding-name-twice", "tuums[1].tuumId")]


@pytest.mark.req("S003-X6")
def test_the_result_is_made_once_and_last() -> None:
    """By one rune or by the workflow, in a tuum on which none depends."""
    ends = {"runeType": "terminal", "rawText": "x"}
    compile_document(workflow(tuum("a", put("x"), ends)))
    assert list_codes(workflow(tuum("a", put("x"), ends), terminal={"rawText": "y"})) == [
        ("finding-workflow-terminal-twice", "tuums[0].runes[1]")
    ]
    assert list_codes(workflow(tuum("a", put("x"), ends), tuum("b", put("x"), ends))) == [
        ("finding-workflow-terminal-twice", "tuums[1].runes[1]")
    ]
    assert list_codes(workflow(tuum("a", put("x"), ends, ends))) == [("finding-tuum-terminal-twice", "tuums[0].runes[2]")]
    inside = workflow(tuum("a", put("x"), ends, outputMappings={"x": "x"}), link("b", ["x"]))
    assert list_codes(inside) == [("finding-workflow-terminal-inside", "tuums[0].runes[1]")]


@pytest.mark.req("S003-A9")
def test_a_result_of_what_nobody_gives_can_be_compiled() -> None:
    """It will be empty."""
    compile_document(workflow(tuum("a", put("x"), {"runeType": "terminal", "rawText": "nobody"})))
    compile_document(workflow(link("a", gives=["x"]), terminal={"operations": "nobody"}))


def test_declared_types_are_compared() -> None:
    """Where both ends of a variable, or the start and whoever reads its parameter, say what it is."""
    gives = tuum("a", put("sum"), outputMappings={"total": "sum"}, variableTypes={"sum": "number"})
    takes = tuum("b", script("amount"), inputMappings={"amount": "total"})
    compile_document(workflow(gives, {**takes, "variableTypes": {"amount": "number"}}))
    wrong = workflow(gives, {**takes, "variableTypes": {"amount": "array"}})
    assert list_codes(wrong) == [("finding-workflow-types", "tuums[1].variableTypes.amount")]
    start = workflow(link("a", ["client"], variableTypes={"client": "number"}), triggerParameters=[parameter("client")])
    assert list_codes(start) == [("finding-workflow-types", "tuums[0].variableTypes.client")]


@pytest.mark.long
def test_a_chain_of_ten_thousand_compiles() -> None:
    """No way is too long, also not one that goes round."""
    chain = [link(f"t{n}", [f"v{n - 1}"] if n else [], [f"v{n}"]) for n in range(10_000)]
    assert len(compile_document(workflow(*chain)).levels) == 10_000
    ring = [link("t0", ["v9999"], ["v0"]), *chain[1:]]
    (wrong,) = refuse(workflow(*ring))
    assert str(wrong.args["names"]).startswith("t0 -> t1 -> t2 ->")


@pytest.mark.long
def test_a_thousand_tuums_compile_within_fifty_milliseconds() -> None:
    """The best of ten, for the machine may be busy."""
    tuums = [link(f"t{n}", [f"v{one}" for one in range(max(n - 3, 0), n)], [f"v{n}"]) for n in range(1000)]
    read = Workflow.model_validate(workflow(*tuums))
    took = []
    for _ in range(10):
        begun = time.process_time()
        compile_workflow(read, {}, TYPES)
        took.append(time.process_time() - begun)
    assert min(took) <= 0.05, took


@pytest.mark.parametrize(
    ("one", "has"),
    [
        (tuum("first", put("x")), False),
        (tuum("first", put("x"), script("x")), True),
        (tuum("first", promptRunes=[script()]), True),
        (tuum("first", mainScript={"source": "{}"}), True),
    ],
    ids=["no script", "a rune", "a rune of the prompt", "the main script"],
)
def test_scripts_are_known_wherever_they_stand(one: dict[str, Any], has: bool) -> None:  # noqa: FBT001 - a row of the table
    """The clock of scripts is stored for runs of these workflows alone."""
    assert compile_document(workflow(one)).has_scripts is has

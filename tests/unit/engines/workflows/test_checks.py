"""A workflow is checked before it runs: every mistake in one pass, each at its place, and what is right is left alone."""

import re
import time
from typing import Any

import pytest

from bot.i18n.translate import Translator
from engines.workflows.core.checks import check_tuum, check_workflow
from engines.workflows.core.definition import Workflow
from engines.workflows.core.mistakes import MISTAKES
from engines.workflows.core.registry import build_rune_types
from engines.workflows.core.rune_types import AnyRuneType, Changes, RuneCall, RuneMistake, RuneParams, RuneType
from orchestrator.documents.document import Document
from orchestrator.documents.findings import MOST
from orchestrator.documents.reading import read_document
from orchestrator.documents.reports import quote_part
from orchestrator.domain.finding import Finding
from tests.unit.engines.workflows.workflow_kit import TYPES, link, parameter, prompt, put, script, tuum, workflow

GOOD = workflow(
    tuum("letter", promptRunes=[prompt("Write to {{client}} about {{deals}}")], aiService="fast", outputMappings={"text": "ai_final_output"}),
    tuum("deals", {"runeType": "query", "method": "crm.deal.list", "output": "deals"}, outputMappings={"deals": "deals"}),
    triggerParameters=[parameter("client")],
    terminal={"rawText": "text"},
)  # fmt: skip


def check(document: object, tuums: dict[str, object] | None = None) -> list[Finding]:
    return list(check_workflow(Document.from_data(document), TYPES, tuums or {}))


def find(document: object, tuums: dict[str, object] | None = None) -> list[tuple[str, str, str]]:
    return [(one.severity, one.code, one.path) for one in check(document, tuums)]


def find_in(*runes: dict[str, Any], **fields: Any) -> list[tuple[str, str, str]]:
    """What is found in a tuum that is stored on its own."""
    document = Document.from_data(tuum("a", *runes, **fields))
    return [(one.severity, one.code, one.path) for one in check_tuum(document, TYPES)]


def test_a_good_workflow_has_no_mistake() -> None:
    assert find(GOOD) == []


@pytest.mark.req("S003-X6")
def test_ten_mistakes_are_ten_findings_at_their_places() -> None:
    """In one pass, with line and column of the text."""
    text = """workflowId: dossier
metadata: {title: A}
triggerParametrs: []
tuums:
  - tuumId: deals
    runes:
      - {runeType: qery, method: crm.deal.list, output: deals}
  - tuumId: notes
    runes:
      - {runeType: set, variable: notes, valeu: 1}
      - {runeType: regex, input: notes, pattern: "(", output: found}
  - tuumId: sum
    runes:
      - {runeType: script, source: "{}", consumes: [sum_of_deals], produces: [total]}
    outputMappings: {total: totl}
  - tuumId: one
    inputMappings: {x: two}
    outputMappings: {one: x}
  - tuumId: two
    inputMappings: {x: one}
    outputMappings: {two: x}
  - tuumId: again
    runes: [{runeType: set, variable: x, value: 1}]
    outputMappings: {one: x}
terminal: {rawText: txt, operations: 5}
"""
    reading = read_document(text, "yaml")
    assert reading.draft is not None
    found = check_workflow(reading.draft, TYPES)
    assert [(one.code, one.path, one.line) for one in found if one.severity != "info"] == [
        ("finding-field-unknown", "triggerParametrs", 3),
        ("finding-rune-type-unknown", "tuums[0].runes[0].runeType", 7),
        ("finding-field-missing", "tuums[1].runes[0].value", 10),
        ("finding-rune-field-unknown", "tuums[1].runes[0].valeu", 10),
        ("finding-rune-pattern", "tuums[1].runes[1].pattern", 11),
        ("finding-workflow-no-source", "tuums[2].runes[0]", 14),
        ("finding-tuum-output-missing", "tuums[2].outputMappings.total", 15),
        ("finding-workflow-cycle", "tuums[3]", 16),
        ("finding-workflow-two-producers", "tuums[5].outputMappings.one", 24),
        ("finding-field-shape", "terminal.operations", 25),
    ]


@pytest.mark.req("S003-X6")
@pytest.mark.parametrize(("runes", "fields", "wanted"), [
    ([put("x")], {}, ("info", "finding-tuum-variable-unused", "runes[0]")),
    ([put("y")], {"inputMappings": {"x": "g"}, "outputMappings": {"y": "y"}}, ("info", "finding-tuum-input-unused", "inputMappings.x")),
    ([put("x", "{{y}}")], {"inputMappings": {}, "outputMappings": {"x": "x"}}, ("warning", "finding-workflow-template-empty", "runes[0]")),
    ([], {"promptRunes": [prompt()]}, ("warning", "finding-tuum-prompt-unused", "promptRunes[0]")),
    ([script("x")], {"isStreaming": True}, ("warning", "finding-tuum-streaming-idle", "isStreaming")),
    ([script("x")], {"chunkCallback": {"source": "{}"}}, ("warning", "finding-tuum-callback-idle", "chunkCallback")),
    ([], {}, ("warning", "finding-tuum-empty", "")),
    ([script("ai_final_output")], {"inputMappings": {"ai_final_output": "x"}},
     ("error", "finding-tuum-variable-replaced", "inputMappings.ai_final_output")),
    ([script("ai_error")], {"promptRunes": [put("ai_error")]}, ("error", "finding-tuum-variable-replaced", "promptRunes[0]")),
    ([{"runeType": "ai", "aiService": "f"}, script("AiOutput")], {"promptRunes": [prompt()], "aiService": "f"},
     ("warning", "finding-tuum-ai-twice", "runes[0]")),
    ([script("x", colour="red")], {}, ("warning", "finding-rune-field-unknown", "runes[0].colour")),
    ([script("x")], {"mainScirpt": 1}, ("warning", "finding-field-unknown", "mainScirpt")),
    ([script("x")], {"mainScript": {"source": "{}", "consumed": []}}, ("warning", "finding-field-unknown", "mainScript.consumed")),
    ([script("x")], {"mainScript": {"source": "{}", "consumes": ["class"]}},
     ("error", "finding-script-variable-word", "mainScript.consumes[0]")),
    ([script("class")], {}, ("error", "finding-script-variable-word", "runes[0].consumes[0]")),
    ([{"runeType": "regex", "input": "a", "output": "b", "pattern": "["}, script("b")], {},
     ("error", "finding-rune-pattern", "runes[0].pattern")),
    ([{"runeType": "regex", "input": "a", "output": "b", "pattern": "(x)", "group": 2}, script("b")], {},
     ("error", "finding-rune-group", "runes[0].group")),
    ([{"runeType": "regex", "input": "a", "output": "b", "pattern": "(x)", "group": "y"}, script("b")], {},
     ("error", "finding-rune-group", "runes[0].group")),
    ([{"runeType": "json", "input": "a", "output": "b", "path": "items[x]"}, script("b")], {},
     ("error", "finding-rune-path", "runes[0].path")),
    ([{"runeType": "query", "method": "crm.{{x}}.list", "output": "b"}, script("b")], {},
     ("error", "finding-rune-method-template", "runes[0].method")),
    ([{"runeType": "display", "content": "x", "incrementalType": "json-patch"}], {},
     ("warning", "finding-rune-incremental-type", "runes[0].incrementalType")),
    ([put("x", ["{{a}}" * 5001, "{{a}}" * 5001]), script("x")], {}, ("error", "finding-rune-template", "runes[0]")),
])  # fmt: skip
def test_a_mistake_in_a_tuum_is_found_at_its_place(
    runes: list[dict[str, Any]], fields: dict[str, Any], wanted: tuple[str, str, str]
) -> None:
    """In one that is stored on its own, and nothing else is found there."""
    assert find_in(*runes, **fields) == [wanted]


@pytest.mark.req("S003-X9")
@pytest.mark.parametrize(("fields", "wanted"), [
    ({"operationType": "CreateEntity", "entityId": "new", "initialAttributes": {"TITLE": "x"}}, []),
    ({"operationType": "ModifyEntity", "entityId": "{{deal}}", "attributeKey": "TITLE", "modifyValue": None}, []),
    ({"operationType": "CreateEntity", "entityId": "new"}, [("error", "finding-rune-operation-lacks", "initialAttributes")]),
    ({"operationType": "ModifyEntity", "entityId": "5", "modifyValue": 1}, [("error", "finding-rune-operation-lacks", "attributeKey")]),
    ({"operationType": "ModifyEntity", "entityId": "5", "attributeKey": "A"}, [("error", "finding-rune-operation-lacks", "modifyValue")]),
    ({"operationType": "ModifyEntity", "attributeKey": "A", "modifyValue": 1}, [("error", "finding-rune-operation-lacks", "entityId")]),
    ({"operationType": "DeleteEntity", "entityId": "5"}, [("warning", "finding-rune-operation-deletes", "operationType")]),
    (
        {"operationType": "DeleteEntity", "entityId": "5", "attributeKey": "A"},
        [("error", "finding-rune-operation-extra", "attributeKey"), ("warning", "finding-rune-operation-deletes", "operationType")],
    ),
    ({"operationType": "Dance", "entityId": "5"}, [("error", "finding-value-unknown", "operationType")]),
])  # fmt: skip
def test_an_operation_says_all_that_it_needs(fields: dict[str, Any], wanted: list[tuple[str, str, str]]) -> None:
    """And nothing that belongs to another."""
    rune = {"runeType": "operation", "entityType": "deal", **fields}
    assert find_in(rune, outputMappings={}) == [(severity, code, f"runes[0].{path}") for severity, code, path in wanted]


def test_an_operation_that_a_tuum_does_not_say_it_may_propose_is_a_mistake() -> None:
    """It would fail when it is proposed."""
    rune = {"runeType": "operation", "operationType": "CreateEntity", "entityType": "deal", "entityId": "x", "initialAttributes": {"A": 1}}
    assert find_in(rune, mayPropose=["CreateEntity deal"]) == []
    assert find_in(rune, mayPropose=["CreateEntity task"]) == [("error", "finding-tuum-not-proposed", "runes[0]")]
    assert find_in({**rune, "enabled": False}, script("x"), mayPropose=[]) == []


RENAME = {"operationType": "ModifyEntity", "entityType": "deal", "entityId": "1", "attributeKey": "TITLE", "modifyOperator": "="}
NOT_PROPOSED = [
    ([put("list", [RENAME, RENAME])], ["CreateEntity task"], ["finding-tuum-not-proposed"]),
    ([put("list", [RENAME])], ["ModifyEntity deal"], []),
    ([put("list", [RENAME])], None, []),
    ([put("list", [RENAME]), put("list", [])], [], []),
    ([put("list", []), put("list", [RENAME])], [], ["finding-tuum-not-proposed"]),
    ([put("list", [RENAME], enabled=False), put("list", [])], [], []),
    ([put("list", [RENAME]), script(gives=["list"])], ["CreateEntity task"], []),
    ([script(gives=["list"])], [], ["finding-tuum-proposes-nothing"]),
    ([put("list", "{{list}}")], [], ["finding-tuum-proposes-nothing"]),
    ([put("list", [{**RENAME, "operationType": "{{what}}"}, {}, "x"])], ["CreateEntity task"], []),
]


@pytest.mark.req("S003-16", "S003-X6")
@pytest.mark.parametrize(("runes", "may", "wanted"), NOT_PROPOSED)
def test_operations_of_the_result_are_held_to_what_their_tuum_may_propose(
    runes: list[dict[str, Any]], may: list[str] | None, wanted: list[str]
) -> None:
    """Of a terminal in the tuum and of that of the workflow: what can only fail when it runs is said before."""
    fields = {} if may is None else {"mayPropose": may}
    ending = {"runeType": "terminal", "operations": "list"}
    place = f"runes[{len(runes)}].operations"
    errors = [one for one in find_in(*runes, ending, **fields) if one[0] == "error"]
    assert errors == [("error", code, place) for code in wanted]
    stored = tuum("only", *runes, outputMappings={"changes": "list"}, **fields)
    named, place = {"tuum": "only", "id": "mine"}, "tuums[0].outputMappings.changes"
    for document, tuums, at in (workflow(stored), {}, place), (workflow(named), {"only": stored}, "tuums[0]"):
        errors = [one for one in find({**document, "terminal": {"operations": "changes"}}, tuums) if one[0] == "error"]
        assert errors == [("error", code, at) for code in wanted]


@pytest.mark.req("S003-62", "S003-A9", "S003-A11")
@pytest.mark.parametrize(("fields", "wanted"), [
    ({"terminal": {"rawText": "text", "operations": "none"}}, ("warning", "finding-workflow-terminal-empty", "terminal.operations")),
    ({"terminal": {"operations": "client"}}, ("warning", "finding-workflow-output-unused", "tuums[0].outputMappings.text")),
    ({"metadata": {}}, ("warning", "finding-workflow-title-missing", "metadata")),
    (
        {"triggerParameters": [parameter("client"), parameter("spare")]},
        ("info", "finding-workflow-parameter-unused", "triggerParameters[1]"),
    ),
    ({"triggerParameters": [parameter("client"), parameter("client")]}, ("error", "finding-name-twice", "triggerParameters[1].name")),
    ({"triggerParameters": [parameter("client", default=5)]}, ("error", "finding-flow-default-unfit", "triggerParameters[0].default")),
    ({"triggerParameters": [parameter("clint")]}, ("warning", "finding-workflow-template-empty", "tuums[0].promptRunes[0]")),
    ({"terminal": {"rawtext": "x"}}, ("warning", "finding-field-unknown", "terminal.rawtext")),
    ({"schedulng": "batch"}, ("warning", "finding-field-unknown", "schedulng")),
])  # fmt: skip
def test_a_mistake_of_the_whole_is_found_at_its_place(fields: dict[str, Any], wanted: tuple[str, str, str]) -> None:
    """And what is probably meant is said."""
    assert wanted in find({**GOOD, **fields})


def test_a_name_that_is_no_variable_is_no_parameter() -> None:
    """Scripts and mappings could not name it."""
    found = find({**GOOD, "triggerParameters": [parameter("client"), parameter("client name")]})
    assert ("error", "finding-workflow-name-form", "triggerParameters[1].name") in found


def test_an_input_that_the_start_may_leave_out_is_a_warning() -> None:
    """Unless it has a default, or only a template reads it."""
    needs = workflow(link("a", ["client"]), triggerParameters=[parameter("client", required=False)])
    assert find(needs) == [("warning", "finding-workflow-parameter-optional", "tuums[0].runes[0]")]
    assert find({**needs, "triggerParameters": [parameter("client", required=False, default="x")]}) == []
    assert find({**GOOD, "triggerParameters": [parameter("client", required=False)]}) == []


def test_suggestions_name_what_is_near() -> None:
    """Of globals and types; beside the tuum in which it is."""
    found = check(workflow(link("a", gives=["deals"]), link("b", ["deels"]), tuum("c", {"runeType": "promt"})))
    assert {(one.code, one.suggestion, one.step) for one in found} >= {
        ("finding-workflow-no-source", "deals", "b"),
        ("finding-rune-type-unknown", "prompt", "c"),
    }


@pytest.mark.req("S003-4", "S003-60")
def test_of_tuums_that_are_not_at_hand_nothing_is_missing() -> None:
    """They may give anything, unless their reference says what they publish; with the tuums at hand all is checked."""
    unknown = workflow({"tuum": "deals"}, link("b", ["deals", "x"]))
    assert find(unknown) == []
    mapped = workflow({"tuum": "deals", "outputMappings": {"deals": "d"}}, link("b", ["deals", "x"]))
    assert find(mapped) == [("error", "finding-workflow-no-source", "tuums[1].runes[0]")]
    stored = link("d", ["client"], ["deals"])
    assert find(unknown, {"deals": stored}) == [
        ("error", "finding-workflow-no-source", "tuums[0]"),
        ("error", "finding-workflow-no-source", "tuums[1].runes[0]"),
    ]
    assert find(workflow({"tuum": "deals"}), {"deals": tuum("d", {"runeType": "dance"})}) == [
        ("error", "finding-workflow-rune-unfit", "tuums[0]")
    ]


@pytest.mark.req("S003-A12")
def test_what_is_switched_off_is_checked_by_itself() -> None:
    """It may be switched on again; but nothing is said of what it needs and gives."""
    off = tuum("off", script("nobody"), {"runeType": "dance"}, enabled=False)
    assert find(workflow(off)) == [
        ("warning", "finding-workflow-all-off", "tuums"),
        ("error", "finding-rune-type-unknown", "tuums[0].runes[1].runeType"),
    ]


def test_a_mistake_hides_no_other() -> None:
    """The runes of a tuum that cannot be read are checked all the same, and what it publishes is known; so are the other tuums checked."""
    unread = {**tuum("", {"runeType": "dance"}), "isStreaming": 5, "outputMappings": {"y": "y"}}
    found = find(workflow(unread, link("b", ["y", "z"], gives=["x"]), link("c", gives=["x"])))
    assert {(code, path) for _, code, path in found} == {
        ("finding-workflow-no-source", "tuums[1].runes[0]"),
        ("finding-workflow-two-producers", "tuums[2].outputMappings.x"),
        ("finding-field-shape", "tuums[0].isStreaming"),
        ("finding-rune-type-unknown", "tuums[0].runes[0].runeType"),
        ("finding-definition-key", "tuums[0].tuumId"),
    }


def test_a_plugin_s_type_says_what_is_wrong_with_its_runes() -> None:
    """In words of its own."""

    class Params(RuneParams):
        level: int

    async def shout(_call: RuneCall[Params]) -> Changes:
        return {}

    def find_mistakes(params: Params) -> list[RuneMistake]:
        return [RuneMistake(path=("level",), args={"problem": "too loud"})] if params.level > 10 else []

    loud: AnyRuneType = RuneType[Params](name="loud", summary="Shouts.", params=Params, perform=shout, find_mistakes=find_mistakes)
    document = Document.from_data(tuum("a", {"runeType": "loud", "level": 11}))
    (found,) = check_tuum(document, build_rune_types([loud]))
    assert (found.code, found.path, found.message) == ("finding-rune-wrong", "runes[0].level", "this rune cannot run: too loud")


@pytest.mark.req("S003-X6")
def test_every_mistake_has_its_sentence_in_both_languages() -> None:
    """With all that the English one tells; and in JSON its rule and its grade."""
    for code, mistake in MISTAKES.items():
        names = re.findall(r"{(\w+)}", mistake.sentence)
        for locale in ("ru", "en"):
            translator = Translator(locale)  # type: ignore[arg-type]  # the two languages of the program
            assert translator.has_message(code), code
            told = translator.translate(code, **{name: f"<{name}>" for name in names})
            assert all(f"<{name}>" in told for name in names), (code, locale)
    (cycle,) = check(workflow(link("a", ["x"], ["x"])))
    assert (cycle.args["rule"], cycle.args["grade"]) == ("DataFlow", "Fatal")


@pytest.mark.long
def test_a_large_workflow_is_checked_in_bounded_time() -> None:
    """1,000 tuums of which each needs what nobody gives are checked quickly, and at most `MOST` findings are listed."""
    begun = time.process_time()
    found = find(workflow(*[link(f"t{n}", [f"w{n}"], [f"v{n}"]) for n in range(1000)]))
    assert time.process_time() - begun < 5
    assert len(found) <= MOST + 1


@pytest.mark.req("S003-X6")
def test_a_misspelt_field_is_found_wherever_it_stands() -> None:
    """A typo in a switch or a limit would be without effect and unseen: whoever writes `budget: {maxTokns: 5}` has no limit at all."""
    asks = tuum(
        "asks",
        prompt("{{client}}"),
        {"runeType": "ai", "aiService": "fast", "options": {"temprature": 1}},
        metadata={"titel": "Вопрос"},
        options={"topp": 0.5},
        mainScript={"source": "{}", "consums": []},
        outputMappings={"text": "AiOutput"},
    )
    document = workflow(
        asks,
        {"tuum": "stored", "outputMapings": {}},
        metadata={"title": "Typos", "descripton": "x"},
        triggers={"apy": False},
        triggerParameters=[parameter("client", requird=False)],
        terminal={"rawtext": "text"},
        budget={"maxTokns": 5},
    )
    found = {(one.path, one.suggestion) for one in check(document) if one.code == "finding-field-unknown"}
    assert found == {
        ("tuums[0].runes[1].options.temprature", "temperature"), ("tuums[0].metadata.titel", "title"), ("tuums[0].options.topp", "topP"),
        ("tuums[0].mainScript.consums", "consumes"), ("tuums[1].outputMapings", "outputMappings"), ("metadata.descripton", "description"),
        ("triggers.apy", "api"), ("triggerParameters[0].requird", "required"), ("terminal.rawtext", "rawText"),
        ("budget.maxTokns", "maxTokens"),
    }  # fmt: skip


@pytest.mark.req("S003-X6")
def test_a_name_that_is_none_is_explained_and_not_the_pattern() -> None:
    """Of a key of a mapping, of what it is mapped to, of a rune's variable and of a kind of operations; each once, with what is wrong."""
    document = tuum(
        "a",
        put("my-var"),
        script("1st", gives=["и т. д."]),
        mayPropose=["ModifyEntity Deal"],
        inputMappings={"": "x"},
        outputMappings={"my-global": "my-var", "sum": "my var"},
    )
    found = [one for one in check_tuum(Document.from_data(document), TYPES) if one.severity == "error"]
    assert sorted((one.code, one.path, one.args["name"]) for one in found) == [
        ("finding-tuum-proposal-form", "mayPropose[0]", "ModifyEntity Deal"),
        ("finding-workflow-name-form", 'inputMappings[""]', ""),
        ("finding-workflow-name-form", "outputMappings.sum", "my var"),
        ("finding-workflow-name-form", 'outputMappings["my-global"]', "my-global"),
        ("finding-workflow-name-form", 'outputMappings["my-global"]', "my-var"),
        ("finding-workflow-name-form", "runes[0].variable", "my-var"),
        ("finding-workflow-name-form", "runes[1].consumes[0]", "1st"),
        ("finding-workflow-name-form", "runes[1].produces[0]", "и т. д."),
    ]


@pytest.mark.req("S003-40", "S003-A11", "S003-X6")
@pytest.mark.parametrize(("text", "wrong"), [
    ("Привет, {{имя клиента}}!", ["{{имя клиента}}"]),
    ("{{ client|upper }} {{1st}} {{}}", ["{{ client|upper }}", "{{1st}}", "{{}}"]),
    ("{{client}} {{ client }} {{client.name}} {{rows[0].a}} \\{{a b}}", []),
    ('Ответь объектом {"a": {"b": 1}} или {"c": {}}', []),
    ("{{client\n}} {{ client {{cli\nent}}", ["{{cli\nent}}"]),
    ("{{" * 50_000, []),
])  # fmt: skip
def test_a_placeholder_that_cannot_be_read_is_found(text: str, wrong: list[str]) -> None:
    """It would stand in the text as it is written: a model, or a field of the CRM, would get the braces."""
    document = workflow(
        tuum("a", put("x", {"deep": [text]}), outputMappings={"x": "x"}), triggerParameters=[parameter("client"), parameter("rows")]
    )
    found = [one for one in check(document) if one.code == "finding-workflow-template-form"]
    assert [(one.path, one.severity, one.args["name"]) for one in found] == [
        ("tuums[0].runes[0].value.deep[0]", "warning", quote_part(one)) for one in wrong
    ]


def test_only_texts_that_are_filled_are_searched_for_placeholders() -> None:
    """A script, an expression and a name are none."""
    runes = [
        script("x", source="f'{{a b}}'", name="{{a b}}"),
        {"runeType": "regex", "input": "x", "pattern": "{{a b}}", "output": "y"},
        prompt("{{a b}}", enabled=False),
    ]
    found = [one.path for one in check(workflow(tuum("a", *runes))) if one.code == "finding-workflow-template-form"]
    assert found == ["tuums[0].runes[2].template"]


@pytest.mark.req("S003-X6")
def test_a_bound_on_steps_is_said_to_bound_nothing() -> None:
    """It is one of flows: whoever writes it believes that the run is bounded. The document stays readable."""
    document = workflow(tuum("a", put("x"), outputMappings={"x": "x"}), budget={"maxSteps": 5, "maxTokens": 5}, terminal={"rawText": "x"})
    (found,) = check(document)
    assert (found.code, found.path, found.severity) == ("finding-workflow-budget-steps", "budget.maxSteps", "warning")
    assert Workflow.model_validate(document).budget.max_tokens == 5


@pytest.mark.req("S003-4", "S003-X6")
def test_what_a_reference_writes_of_a_tuum_is_said_to_have_no_effect() -> None:
    """The tuum that it names has its own runes and model; what a reference may say itself is no mistake."""
    own = {"id": "here", "enabled": True, "inputMappings": {}, "outputMappings": {"x": "y"}}
    more = {"runes": [put("y")], "aiService": "tool", "outputMapings": {}, "tuumId": "own"}
    document = workflow({"tuum": "stored", **own, **more}, terminal={"rawText": "x"})
    found = sorted((one.code, one.path, one.args["name"]) for one in check(document) if one.severity == "warning")
    assert found == [
        ("finding-field-unknown", "tuums[0].outputMapings", "outputMapings"),
        ("finding-field-unknown", "tuums[0].tuumId", "tuumId"),
        ("finding-workflow-reference-field", "tuums[0].aiService", "aiService"),
        ("finding-workflow-reference-field", "tuums[0].runes", "runes"),
    ]


def test_two_variables_that_differ_in_capitals_alone_are_warned_of() -> None:
    """A placeholder does not regard case, so it would take either."""
    found = find(workflow(link("b", gives=["val"]), link("c", gives=["Val"])))
    assert ("finding-workflow-names-alike", "tuums[1].outputMappings.Val") in {(code, path) for _, code, path in found}

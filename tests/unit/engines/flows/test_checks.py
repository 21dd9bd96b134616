"""A flow is checked before it runs: every mistake in one pass, each at its place, and what is right is left alone."""

import copy
import time
from typing import Any

import pytest

from bot.i18n.translate import Translator
from engines.flows.core.checks import SENTENCES, check_flow
from orchestrator.documents.document import Document
from orchestrator.documents.findings import MOST
from orchestrator.documents.reading import read_document

SAMPLE: dict[str, Any] = {
    "flowId": "solution-workshop",
    "version": 4,
    "metadata": {"title": "Solution Design Workshop", "description": "Флоу согласования требований и генерации решения"},
    "syncOnly": True,
    "launchParameters": [{"name": "problemStatement", "type": "string"}, {"name": "constraints", "type": "array", "required": False}],
    "steps": [
        {
            "id": "gather_requirements",
            "name": "Сбор требований",
            "agentVersionId": "aaaaaaaa-1111-2222-3333-444444444444",
            "prompt": "Ты бизнес-аналитик. Собери контекст и требования.",
            "memoryReads": [{"channel": "context", "limit": 5}],
            "memoryWrites": [{"channel": "context", "mode": "AGENT_OUTPUT"}],
            "transitions": {"onSuccess": {"next": "generate_solution"}, "onFailure": {"next": "abort_flow", "fail": True}},
        },
        {
            "id": "generate_solution",
            "agentVersionId": "bbbbbbbb-1111-2222-3333-444444444444",
            "memoryReads": [{"channel": "context", "limit": 5}, {"channel": "decision-log", "limit": 20}],
            "memoryWrites": [{"channel": "decision-log", "mode": "AGENT_OUTPUT"}],
            "overrides": {"temperature": 0.2, "maxTokens": 1500},
            "transitions": {"onSuccess": {"next": "review_solution"}, "onFailure": {"next": "refine_solution", "fail": False}},
        },
        {
            "id": "review_solution",
            "agentVersionId": "cccccccc-1111-2222-3333-444444444444",
            "transitions": {"onSuccess": {"complete": True}, "onFailure": {"next": "abort_flow"}},
        },
        {
            "id": "abort_flow",
            "agentVersionId": "dddddddd-1111-2222-3333-444444444444",
            "transitions": {"onSuccess": {"complete": True}},
        },
    ],
    "outputs": {
        "summaryFields": ["steps.generate_solution.output.summary"],
        "resultPayload": {
            "solution": "$steps.generate_solution.output.draft",
            "nextActions": "$steps.review_solution.output.recommendations",
        },
    },
}
"""The seed's own example, which leads to a step that it does not have (S002-M1)."""


def find(document: object) -> list[tuple[str, str, str]]:
    return [(one.severity, one.code, one.path) for one in check_flow(Document.from_data(document)) if one.severity != "info"]


def mend(**changes: Any) -> dict[str, Any]:
    """The seed's example without its mistake, with these fields."""
    flow = copy.deepcopy(SAMPLE)
    flow["steps"][1]["transitions"]["onFailure"]["next"] = "abort_flow"
    return {**flow, **changes}


def with_step(**fields: Any) -> dict[str, Any]:
    """The mended example whose last step has these fields, too."""
    flow = mend()
    flow["steps"][3] |= fields
    return flow


@pytest.mark.req("S002-A6", "S002-48")
def test_the_seed_s_own_example_names_a_step_that_it_does_not_have() -> None:
    """M1: that one mistake is named with its place; mended, nothing is found."""
    assert find(SAMPLE) == [("error", "finding-flow-step-unknown", "steps[1].transitions.onFailure.next")]
    assert find(mend()) == []


@pytest.mark.req("S002-5")
def test_yaml_and_json_of_one_flow_mean_the_same() -> None:
    """A file in either form becomes equal data, in which a mistake has its line."""
    text = (
        "flowId: a\nmetadata: {title: А}\nsteps:\n  - id: one\n    agentVersionId: writer\n    transitions:\n      onSuccess: {next: two}\n"
    )
    reading = read_document(text)
    assert reading.document is not None
    same = {
        "flowId": "a",
        "metadata": {"title": "А"},
        "steps": [{"id": "one", "agentVersionId": "writer", "transitions": {"onSuccess": {"next": "two"}}}],
    }
    assert reading.document.data == same
    (found,) = check_flow(reading.document)
    assert (found.code, found.line, found.column) == ("finding-flow-step-unknown", 7, 25)


@pytest.mark.req(
    "S002-6",
    "S002-10",
    "S002-11",
    "S002-14",
    "S002-28",
    "S002-40",
    "S002-47",
    "S002-48",
    "S002-51",
    "S002-52",
    "S002-A2",
    "S002-A3",
    "S002-A13",
)
@pytest.mark.parametrize(("document", "code", "path"), [
    (mend(flowId="ромашка"), "finding-definition-key", "flowId"),
    (mend(flowId=""), "finding-definition-key", "flowId"),
    (mend(flowId="a" * 65), "finding-definition-key", "flowId"),
    (mend(version=0), "finding-value-least", "version"),
    (mend(version="4"), "finding-field-shape", "version"),
    (mend(syncOnly=False), "finding-flow-sync-only", "syncOnly"),
    (mend(syncOnly="true"), "finding-flow-sync-only", "syncOnly"),
    (mend(steps=[]), "finding-field-empty", "steps"),
    (mend(steps={}), "finding-field-shape", "steps"),
    (mend(steps=[None]), "finding-field-shape", "steps[0]"),
    (mend(startStepId="nowhere"), "finding-flow-step-unknown", "startStepId"),
    (mend(retryPolicy={}), "finding-flow-field-excluded", "retryPolicy"),
    (mend(metadata=[]), "finding-field-shape", "metadata"),
    (mend(metadata={"title": "А", "tags": [1]}), "finding-field-shape", "metadata.tags[0]"),
    (mend(triggers={"ui": "yes"}), "finding-field-shape", "triggers.ui"),
    (mend(defaults={"overrides": {"options": {"topP": 2}}}), "finding-value-most", "defaults.overrides.options.topP"),
    (mend(memory={"sharedChannels": [{"id": "a"}, {"id": "a"}]}), "finding-name-twice", "memory.sharedChannels[1].id"),
    (mend(memory={"sharedChannels": [{"id": "a", "retentionDays": 0}]}), "finding-value-least", "memory.sharedChannels[0].retentionDays"),
    (mend(launchParameters=[{"name": "a"}, {"name": "a"}]), "finding-name-twice", "launchParameters[1].name"),
    (mend(launchParameters=[{"name": "a", "type": "text"}]), "finding-value-unknown", "launchParameters[0].type"),
    (mend(launchParameters=[{"name": "a", "default": 5}]), "finding-flow-default-unfit", "launchParameters[0].default"),
    (mend(launchParameters=[{"name": "a", "default": "z", "choices": ["x"]}]),
     "finding-flow-default-no-choice", "launchParameters[0].default"),
    (mend(launchParameters=[{"name": "a", "choices": ["x", 1]}]), "finding-flow-choice-unfit", "launchParameters[0].choices[1]"),
    (with_step(id="review_solution"), "finding-name-twice", "steps[3].id"),
    (with_step(id="с-кириллицей"), "finding-definition-key", "steps[3].id"),
    (with_step(agentVersionId=None), "finding-field-shape", "steps[3].agentVersionId"),
    (with_step(agentVersionId=""), "finding-field-empty", "steps[3].agentVersionId"),
    (with_step(timeoutSec=5), "finding-flow-field-excluded", "steps[3].timeoutSec"),
    (with_step(overrides={"temperature": 2.5}), "finding-value-most", "steps[3].overrides.temperature"),
    (with_step(overrides={"temperature": "0.2"}), "finding-field-shape", "steps[3].overrides.temperature"),
    (with_step(overrides={"maxTokens": 0}), "finding-value-least", "steps[3].overrides.maxTokens"),
    (with_step(maxAttempts=2.5), "finding-field-shape", "steps[3].maxAttempts"),
    (with_step(maxAttempts=21), "finding-value-most", "steps[3].maxAttempts"),
    (with_step(memoryReads=[{"limit": 5}]), "finding-field-missing", "steps[3].memoryReads[0].channel"),
    (with_step(memoryWrites=[{"channel": "a", "mode": "APPEND"}]), "finding-value-unknown", "steps[3].memoryWrites[0].mode"),
    (with_step(transitions={"onSuccess": {"complete": False}}), "finding-flow-success-open", "steps[3].transitions.onSuccess"),
    (with_step(transitions={"onSuccess": {"next": 5}}), "finding-field-shape", "steps[3].transitions.onSuccess.next"),
    (mend(outputs={"summaryFields": ["generate.summary"]}), "finding-flow-reference-form", "outputs.summaryFields[0]"),
    (mend(outputs={"summaryFields": ["steps.nobody.output.a"]}), "finding-flow-reference-unknown", "outputs.summaryFields[0]"),
    (mend(outputs={"resultPayload": {"a": [{"b": "$steps.x.output"}]}}), "finding-flow-reference-unknown", "outputs.resultPayload.a[0].b"),
    (mend(outputs={"resultPayload": {"a": "$steps.review_solution"}}), "finding-flow-reference-form", "outputs.resultPayload.a"),
])  # fmt: skip
def test_each_mistake_is_named_with_its_place(document: object, code: str, path: str) -> None:
    """One mistake gives one error, at the field that is wrong, and at most those of what named the step that is none."""
    errors = [(found, place) for severity, found, place in find(document) if severity == "error"]
    assert (code, path) in errors
    assert len(errors) <= 5, errors


@pytest.mark.parametrize("document", [None, 5, "flow", [], [[]], {}, {"steps": None}, {"flowId": None, "steps": [[]]}])
def test_what_is_no_flow_at_all_is_refused(document: object) -> None:
    """Every draft gives errors, and none an exception."""
    assert any(severity == "error" for severity, _, _ in find(document))


@pytest.mark.req("S002-A6")
def test_steps_that_lead_round_for_ever_are_an_error_and_loops_with_an_exit_are_none() -> None:
    """A review may send back to the writer; two steps that only lead to each other never end."""
    both = {"onSuccess": {"next": "b"}, "onFailure": {"next": "b"}}
    back = {"onSuccess": {"next": "a"}, "onFailure": {"next": "a"}}
    endless = mend(
        steps=[{"id": "a", "agentVersionId": "x", "transitions": both}, {"id": "b", "agentVersionId": "x", "transitions": back}], outputs={}
    )
    assert find(endless) == [("error", "finding-flow-loop-endless", "steps[0]")]
    exits = mend(
        steps=[
            {"id": "a", "agentVersionId": "x", "transitions": both},
            {"id": "b", "agentVersionId": "x", "transitions": {"onFailure": {"next": "a"}}},
        ],
        outputs={},
    )
    assert find(exits) == []


def test_what_no_chat_could_ask_is_refused() -> None:
    """A parameter without a visible name, and more choices than a chat has buttons, of which one may leave the parameter out."""
    parameters = [{"name": " "}, {"name": "many", "type": "number", "choices": list(range(100))}, {"name": "few", "choices": ["a"] * 99}]
    found = find(mend(launchParameters=parameters))
    assert [(severity, path) for severity, _, path in found] == [
        ("error", "launchParameters[0].name"),
        ("error", "launchParameters[1].choices"),
    ]


def test_a_flow_that_can_only_fail_is_warned_of() -> None:
    """A step that success leads back to itself, or a handler after which the flow fails, pays for a failure; a way out is enough."""

    def check(*transitions: dict[str, Any]) -> list[tuple[str, str, str]]:
        ids = "abc"
        return find(
            mend(steps=[{"id": ids[n], "agentVersionId": "x", "transitions": one} for n, one in enumerate(transitions)], outputs={})
        )

    warned = [("warning", "finding-flow-only-fails", "steps[0]")]
    assert check({"onSuccess": {"next": "a"}}) == warned
    assert check({"onSuccess": {"next": "a"}, "onFailure": {"next": "b", "fail": True}}, {}) == warned
    assert check({"onSuccess": {"next": "b"}}, {"onSuccess": {"next": "a"}}) == warned
    assert check({"onSuccess": {"next": "a"}, "onFailure": {"fail": False}}) == []
    assert check({"onSuccess": {"next": "a"}, "onFailure": {"next": "b"}}, {}) == []


def test_what_has_no_effect_is_warned_of() -> None:
    """Steps that are never reached, a payload that nothing writes, numbers that count as others, a field that looks misspelt."""
    flow = mend()
    flow["steps"][0]["transitions"] = {"onSuccess": {"complete": True, "next": "abort_flow"}}
    flow["steps"][0]["memoryWrites"] = [{"channel": "a", "mode": "static"}, {"channel": "a", "payload": 1}]
    flow["steps"][0]["memoryReads"] = [{"channel": "a", "limit": 0}]
    flow["steps"][0] |= {"maxAttempts": 0, "promt": "x"}
    found = [one for one in find(flow) if one[1] != "finding-flow-channel-unwritten"]  # what it wrote before is still read
    assert {severity for severity, _, _ in found} == {"warning"}
    assert sorted(code for _, code, _ in found) == sorted([
        "finding-flow-next-unused", "finding-flow-payload-missing", "finding-flow-payload-unused", "finding-flow-number-usual",
        "finding-flow-number-usual", "finding-field-unknown", *["finding-flow-step-unreachable"] * 3,
    ])  # fmt: skip


def test_every_sentence_is_there_in_both_languages() -> None:
    """People read findings in theirs."""
    for code in SENTENCES:
        args = dict.fromkeys(("name", "names", "type", "usual", "example"), "x")
        for locale in ("ru", "en"):
            translator = Translator(locale)  # type: ignore[arg-type]  # the two languages of the program
            assert translator.has_message(code), code
            assert "x" in translator.translate(code, **args) or "{" not in SENTENCES[code], code


def test_a_large_flow_is_checked_in_bounded_time() -> None:
    """500 steps with hostile names are checked quickly, and at most `MOST` findings are listed."""
    steps = [{"id": f"s{n}", "agentVersionId": "x", "transitions": {"onSuccess": {"next": f"t{n}"}}} for n in range(500)]
    begun = time.process_time()
    found = find(mend(steps=steps, outputs={}))
    assert time.process_time() - begun < 5
    assert len(found) <= MOST + 1


def test_a_misspelt_field_is_found_wherever_it_stands() -> None:
    """A typo in a route or a switch would be without effect and unseen: whoever writes `triggers: {apy: false}` leaves the door open."""
    only = {
        "id": "one", "agentVersionId": "writer", "transitions": {"onFailure": {"fial": False}},
        "memoryReads": [{"channel": "c", "limmit": 3}], "overrides": {"temprature": 1},
    }  # fmt: skip
    document = {
        "flowId": "typos",
        "steps": [only],
        "triggers": {"apy": False},
        "launchParameters": [{"name": "client", "requird": False}],
        "defaults": {"context": {"apy": 1}, "overrides": {"options": {"maxToken": 5}}},
    }
    found = {(one.path, one.suggestion) for one in check_flow(Document.from_data(document)) if one.code == "finding-field-unknown"}
    assert found == {
        ("steps[0].transitions.onFailure.fial", "fail"), ("steps[0].memoryReads[0].limmit", "limit"),
        ("steps[0].overrides.temprature", "temperature"), ("triggers.apy", "api"), ("launchParameters[0].requird", "required"),
        ("defaults.overrides.options.maxToken", "maxTokens"),
    }  # fmt: skip


@pytest.mark.req("S002-43")
def test_a_path_inside_of_a_text_is_warned_of() -> None:
    """«Цена $steps…» is shown as it is written; a path that is the whole text is replaced."""
    payload = {"a": "$steps.review_solution.output.items[0].name", "b": ["Цена $steps.review_solution.output.sum"], "c": "$100"}
    found = [(severity, code, path) for severity, code, path in find(mend(outputs={"resultPayload": payload})) if "reference" in code]
    assert found == [("warning", "finding-flow-reference-inside", "outputs.resultPayload.b[0]")]


def test_a_step_that_hears_nothing_and_a_channel_that_nobody_writes_are_told() -> None:
    """A step after another one, where no step reads anything; with memory each author knows what is read."""

    def check(reads: list[dict[str, Any]], writes: list[dict[str, Any]]) -> list[tuple[str, str]]:
        steps = [
            {
                "id": "a",
                "agentVersionId": "x",
                "memoryWrites": writes,
                "transitions": {"onSuccess": {"next": "b"}, "onFailure": {"next": "c"}},
            },
            {"id": "b", "agentVersionId": "x", "memoryReads": reads},
            {"id": "c", "agentVersionId": "x"},
        ]
        return [(one.code, one.path) for one in check_flow(Document.from_data(mend(steps=steps, outputs={})))]

    assert check([], []) == [("finding-flow-step-deaf", "steps[1]")]
    assert check([{"channel": "facts"}], [{"channel": "fact"}]) == [("finding-flow-channel-unwritten", "steps[1].memoryReads[0].channel")]
    assert check([{"channel": "facts"}], [{"channel": "facts"}]) == []

"""A scenario is checked before it runs: every mistake in one pass, each at its place, and what is right is left alone."""

from typing import Any

import pytest

from bot.definition_service import build_host_judge
from bot.i18n.translate import Translator
from engines.scenarios.core.checks import SENTENCES, check_scenario
from engines.scenarios.core.kind import build_kind
from engines.scenarios.core.registry import build_step_types
from orchestrator.definitions import mistakes
from orchestrator.definitions.checking import check_document
from orchestrator.definitions.kinds import find_mistakes
from orchestrator.documents.document import Document
from orchestrator.documents.findings import MOST
from orchestrator.documents.reading import read_document
from orchestrator.domain.finding import Finding
from orchestrator.features.leads.live_policy import FixedPolicy
from orchestrator.gate.call.policy import Policy
from tests.unit.definitions.service_kit import data
from tests.unit.engines.scenarios.scenario_kit import ask, say, scenario
from tests.unit.engines.scenarios.test_scenarios import MINIMAL

TYPES = build_step_types()
PLANTED = """\
name: Одиннадцать ошибок
steps:
  - id: hello
    type: mesage
    params: {text: "Привет"}
  - id: ask
    type: input
    params: {prompt: "Сколько?", input_variable: age, type: nummer}
    next_step: chek
  - id: check
    type: branch
    condition: context.get('age' >= 18
    branches: {if: adult, else: adlut}
  - id: adult
    type: action
    params: {action_type: update_contxt, updates: {a: 1}}
  - id: adult
    type: message
    params: {}
  - id: spin
    type: message
    params: {text: "{nmae}"}
    next_step: spin
  - type: wait
    params: {seconds: долго}
  - id: sub
    type: execute_sub_scenario
    params: {}
"""


def find(document: object) -> list[tuple[str, str]]:
    return [(one.severity, one.code) for one in check_scenario(Document.from_data(document), TYPES)]


def errors(document: object) -> list[str]:
    return [code for severity, code in find(document) if severity == "error"]


@pytest.mark.req("S000-62", "S000-12", "S000-8", "S000-7")
def test_each_planted_mistake_is_an_error_at_its_place() -> None:
    """One pass finds each, with its line and column, and what was probably meant."""
    told = [one for one in find_mistakes(build_kind(TYPES), read_document(PLANTED)) if one.severity == "error"]
    rows = PLANTED.splitlines()
    assert [(one.line, rows[one.line - 1][one.column - 1 :], one.code, one.suggestion) for one in told] == [
        (4, "type: mesage", "finding-step-type-unknown", "message"),
        (8, "nummer}", "finding-value-unknown", "number"),
        (9, "next_step: chek", "finding-step-target-unknown", "check"),
        (12, "('age' >= 18", "expression-syntax", ""),
        (13, "else: adlut}", "finding-step-target-unknown", "adult"),
        (16, "action_type: update_contxt, updates: {a: 1}}", "finding-action-type-unknown", "update_context"),
        (17, "id: adult", "finding-step-id-twice", ""),
        (19, "params: {}", "finding-field-missing", ""),
        (20, "id: spin", "finding-loop-endless", ""),
        (25, "долго}", "finding-field-shape", ""),
        (28, "params: {}", "finding-field-missing", ""),
    ]


@pytest.mark.parametrize("plan", [
    MINIMAL,
    scenario(ask(), say("{answer} {user_name} {text}")),
    scenario(say("{unknown}", note="поле автора", description="и ещё")),
    scenario({"id": "loop", "type": "wait", "params": {"seconds": "{pause}"}, "next_step": "loop"}, initial_context={"pause": 5}),
    {**MINIMAL, "version": 1.0},
])  # fmt: skip
@pytest.mark.req("S000-4", "S000-11")
def test_what_is_right_has_no_errors(plan: object) -> None:
    """Own fields, a number as a version, and a placeholder in place of a number are no mistakes."""
    assert errors(plan) == []


@pytest.mark.req("S000-43")
def test_what_is_doubtful_is_a_warning() -> None:
    """A variable that nothing sets, an unreachable step, a whole context merged, a scenario without a name."""
    sub = {"type": "execute_sub_scenario", "params": {"sub_scenario_id": "other"}}
    assert find({"steps": [say("{nmae}"), {"type": "end"}, say("никогда")], "initial_context": {"name": "x"}}) == [
        ("warning", "finding-scenario-name-missing"),
        ("warning", "finding-variable-unset"),
        ("warning", "finding-step-unreachable"),
    ]
    assert find(scenario(sub)) == [("warning", "finding-mapping-missing")]


@pytest.mark.parametrize("given", ["{way}", "{{way}}x{way}"])
def test_no_target_is_made_of_a_variable(given: str) -> None:
    """Wherever a step names another, a placeholder is a mistake, also if a step is called so."""
    called = {"id": given, "type": "end"}
    plans = [
        scenario({**say("а"), "next_step": given}, called),
        scenario({"type": "branch", "condition": "true", "branches": {"if": given, "else": given}}, called),
        scenario({"type": "bitrix_call", "params": {"method": "crm.deal.get", "on_refused": given}}, called),
        scenario({"type": "action", "params": {"action_type": "mongo_count", "collection_name": "c", "on_refused": given}}, called),
        scenario(ask(on_invalid=given), called),
        scenario(ask(timeout=1, on_timeout=given), called),
        scenario(ask(next_step_map={"да": given}), called),
    ]
    for plan in plans:
        assert set(errors(plan)) == {"finding-step-target-variable"}, plan


def test_a_value_under_a_name_of_the_program_is_an_error() -> None:
    """Neither at the beginning nor handed to another scenario nor set; under the seed's names it is the author's own.

    `agent_id` is left out where it is given, which is a warning.
    """
    call = {
        "type": "execute_sub_scenario",
        "params": {"sub_scenario_id": "x", "input_parameters": {"__user_id": "1"}, "output_mapping": []},
    }
    later = {"type": "schedule_scenario_run", "params": {"scenario_id": "x", "run_in_seconds": 1, "context_to_pass": {"__today": "1"}}}
    sets = {"type": "update_context", "params": {"updates": {"agent_id": 1}}}
    plan = scenario(call, later, sets, initial_context={"user_name": "А", "__user_name": "А", "agent_id": "А"})
    assert {(one.severity, one.code, one.path) for one in check_scenario(Document.from_data(plan), TYPES)} == {
        ("error", "finding-variable-reserved", "initial_context.__user_name"),
        ("warning", "finding-variable-reserved", "initial_context.agent_id"),
        ("error", "finding-variable-reserved", "steps[2].params.updates.agent_id"),
        ("error", "finding-variable-reserved", "steps[0].params.input_parameters.__user_id"),
        ("error", "finding-variable-reserved", "steps[1].params.context_to_pass.__today"),
    }


@pytest.mark.parametrize("given", [None, [], "text", 5, {}, {"steps": None}, {"steps": []}, {"steps": [None, 5, []]}, {"steps": {"a": 1}}])
@pytest.mark.req("S000-6")
def test_what_is_no_scenario_is_refused(given: object) -> None:
    """Whatever is no object with a list of steps has an error, and nothing breaks."""
    assert errors(given)


@pytest.mark.long
def test_ten_thousand_steps_are_checked_without_recursion() -> None:
    """A long chain, and one loop through all of it."""
    steps = [{**say("x"), "id": f"s{number}", "next_step": f"s{number + 1}"} for number in range(9999)]
    assert errors(scenario(*steps, {**say("y"), "id": "s9999"})) == []
    assert errors(scenario(*steps, {**say("y"), "id": "s9999", "next_step": "s0"})) == ["finding-loop-endless"]


@pytest.mark.parametrize("language", ["ru", "en"])
def test_every_mistake_has_a_sentence(language: str) -> None:
    """People read each of them in their language."""
    translator = Translator(language)  # type: ignore[arg-type]  # the two languages of the program
    assert [code for code in SENTENCES if code in translator.translate(code, name="n", names="n", problem="p")] == []


def test_a_loop_that_only_a_refusal_leaves_is_endless_and_one_that_a_refusal_enters_is_not() -> None:
    """The first writes again and again; the second tries again after a refusal, and goes on when the call is made."""
    call = {"id": "a", "type": "bitrix_call", "params": {"method": "crm.deal.update", "on_refused": "z"}}
    assert errors(scenario(call, {**say("x"), "next_step": "a"}, {"id": "z", "type": "end"})) == ["finding-loop-endless"]
    assert errors(scenario(call, {"type": "end"}, {**say("ещё раз"), "id": "z", "next_step": "a"})) == []


@pytest.mark.long
def test_of_eight_thousand_unknown_names_only_those_that_are_listed_get_a_suggestion(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search for each took half a minute of a processor."""
    asked: list[str] = []
    monkeypatch.setattr(mistakes, "suggest_name", lambda wrong, _known: asked.append(wrong) or "")
    assert errors(scenario(*({**say(f"{{n{number}}}"), "id": f"s{number}", "next_step": f"t{number}"} for number in range(8000))))
    assert len(asked) <= MOST


def test_what_answers_from_all_that_the_company_knows_is_no_step_for_customers() -> None:
    """The mark for customers makes such a step a mistake; without the mark it is none, and neither is a word in its place."""
    search = {"type": "rag_search", "params": {"query": "цена"}}
    asked = {"type": "action", "params": {"action_type": "tool_agent", "question": "цена"}}
    assert errors(scenario(search, asked, customers=True)) == ["finding-step-internal"] * 2
    assert errors(scenario(search, asked)) == []
    assert errors(scenario(say("да"), customers="yes")) != []


@pytest.mark.parametrize(("params", "codes"), [
    ({"path": "a.pdf"}, []),
    ({"file": "{scan}"}, []),
    ({"url": "https://files.example.com/{number}/прайс.pdf?v={version}"}, []),
    ({}, ["finding-one-of"]),
    ({"path": "", "url": ""}, ["finding-one-of"]),
    ({"path": "a.pdf", "url": "https://files.example.com/a.pdf"}, ["finding-one-of"]),
    ({"url": "{link}"}, ["finding-address-host-open"]),
    ({"url": "https://{host}/a.pdf"}, ["finding-address-host-open"]),
    ({"url": "https://files.{zone}"}, ["finding-address-host-open"]),
    ({"url": "https://files.example.com:{port}/a.pdf"}, ["finding-address-host-open"]),
    ({"url": "ftp://files.example.com/a.pdf"}, ["finding-address-odd"]),
    ({"url": "files.example.com/a.pdf"}, ["finding-address-odd"]),
    ({"url": "https://me@files.example.com/a.pdf"}, ["finding-address-odd"]),
    ({"url": "https://files.example.com/../a.pdf"}, ["finding-address-odd"]),
    ({"url": "https://files.example.com/a b.pdf"}, ["finding-address-odd"]),
])  # fmt: skip
@pytest.mark.parametrize("as_action", [False, True])
def test_a_file_has_one_source_and_an_address_whose_host_its_author_wrote(
    params: dict[str, Any], codes: list[str], *, as_action: bool
) -> None:
    """Said before anything runs, at the step or at the address."""
    kind = "telegram_send_document"
    step = {"type": "action", "params": {"action_type": kind, **params}} if as_action else {"type": kind, "params": params}
    assert errors(scenario(step)) == codes


def test_a_host_that_the_policy_does_not_open_is_a_warning() -> None:
    """The file may be checked for another installation; the place is the address, and nothing of its query is repeated."""
    step = {"type": "telegram_send_photo", "params": {"url": "https://files.example.com/a.png?key={number}"}}

    def find_closed(**policy: Any) -> list[Finding]:
        judge = build_host_judge(FixedPolicy(Policy.model_validate(policy)))
        plan = data(scenario(step))
        checked = check_document(build_kind(TYPES), plan, lambda _kind, _method: None, lambda _write, _place: False, judge)
        return [one for one in checked.findings if one.code == "finding-host-closed"]

    assert find_closed(open_kinds=["http"], http_hosts=["files.example.com"]) == []
    for policy in ({}, {"open_kinds": ["http"]}, {"http_hosts": ["files.example.com"]}):
        (found,) = find_closed(**policy)
        assert (found.severity, found.path) == ("warning", "steps[0].params.url")
        assert "key=" not in found.message

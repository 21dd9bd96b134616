"""`sdelka workflow test`: a workflow is played with answers of models and reads given, and what comes otherwise is said."""

from pathlib import Path

import pytest

import engines
from tests.unit.engines.scenarios.terminal.scenario_files import expect, stand_alone
from tests.unit.engines.workflows.terminal.workflow_files import ADVICE, call, call_json, write_files

TESTS = """\
tests:
  - name: Ответ кусками
    parameters: {company: "7", top: 3}
    queries: {crm.deal.list: [{ID: 481}]}
    answers: {advise: {chunks: [Позвоните, " завтра"]}}
    expect:
      rawText: "Совет:\\n[YAE-BLOCK:quote]Позвоните завтра[/YAE-BLOCK]"
      globals: {said: Позвоните завтра, pieces: 2, company: "7"}
      operations:
        - {operationType: ModifyEntity, entityType: deal, entityId: 481, attributeKey: COMMENTS, modifyOperator: "=", modifyValue: Позвоните завтра}
      finished: [advise, deals, propose]
  - name: Обрыв
    inputs: ["7", {press: Пропустить}]
    queries: {deals/crm.deal.list: {each: [[]]}}
    answers: {advise: {chunks: [Позво], failed: тишина}}
    expect:
      parts: ["Совет:", {quote: тишина}]
      operations: []
      globals: {pieces: 1}
      messages: [Номер компании?, top]
"""


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A folder with the workflow and its tests, and no settings but defaults."""
    stand_alone(monkeypatch, tmp_path)
    write_files(tmp_path)
    Path("advice.test.yaml").write_text(TESTS, encoding="utf-8")


@pytest.mark.long
def test_the_tests_of_the_example_workflows_are_green_and_reach_every_tuum() -> None:
    """Who copies a workflow copies tests with it that show its ends."""
    code, reports = call_json("test", Path(engines.__file__).parent / "workflows" / "examples")
    assert code == 0, reports
    names = {
        one.stem for one in (Path(engines.__file__).parent / "workflows" / "examples").glob("*.yaml") if not one.stem.endswith(".test")
    }
    assert {Path(one["file"]).stem: one["not_reached"] for one in reports} == {name: [] for name in names}


def test_workflows_are_played_with_their_pieces_reads_and_coverage() -> None:
    """A streamed answer reaches the callback piece by piece, one that breaks off leaves its error; tuums that no test reached are named."""
    told = expect(call("test", "advice.yaml"), 0)
    expected = "advice.yaml\n  ok  Ответ кусками\n  ok  Обрыв\n  covers 3 of 3 tuums (100 %)\n2 tests of 1 workflow, 0 failed.\n"
    assert told == expected
    Path("advice.test.yaml").write_text(
        "tests: [{name: x, parameters: {company: '7'}, queries: {crm.deal.list: {refused: нет}}, expect: {isSuccess: false}}]",
        encoding="utf-8",
    )
    code, (report,) = call_json("test", ".")
    assert (code, report["tuums"], report["not_reached"]) == (0, 3, ["advise", "propose"])


@pytest.mark.parametrize(("before", "after", "what"), [
    ("]Позвоните завтра[", "]Позвоните[", "rawText: - expected, + came"),
    ("{quote: тишина}", "{quote: шум}", '      + {"quote":"тишина"}'),
    ("pieces: 2", "pieces: 3", "globals.pieces: expected 3, came 2"),
    ("entityId: 481,", "entityId: 482,", "      + ModifyEntity deal 481 "),
    ("finished: [advise,", "finished: [", "      + advise"),
    ("[Номер компании?, top]", "[top]", "      + Номер компании?"),
    ('["7", {press: Пропустить}]', '["7", {press: Пропустить}, ещё]', "inputs: the last 1 were not asked for"),
    ("operations: []", "isSuccess: false", "isSuccess: expected false, came true"),
    ("queries: {crm.deal.list: [{ID: 481}]}", "", "deals/rune1 reads crm.deal.list: give what it returns as queries.crm.deal.list"),
    ("answers: {advise: {chunks: [Позво], failed: тишина}}", "", "asks a model: give its answer as answers.advise"),
    ("{each: [[]]}", "{each: []}", "and queries.deals/crm.deal.list.each has no more"),
    (
        "{each: [[]]}",
        "{refused: закрыто}",
        "isSuccess: expected true, came false TuumExecutionFailed (deals/rune1: crm.deal.list was not read",
    ),
    (
        'parameters: {company: "7", top: 3}',
        "parameters: {top: 3}",
        "came false flow-parameter-unfit (company is missing, it must be of the type string)",
    ),
])  # fmt: skip
def test_what_comes_otherwise_is_shown(before: str, after: str, what: str) -> None:
    """Each thing that a test says can turn it red."""
    tests = TESTS.replace(before, after)
    assert tests != TESTS
    Path("advice.test.yaml").write_text(tests, encoding="utf-8")
    expect(call("test", "advice.yaml"), 1, what)


def test_the_words_of_a_workflow_that_stops_are_compared() -> None:
    """As the person reads them, beside the code."""
    stops = ADVICE.replace('source: \'{"said": ai_error or', 'source: \'await stop("Хватит"); {"said": ai_error or')
    assert stops != ADVICE
    Path("advice.yaml").write_text(stops, encoding="utf-8")
    test = "name: x, parameters: {company: '7'}, queries: {crm.deal.list: []}, answers: {advise: Да}"
    wanted = "isSuccess: false, errorCode: Stopped, finished: [deals], operations: []"
    for words, code in (("Хватит", 0), ("Ещё", 1)):
        Path("advice.test.yaml").write_text(f"tests: [{{{test}, expect: {{{wanted}, errorMessage: {words}}}}}]", encoding="utf-8")
        told = expect(call("test", "advice.yaml"), code)
    assert 'errorMessage: expected "Ещё", came "Хватит"' in told


@pytest.mark.parametrize(("tests", "what"), [
    ("tests: [{name: x, answers: {advice: a}}]", 'there is no tuum "advice"'),
    ("tests: [{name: x, queries: {crm.deal.lst: []}}]", 'there is no method "crm.deal.lst" of the portal'),
    ("tests: [{name: x, queries: {deels/rune1: []}}]", 'there is no tuum "deels"'),
    ("tests: [{name: x, expect: {finished: [deels]}}]", 'there is no tuum "deels"'),
    (
        "tests: [{name: x, expect: {operations: [{operationType: ModifyEntity, entityType: deal, entityId: 1}]}}]",
        "attributeKey and modifyOper",
    ),
    ("tests: [{name: x, answer: {}}]", 'there is no field "answer"'),
    ("tests: []", "tests"),
])  # fmt: skip
def test_mistakes_in_tests_are_said(tests: str, what: str) -> None:
    """A misspelt tuum or method would otherwise be a mock that nobody takes."""
    Path("advice.test.yaml").write_text(tests, encoding="utf-8")
    expect(call("test", "advice.yaml"), 1, "FAILED: advice.test.yaml has mistakes", what)


def test_a_workflow_or_a_tuum_with_mistakes_is_not_played() -> None:
    """The mistakes stand above; a tuum that is nowhere is wrong use."""
    Path("tuums/deals.yaml").write_text("tuumId: deals\nrunes: 7\n", encoding="utf-8")
    expect(call("test", "advice.yaml"), 1, "has mistakes")
    Path("tuums/deals.yaml").unlink()
    expect(call("test", "advice.yaml"), 2, "there are no files of the tuums deals beside advice.yaml")

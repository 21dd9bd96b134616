"""`sdelka workflow run`: a workflow is tried in the terminal with its real engine, and nothing but models is asked."""

import asyncio
import json
from pathlib import Path

import pytest

import engines
from tests.unit.engines.scenarios.terminal.scenario_files import expect, stand_alone
from tests.unit.engines.workflows.terminal.workflow_files import ADVICE, call, call_json, write_files
from tests.unit.model_client.loopback_kit import FINE, reply, serving

WORDS = ("run", "advice.yaml", "--answers", "answers.yaml", "--queries", "queries.yaml")
GIVEN = ("--param", "company=7", "--parameter", "top=3")
SHOWN = """\
✅ deals
⏳ Совет менеджеру
[Совет менеджеру] Позвоните завтра
✅ Совет менеджеру
✅ propose

Совет:
Позвоните завтра

Предложено изменений: 1. Это план, ничего не отправлено:
  • Изменить сделку 481: COMMENTS = Позвоните завтра
Выполнено: Совет менеджеру, deals, propose.
— готово
"""


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder with the files, and settings that name a database which is not there."""
    stand_alone(monkeypatch, tmp_path)
    write_files(tmp_path)
    (tmp_path / "answers.yaml").write_text('advise: {chunks: [Позвоните, " завтра"]}\n', encoding="utf-8")
    (tmp_path / "queries.yaml").write_text("crm.deal.list: [{ID: 481}]\n", encoding="utf-8")
    return tmp_path


def test_tuums_shown_texts_the_result_and_what_is_proposed_are_written() -> None:
    """What a callback shows grows on one line; the text has no marks, operations stand in words and are only planned."""
    code, told = call(*WORDS, *GIVEN)
    assert (code, told) == (0, SHOWN)


def test_programs_get_an_event_a_line_and_the_result_in_the_seeds_names_last() -> None:
    """Display updates and the result as its schema spells them; the planned call of the portal is an event."""
    code, events = call_json(*WORDS, *GIVEN)
    assert code == 0
    assert [one["displayUpdate"]["Content"] for one in events if one["event"] == "display"] == ["Позвоните", "Позвоните завтра"]
    assert [one["tuum"] for one in events if one["event"] == "tuum"] == ["deals", "advise", "propose"]
    effects = {one["data"]["method"]: one["data"]["status"] for one in events if one["event"] == "effect"}
    assert effects == {"crm.deal.list": "succeeded", "crm.deal.update": "planned"}
    end = events[-1]
    assert (end["event"], end["outcome"], end["problem"]) == ("end", "done", "")
    result = end["result"]
    assert (result["isSuccess"], result["errorCode"], result["finished"]) == (True, "", ["advise", "deals", "propose"])
    assert result["rawText"] == "Совет:\n[YAE-BLOCK:quote]Позвоните завтра[/YAE-BLOCK]"
    assert result["operations"][0] == {
        "operationType": "ModifyEntity", "entityType": "deal", "entityId": "481", "attributeKey": "COMMENTS",
        "modifyOperator": "=", "modifyValue": "Позвоните завтра",
    }  # fmt: skip


def test_parameters_that_are_not_given_are_asked_for_one_by_one() -> None:
    """An empty line leaves out what may be left out; the end of the input ends the command."""
    told = expect(call(*WORDS, typed="7\nмного\n\n"), 0, "Номер компании?\n> ", "Нужно число")
    assert told.endswith("— готово\n")
    assert call(*WORDS, typed="")[0] == 2


def test_a_field_for_which_no_value_came_is_named(folder: Path) -> None:
    """A trial says what a run would say to its person."""
    change = "{runeType: operation, operationType: ModifyEntity, entityType: deal, entityId: '481', attributeKey: COMMENTS"
    (folder / "sum.yaml").write_text(
        "workflowId: sum\ntuums:\n  - tuumId: a\n    promptRunes: [{runeType: prompt, template: JSON}]\n    aiService: tool\n    runes:\n"
        "      - {runeType: json, input: ai_final_output, output: sum, path: sum}\n"
        f"      - {change}, modifyOperator: '=', modifyValue: '{{{{sum}}}}'}}\n",
        encoding="utf-8",
    )
    (folder / "answers.yaml").write_text("a: '{\"Sum\": 5}'\n", encoding="utf-8")
    told = expect(call("run", "sum.yaml", "--answers", "answers.yaml"), 0, "Не записано: поле COMMENTS. Значения для этого поля нет.")
    assert "Предложено" not in told


def test_the_portal_is_not_read() -> None:
    """A read that no file answers is refused in words, and fails its tuum."""
    code, told = call("run", "advice.yaml", "--answers", "answers.yaml", *GIVEN)
    assert code == 1
    assert "Часть «deals» не выполнена" in told
    assert "deals/rune1: crm.deal.list was not read (refused): the portal is not read here" in told
    assert told.endswith("— не получилось\n")


def test_what_is_proposed_is_shown_also_if_a_record_that_it_counts_on_is_not_read(folder: Path) -> None:
    """`+=` needs the record as it is; without it the run fails as it would at the portal, and the author still sees the operations."""
    (folder / "advice.yaml").write_text(ADVICE.replace('"modifyOperator": "="', '"modifyOperator": "+="'), encoding="utf-8")
    code, told = call(*WORDS, *GIVEN)
    assert code == 1
    assert "Запись 481 не читается" in told
    assert "what crm.deal.get gives is not among the given queries" in told
    assert "  • Изменить сделку 481: COMMENTS += Позвоните завтра\n" in told
    (folder / "queries.yaml").write_text("crm.deal.list: [{ID: 481}]\napply/crm.deal.get: {COMMENTS: Да. }\n", encoding="utf-8")
    code, events = call_json(*WORDS, *GIVEN)
    assert (code, events[-2]["data"]["params"]["fields"]) == (0, {"COMMENTS": "Да.Позвоните завтра"})


@pytest.mark.parametrize(("words", "why"), [
    (("--param", "compny=7"), "there is no such parameter, perhaps company"),
    (("--param", "company=7", "--param", "top=много"), "--param top: Нужно число"),
    (("--param", "company=7", "--param", "top=150.000"), "--param top: Это можно прочитать как два разных числа"),
    (("--param", "company=7", "--param", "company=8"), "--param company is given twice"),
    (("--answers", "other.yaml"), "there is no tuum advice, perhaps advise"),
    (("--queries", "lists.yaml"), "there is no tuum or method crm.deal.lst"),
    (("--queries", "gone.yaml"), "cannot be read"),
])  # fmt: skip
def test_wrong_use_is_refused_with_what_was_meant(folder: Path, words: tuple[str, ...], why: str) -> None:
    """Before any model is asked."""
    (folder / "other.yaml").write_text("advice: x\n", encoding="utf-8")
    (folder / "lists.yaml").write_text("crm.deal.lst: []\n", encoding="utf-8")
    expect(call("run", "advice.yaml", *words), 2, why)


@pytest.mark.long
def test_a_workflow_that_stops_is_not_finished_or_has_mistakes_exits_with_1(folder: Path) -> None:
    """Each says why: the words of its script, the answer that is missing, the mistakes of its files."""
    stops = ADVICE.replace('source: \'{"said": ai_error or', 'source: \'await stop("Хватит на сегодня"); {"said": ai_error or')
    (folder / "advice.yaml").write_text(stops, encoding="utf-8")
    code, told = call(*WORDS, *GIVEN)
    assert (code, told.count("Хватит на сегодня")) == (1, 1)
    (folder / "answers.yaml").write_text("{}\n", encoding="utf-8")
    expect(call(*WORDS, *GIVEN), 1, "Не доиграно: step advise of advice asks a model")
    (folder / "tuums" / "deals.yaml").write_text("tuumId: deals\nrunes: 7\n", encoding="utf-8")
    expect(call(*WORDS, *GIVEN), 1, "deals.yaml: ")
    code, findings = call_json(*WORDS, *GIVEN)
    assert code == 1
    assert findings


@pytest.mark.long
async def test_the_models_of_the_settings_are_asked_and_their_answer_is_shown_while_it_comes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the prompt that the runes built; each piece is an event of its own, and a model that refuses leaves its error to the script."""
    (folder / "advice.yaml").write_text(
        ADVICE.partition("    chunkCallback:")[0]
        + "    mainScript:"
        + ADVICE.partition("    mainScript:")[2].replace(", pieces: pieces", ""),
        encoding="utf-8",
    )
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    words = ("run", "advice.yaml", "--queries", "queries.yaml", *GIVEN)
    async with serving(lambda seen: FINE) as service:
        monkeypatch.setenv("OPENAI_API_BASE", f"{service.base}/v1")
        code, events = await asyncio.to_thread(call_json, *words)
        assert code == 0, events
        assert json.loads(service.seen[0].body)["messages"] == [{"role": "user", "content": 'Сделки: [{"ID":481}]'}]
        pieces = [one["added"] for one in events if one["event"] == "text"]
        assert len(pieces) > 1
        assert "".join(pieces) == events[-1]["result"]["globals"]["said"] == "Привет"
        code, told = await asyncio.to_thread(call, *words)
        assert "⏳ Совет менеджеру\n[Совет менеджеру] Привет\n✅ Совет менеджеру\n" in told
    async with serving(lambda seen: reply({"error": {"message": "no"}}, 400)) as service:
        monkeypatch.setenv("OPENAI_API_BASE", f"{service.base}/v1")
        expect(await asyncio.to_thread(call, *words), 0, "❌ Совет менеджеру: ответа нет (")


def test_lines_of_tuums_that_speak_at_once_begin_with_their_titles(folder: Path) -> None:
    """Also in English; an answer in one piece stands on a line of its own."""
    (folder / "two.yaml").write_text(
        "workflowId: two\nmetadata: {title: Два}\ntuums:\n"
        + "".join(
            f"  - {{tuumId: {one}, promptRunes: [{{runeType: prompt, template: x}}], aiService: tool, outputMappings: {{{one}_t: ai_final_output}}}}\n"
            for one in ("a", "say")
        ),
        encoding="utf-8",
    )
    (folder / "answers.yaml").write_text("a: Один\nsay: Два\n", encoding="utf-8")
    told = expect(call("run", "two.yaml", "--answers", "answers.yaml", "--language", "en"), 0)
    assert sorted(told.splitlines()[:6]) == sorted(["⏳ a", "⏳ say", "[a] Один", "[say] Два", "✅ a", "✅ say"])
    assert told.endswith("Finished: a, say.\n— done\n")


def test_a_workflow_on_a_record_is_asked_for_its_number_first(folder: Path) -> None:
    """The record is read as the files say, and its number is the global of its kind."""
    notes = Path(engines.__file__).parent / "workflows" / "examples" / "meeting_notes.yaml"
    (folder / "answers.yaml").write_text("extract: {summary: Замер, todo: Приехать, deadline: '2026-12-01'}\n", encoding="utf-8")
    (folder / "queries.yaml").write_text("crm.deal.get: {ID: '481', TITLE: Столы, COMMENTS: ''}\n", encoding="utf-8")
    words = ("run", notes, "--answers", "answers.yaml", "--queries", "queries.yaml")
    told = expect(call(*words, typed="481\nПоговорили\n"), 0)
    assert told.startswith("Номер записи, на которой он работает (deal)?\n> ")
    assert "  • Создать дело todo: ownerTypeId = 2; ownerId = 481; title = Приехать; " in told
    code, told = call(*words, "--param", "deal=Столы", "--param", "notes=x")
    assert (code, told.endswith("— не получилось\n")) == (1, True)

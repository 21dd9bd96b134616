"""`sdelka scenario run`, `test`, `record` and `new`: a scenario is tried where nothing can be harmed, and what was tried stays a test."""

import asyncio
import json
import logging
import re
import stat
import sys
from pathlib import Path

import pytest

from bot.cli import app
from state.sql.dialect import build_sqlite_url
from state.sql.store import open_store
from tests.unit.engines.scenarios.scenario_kit import a_scenario_world, ask, say, start
from tests.unit.engines.scenarios.terminal.scenario_files import (
    LEAD,
    PHONE,
    call,
    call_json,
    expect,
    play_scenario_file,
    stand_alone,
    write_files,
)
from tests.unit.model_client.loopback_kit import FINE, serving
from tests.unit.runs.runs_kit import RUN
from tests.unit.spine_kit import message


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No settings but defaults, and a folder of its own."""
    stand_alone(monkeypatch, tmp_path)


def test_inputs_of_the_command_answer_and_effects_are_only_shown(tmp_path: Path) -> None:
    """The dialogue is read as in a chat, the call of the portal as a plan, and the variables at the end."""
    write_files(tmp_path)
    answers = ("Ромашка", "много", "1500000", "Да", "+79990000000")
    code, told = call("run", "lead.yaml", *(word for one in answers for word in ("--input", one)))
    assert code == 0, told
    assert "Бюджет?\n> много\nНужно число" in told
    assert "  1. Да\n  2. Нет\n> Да\n" in told
    assert '[deal] planned, not sent: crm.deal.add {"fields":{"TITLE":"Ромашка"}}' in told
    assert told.index("[phone] begins ask_phone") < told.index("Телефон?")
    assert "— done" in told
    assert 'boss = "Да"' in told


@pytest.mark.req("S000-29")
def test_what_the_inputs_lack_is_read_from_standard_input(tmp_path: Path) -> None:
    """Answers, the number of a button, and the words of a model; --json gives one event a line, the end last."""
    write_files(tmp_path)
    code, events = call_json("run", "lead.yaml", typed="Ромашка\n500\nЗдравствуйте!\n+79990000000\n")
    assert code == 0
    assert [(one["event"], one.get("step")) for one in events if one["event"] in {"model", "effect", "message"}] == [
        ("model", "usual"), ("message", "mail"), ("effect", "deal"), ("message", "bye"),
    ]  # fmt: skip
    assert (events[-1]["event"], events[-1]["outcome"], events[-1]["variables"]["letter"]) == ("end", "done", "Здравствуйте!")
    code, events = call_json("run", "lead.yaml", typed="Ромашка\n5000000\n2\n+79990000000\n")
    assert events[-1]["variables"]["boss"] == "Нет"


@pytest.mark.parametrize("typed", ["{user_id} {x", "a\x00b", "\ud800", "x" * 9000, "\u202egnp", "</text>", "%s %d", "\x1b[31m"])
def test_whatever_is_typed_stays_text(tmp_path: Path, typed: str) -> None:
    """Braces are not filled, and what a terminal or a journal could stumble over is shown harmless."""
    write_files(tmp_path)
    Path("echo.yaml").write_text(
        "name: x\nsteps: [{type: input, params: {prompt: '?', input_variable: x}}, {type: message, params: {text: '<{x}>'}}]"
    )
    told = expect(call("run", "echo.yaml", "--input", typed), 0)
    assert "\x1b" not in told
    assert "\u202e" not in told
    assert "<tg:1" not in told


def test_a_button_of_the_program_is_shown_by_its_words(tmp_path: Path) -> None:
    """«Шаг назад» stands as the answer, not the value that the button has for the program."""
    ask = "{type: input, params: {prompt: '%s?', input_variable: %s}}"
    steps = "".join(f"\n  - {ask % (one, one)}" for one in ("a", "b"))
    Path("back.yaml").write_text(f"name: x\nallow_back: true\nsteps:{steps}\n", encoding="utf-8")
    told = expect(call("run", "back.yaml", *(part for one in ("1", "scenario-back", "2", "3") for part in ("--input", one))), 0)
    assert "__scenario__" not in told
    assert re.search(r"^> .*(Шаг назад|step back|Step back)", told, re.MULTILINE), told


async def test_the_configured_model_is_asked_only_where_there_is_no_mock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With --model the request of the step goes out as in the product; without it, or with a mock, nothing does."""
    write_files(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    given = ("run", "lead.yaml", "--input", "Ромашка", "--input", "5", "--input", "+79990000000")
    (tmp_path / "mock.yaml").write_text("mocks: {usual: Пишу}", encoding="utf-8")
    async with serving(lambda _: FINE) as service:
        monkeypatch.setenv("OPENAI_API_BASE", f"{service.base}/v1")
        code, told = await asyncio.to_thread(call, *given, "--model", "--inputs", "mock.yaml")
        assert (code, service.seen) == (0, []), told
        code, told = await asyncio.to_thread(call, *given)
        assert (code, service.seen) == (1, [])
        expect(await asyncio.to_thread(call, *given, "--model"), 0, "[usual] the model answers: Привет")
        (seen,) = service.seen
    assert json.loads(seen.body)["messages"] == [{"role": "user", "content": "Напиши Ромашка"}]


def test_a_file_of_inputs_brings_mocks_and_arguments(tmp_path: Path) -> None:
    """The form is that of a test; a list of answers alone is enough; a mistake in it is said with its place."""
    write_files(tmp_path)
    Path("in.yaml").write_text("inputs: [Ромашка, 5, +79990000000]\nmocks: {usual: Пишу, deal: 7}\n", encoding="utf-8")
    code, events = call_json("run", "lead.yaml", "--inputs", "in.yaml")
    assert (code, events[-1]["variables"]["deal"]) == (0, 7)
    Path("list.yaml").write_text("[Ромашка, 5000000, Да, +79990000000]", encoding="utf-8")
    assert call("run", "lead.yaml", "--inputs", "list.yaml")[0] == 0
    Path("in.yaml").write_text("inputs: [a]\nmoks: {}\n", encoding="utf-8")
    expect(call("run", "lead.yaml", "--inputs", "in.yaml"), 2, "2:1 ", 'there is no field "moks" here')


def test_a_run_that_is_not_finished_fails_or_is_wrong_exits_with_1(tmp_path: Path) -> None:
    """The reason is said: the step that asks, the failure, or the mistakes of the file."""
    write_files(tmp_path)
    expect(call("run", "lead.yaml", "--input", "Ромашка"), 1, 'Not finished: step budget of lead asks "Бюджет?", and no input is left.')
    code, told = call("run", "lead.yaml", *(word for one in ("Ромашка", "а", "б", "в") for word in ("--input", one)))
    assert code == 1
    assert "— failed (scenario-input-failed)" in told
    expect(call("run", "bad.yml"), 1, '"nowhere"')


def test_dialogues_are_played_with_their_coverage(tmp_path: Path) -> None:
    """Green with exit code 0; the steps that no dialogue reached are named."""
    write_files(tmp_path)
    told = expect(call("test", "lead.yaml"), 0, "  ok  Крупный клиент\n  covers 7 of 9 steps (77 %); not reached: usual, mail\n")
    assert told.endswith("1 dialogue of 1 scenario, 0 failed.\n")
    assert call("test", tmp_path)[0] == 0
    assert call("test", "lead.test.yaml")[0] == 0
    _, (report,) = call_json("test", "lead.yaml")
    assert (report["steps"], report["not_reached"]) == (9, ["usual", "mail"])
    assert report["dialogues"] == [{"name": "Крупный клиент", "ok": True, "differences": []}]


def test_what_came_otherwise_is_shown_as_a_diff(tmp_path: Path) -> None:
    """A changed scenario turns its test red, with the lines that differ."""
    lead = write_files(tmp_path)
    lead.write_text(LEAD.replace("Бюджет?", "Какой бюджет?"), encoding="utf-8")
    code, told = call("test", "lead.yaml")
    assert code == 1
    assert "    messages: - expected, + came\n        Как зовут клиента?\n      - Бюджет?\n      + Какой бюджет?\n" in told
    lead.write_text(LEAD.replace("type: message", "type: mesage"), encoding="utf-8")
    expect(call("test", "lead.yaml"), 1, "FAILED: the scenario has mistakes")


@pytest.mark.parametrize(("dialogues", "what"), [
    ("dialogues: []", "dialogues"),
    ("dialogues: [{name: x, inputs: [{press: a, text: b}]}]", "exactly one of"),
    ("dialogues: [{name: x, expekt: {}}]", 'there is no field "expekt"'),
    ("dialogues: [{name: x, expect: {outcome: good}}]", "outcome"),
    ("{", "FAILED: lead.test.yaml has mistakes"),
])  # fmt: skip
def test_mistakes_in_dialogues_are_said(tmp_path: Path, dialogues: str, what: str) -> None:
    """A file of dialogues is checked as strictly as a scenario; nothing in it is overlooked."""
    write_files(tmp_path)
    Path("lead.test.yaml").write_text(dialogues, encoding="utf-8")
    expect(call("test", "lead.yaml"), 1, what)


def test_where_nothing_is_to_be_tested_it_says_so(tmp_path: Path) -> None:
    """No dialogues, and dialogues without a scenario."""
    assert "has no scenario with a file NAME.test.yaml" in call("test", tmp_path)[1]
    Path("ask_phone.yaml").write_text(PHONE, encoding="utf-8")
    assert call("test", "ask_phone.yaml")[0] == 2
    Path("lost.test.yaml").write_text("dialogues: [{name: x}]", encoding="utf-8")
    assert "lost.test.yaml has no scenario beside it" in call("test", tmp_path)[1]


async def test_a_real_run_is_saved_as_a_test_that_is_green(tmp_path: Path) -> None:
    """The file holds what was answered, only its owner reads it, and an existing one stays."""
    plan = (ask("name", "Как вас зовут?"), say("Здравствуйте, {name}!"))
    async with a_scenario_world(tmp_path, *plan, store=open_store(build_sqlite_url(tmp_path / "sdelka.db"))) as world:
        await world.work(start())
        await world.work(message("Ольга"))
    expect(await asyncio.to_thread(call, "record", RUN[4:14], "--out", "plan.test.yaml"), 0)
    out = tmp_path / "plan.test.yaml"
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert "Ольга" in out.read_text(encoding="utf-8")
    out.with_name("plan.json").write_text(json.dumps({"name": "Проба", "steps": list(plan)}), encoding="utf-8")
    expect(await asyncio.to_thread(call, "test", "plan.json"), 0, "covers 2 of 2 steps (100 %)")
    expect(await asyncio.to_thread(call, "record", RUN[4:14], "--out", "plan.test.yaml"), 2, "is not overwritten")


@pytest.mark.parametrize("doing", ["say", "deal", "lead"])
def test_a_first_scenario_is_asked_for_and_runs(tmp_path: Path, doing: str) -> None:
    """Answers with braces are texts; the file is correct and plays to its end; an existing file stays as it is."""
    typed = "Заявка {x}\n\nКак зовут?\nЧто {нужно}?\n\n" + {"say": "1", "deal": "создать сделку", "lead": "lead"}[doing] + "\n"
    expect(call("new", "first.yaml", typed=typed), 0)
    assert call("validate", "first.yaml")[0] == 0
    code, events = call_json("run", "first.yaml", "--input", "Анна", "--input", "Стол")
    assert code == 0
    assert "Что (нужно)? Стол" in next(one for one in events if one.get("step") == "summary")["text"]
    assert [one["data"]["method"] for one in events if one["event"] == "effect"] == ([] if doing == "say" else [f"crm.{doing}.add"])
    before = Path("first.yaml").read_bytes()
    assert call("new", "first.yaml", typed=typed)[0] == 2
    assert Path("first.yaml").read_bytes() == before


def test_a_first_scenario_that_is_not_answered_to_the_end_is_not_written(tmp_path: Path) -> None:
    """Nor is one under a name that no scenario can have; options answer in place of the keyboard, in English too."""
    assert call("new", "first.yaml", typed="Заявка\n")[0] == 2
    assert call("new", "первый.yaml")[0] == 2
    assert list(tmp_path.glob("*.yaml")) == []
    options = ("--name", "Order", "--description", "", "--question", "Who?", "--do", "say", "--language", "en")
    expect(call("new", "first.json", *options), 0, "The file first.json is ready.")
    assert json.loads(Path("first.json").read_text(encoding="utf-8"))["steps"][0]["params"]["text"] == "Hello! This is “Order”."


def test_without_standard_input_the_inputs_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a service manager starts programs: the missing answer is named, nothing breaks."""
    lead = write_files(tmp_path)
    monkeypatch.setattr(sys, "stdin", None)
    assert play_scenario_file(lead).problem == 'step who of lead asks "Как зовут клиента?", and no input is left'


HYPHENS = """\
name: Лид
steps:
  - {id: new-lead, type: bitrix_call, params: {method: crm.lead.add, params: {fields: {TITLE: x}}, output_var: lead}}
  - {type: llm_request, params: {prompt: "Лид {lead}?", output_var: letter}}
  - {type: execute_sub_scenario, params: {sub_scenario_id: sub, output_mapping: [seen]}}
"""
SUB = "name: Ещё\nsteps: [{id: see-lead, type: bitrix_call, params: {method: crm.lead.get, params: {id: 1}, output_var: seen}}]\n"


def write_hyphens(mocks: str, effects: str) -> None:
    """Write a scenario whose steps have ids that are no identifiers, or none, with one dialogue."""
    Path("lead.yaml").write_text(HYPHENS, encoding="utf-8")
    Path("sub.yaml").write_text(SUB, encoding="utf-8")
    Path("lead.test.yaml").write_text(
        f"dialogues:\n  - name: x\n    mocks: {mocks}\n    expect: {{variables: {{lead: 7}}, effects: {effects}}}\n", encoding="utf-8"
    )


def test_a_test_names_steps_by_the_ids_that_their_author_gave() -> None:
    """Also ids that cannot be names of nodes, those of sub-scenarios, and the number of a step that has none."""
    effects = "[{step: new-lead, method: crm.lead.add}, {step: see-lead, method: crm.lead.get}]"
    write_hyphens("{new-lead: 7, step-2: Пишу, sub/see-lead: {ID: 7}}", effects)
    expect(call("test", "lead.yaml"), 0, "covers 3 of 3 steps")
    write_hyphens("{new-lead: 7, step-2: Пишу, see-lead: {ID: 7}}", effects.replace("see-lead", "new-lead"))
    assert "+ see-lead: crm.lead.get" in call("test", "lead.yaml")[1]


@pytest.mark.parametrize(("mocks", "effects", "where", "meant"), [
    ("{new-laed: 7}", "[]", "dialogues[0].mocks", "new-lead"),
    ("{step-1: 7}", "[]", "dialogues[0].mocks", "new-lead"),
    ("{sub/see-laed: 7}", "[]", 'dialogues[0].mocks["sub/see-laed"]', "sub/see-lead"),
    ("{sub/new-lead: 7}", "[]", 'dialogues[0].mocks["sub/new-lead"]', "sub/see-lead"),
    ("{}", "[{step: newlead, method: x}]", "dialogues[0].expect.effects[0].step", "new-lead"),
])  # fmt: skip
def test_a_step_that_there_is_not_is_refused_in_tests_and_inputs(mocks: str, effects: str, where: str, meant: str) -> None:
    """What, where and the nearest one are said: a misspelt mock would otherwise never be taken, and nobody would see it."""
    write_hyphens(mocks, effects)
    expect(call("test", "lead.yaml"), 1, "FAILED: lead.test.yaml has mistakes", 'there is no step "', where, f" {meant}?")
    Path("in.yaml").write_text(f"inputs: []\nmocks: {mocks}\nexpect: {{effects: {effects}}}\n", encoding="utf-8")
    expect(call("run", "lead.yaml", "--inputs", "in.yaml"), 2, 'there is no step "')


def test_steps_of_a_scenario_with_mistakes_are_not_looked_for() -> None:
    """Its own mistakes are said, and not that all its steps are missing."""
    write_hyphens("{new-lead: 7}", "[]")
    Path("lead.yaml").write_text(HYPHENS.replace("llm_request", "llm_reqest"), encoding="utf-8")
    told = expect(call("test", "lead.yaml"), 1, "FAILED: the scenario has mistakes")
    assert "there is no step" not in told


def test_a_language_that_there_is_not_is_refused() -> None:
    """Wherever one is chosen: another one would be spoken in silence."""
    for words in (("validate", "lead.yaml"), ("run", "lead.yaml"), ("new", "first.yaml")):
        expect(call(*words, "--language", "eng"), 2, "'eng' is not one of 'ru', 'en'")
    expect(call("chat", "--language", "eng", app=app.app), 2, "'eng' is not one of 'ru', 'en'")


def test_log_lines_do_not_stand_among_what_a_try_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The failure of a step is said once, by the command."""
    write_files(tmp_path)
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    told = expect(call("run", "lead.yaml", *(word for one in ("Ромашка", "а", "б", "в") for word in ("--input", one))), 1)
    assert "rehearsal-1" not in told
    assert told.count("budget/1") == 1


@pytest.mark.parametrize(
    "words", [["scenario", "run", "lead.yaml", "--input", "x"], ["scenario", "steps"], ["scenario", "graph", "lead.yaml"]]
)
def test_an_output_that_takes_no_more_is_one_sentence(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As on a full disk: no traceback, and an exit code that a script sees."""
    write_files(tmp_path)
    monkeypatch.setattr(sys, "argv", ["sdelka", *words])
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        monkeypatch.setattr(sys, "stdout", full)
        with pytest.raises(SystemExit) as left:
            app.main()
    assert left.value.code == 1
    assert capsys.readouterr().err.splitlines()[-1] == "the output cannot be written: No space left on device"

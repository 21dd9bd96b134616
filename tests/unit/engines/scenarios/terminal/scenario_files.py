"""Files and calls for tests of `sdelka scenario`."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bot.cli import schema
from bot.cli.author.faces import TryOptions
from bot.cli.author.files import load_file
from bot.i18n.translate import Translator
from engines.scenarios.cases import build
from engines.scenarios.playing import Played
from engines.scenarios.terminal import app as scenario_app
from engines.scenarios.terminal.trying import FAMILY, play_scenario
from orchestrator.domain.errors import SettingsError

LEAD = """\
name: Квалификация
steps:
  - {id: who, type: input, params: {prompt: "Как зовут клиента?", input_variable: client}}
  - {id: budget, type: input, params: {prompt: "Бюджет?", input_variable: sum, type: integer}}
  - {id: choose, type: branch, condition: sum >= 1000000, branches: {if: big, else: usual}}
  - {id: big, type: input, params: {prompt: "Позвать руководителя?", buttons: ["Да", "Нет"], input_variable: boss}, next_step: deal}
  - {id: usual, type: llm_request, params: {prompt: "Напиши {client}", output_var: letter}}
  - {id: mail, type: message, params: {text: "{letter}"}}
  - id: deal
    type: bitrix_call
    params: {method: crm.deal.add, params: {fields: {TITLE: "{client}"}}, output_var: deal}
  - {id: phone, type: execute_sub_scenario, params: {sub_scenario_id: ask_phone, output_mapping: [number]}}
  - {id: bye, type: message, params: {text: "Сделка {deal}, телефон {number}"}}
"""
PHONE = "name: Телефон\nsteps:\n  - {id: ask, type: input, params: {prompt: Телефон?, input_variable: number, type: phone}}\n"
TEST = """\
dialogues:
  - name: Крупный клиент
    inputs: [Ромашка, 1500000, {press: Да}, +79990000000]
    mocks: {deal: 481}
    expect:
      messages: ["Как зовут клиента?", "Бюджет?", "Позвать руководителя?", "Телефон?", "Сделка 481, телефон +79990000000"]
      variables: {boss: Да, deal: 481}
      effects: [{step: deal, method: crm.deal.add, params: {fields: {TITLE: Ромашка}}}]
"""
BAD = """\
name: Ошибки
steps:
  - {id: who, type: input, params: {prompt: "?", tries: 99}}
  - {id: who, type: mesage, next_step: nowhere}
  - {type: execute_sub_scenario, params: {sub_scenario_id: ask_fone, output_mapping: []}}
"""


def write_files(folder: Path) -> Path:
    """Write the scenario, its sub-scenario and its dialogues; return the first."""
    (folder / "ask_phone.yaml").write_text(PHONE, encoding="utf-8")
    (folder / "lead.test.yaml").write_text(TEST, encoding="utf-8")
    (folder / "bad.yml").write_text(BAD, encoding="utf-8")
    lead = folder / "lead.yaml"
    lead.write_text(LEAD, encoding="utf-8")
    return lead


def stand_alone(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Use this folder, and settings that name a database in it which is not there."""
    for name in ("DATABASE_URL", "POLICY_FILE", "BITRIX_WEBHOOK_URL", "OPENAI_API_KEY", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("STATE_DIR", str(folder))
    monkeypatch.chdir(folder)


def call(*words: object, typed: str = "", app: Any = scenario_app.app) -> tuple[int, str]:
    """Exit code and all that was shown, errors as `sdelka` shows them."""
    result = CliRunner().invoke(app, [str(one) for one in words], input=typed)
    if isinstance(result.exception, SettingsError):
        return 2, f"{result.output}{result.exception.reason}"
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def expect(answer: tuple[int, str], code: int, *parts: str) -> str:
    """What a command has shown that ended with this code, with these parts in it."""
    assert answer[0] == code, answer[1]
    assert [part for part in parts if part not in answer[1]] == [], answer[1]
    return answer[1]


def call_json(*words: object, typed: str = "", app: Any = scenario_app.app) -> tuple[int, list[Any]]:
    """The same with --json: the exit code and the objects, one a line."""
    code, told = call(*words, "--json", typed=typed, app=app)
    return code, [json.loads(line) for line in told.splitlines()]


def print_schema() -> Any:
    """What `sdelka schema scenario` prints."""
    code, told = call("scenario", app=schema.app)
    assert code == 0
    return json.loads(told)


def play_scenario_file(path: Path) -> Played:
    """What comes of the scenario in a file that is tried without options."""
    loaded = load_file(FAMILY, path)
    assert loaded.wrong is None
    return play_scenario(build(loaded.key, loaded.document, loaded.parts), TryOptions(), Translator("ru", "Europe/Moscow"))

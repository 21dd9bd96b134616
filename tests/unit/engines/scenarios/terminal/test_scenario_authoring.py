"""`sdelka scenario` and `sdelka schema`: an author checks, draws and reads without a bot, a portal or a database."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from engines.scenarios.core.authoring import build_schema, describe_types
from engines.scenarios.core.registry import load_step_types
from engines.scenarios.playing import check_dialogues
from orchestrator.documents.reading import read_document
from orchestrator.rehearsals.case import KnownSteps
from tests.unit.engines.scenarios.terminal.scenario_files import call, call_json, expect, print_schema, stand_alone, write_files

PAGE = Path(__file__).resolve().parents[5] / "engines" / "scenarios" / "README.md"


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No settings but defaults, and a folder of its own."""
    stand_alone(monkeypatch, tmp_path)


def test_the_schema_is_printed_as_json() -> None:
    """What is printed is the schema of the types that are installed."""
    assert print_schema() == json.loads(json.dumps(build_schema(load_step_types())))


@pytest.mark.req("S000-64")
def test_the_types_of_steps_are_shown_with_parameters_defaults_and_an_example() -> None:
    """Each type by its models; --json has the same for programs; an unknown one is refused with the one that was meant."""
    told = expect(call("steps"), 0)
    for kind in describe_types(load_step_types()):
        assert f"\n{kind.name}" in told
        assert kind.example in told
        assert all(one.name in told and one.meaning in told for one in kind.parameters)
    _, rows = call_json("steps", "input")
    (tries,) = [one for one in rows[0]["parameters"] if one["name"] == "tries"]
    assert tries == {"name": "tries", "type": "whole number", "required": False, "default": 3, "meaning": tries["meaning"]}
    assert call("steps", "inputt") == (2, "there is no type of steps 'inputt', perhaps input")


def test_a_critical_value_of_a_model_is_told_and_forbids_nothing(tmp_path: Path) -> None:
    """`validate` says so as information, at its line, and ends well."""
    update = "{type: bitrix_call, params: {method: crm.deal.update, params: {id: 1, fields: {OPPORTUNITY: '{sum}'}}}}"
    ask = "{type: llm_request, params: {prompt: Сколько?, output_var: sum}}"
    (tmp_path / "plan.yaml").write_text(f"name: План\nsteps:\n  - {ask}\n  - {update}\n", encoding="utf-8")
    expect(call("validate", "plan.yaml"), 0, "No mistakes.")
    _, (row,) = call_json("validate", "plan.yaml")
    assert (row["severity"], row["code"], row["line"], row["args"]["source"]) == ("info", "finding-value-critical", 4, "model")


@pytest.mark.req("S000-64")
def test_the_table_of_the_page_agrees_with_the_models() -> None:
    """Every type and every parameter stands in engines/scenarios/README.md, and nothing else does."""
    table = PAGE.read_text(encoding="utf-8").partition("| type | does |")[2].partition("\n\n")[0]
    shown: dict[str, set[str]] = {}
    for line in table.splitlines()[2:]:
        _, names, _, params, _ = line.split("|")
        types = re.findall(r"`(\w+)`", names)
        full = [f"{types[0].rpartition('_find_one')[0]}{one}" if one.startswith("_") else one for one in types]
        shown.update({name: set(re.findall(r"`(\w+)`", params)) for name in full})
    real = {one.name: {parameter.name for parameter in one.parameters} for one in describe_types(load_step_types())}
    mongo = {name for name in real if name.startswith("mongo_")}
    assert set(shown) == set(real)
    assert {name: shown[name] for name in real if name not in mongo | {"branch"}} == {
        name: params for name, params in real.items() if name not in mongo | {"branch"}
    }
    assert all(shown[name] == set().union(*(real[one] for one in mongo)) for name in mongo)


def test_the_files_of_the_page_are_correct(tmp_path: Path) -> None:
    """The scenario without a finding, the dialogues without a mistake: who copies them begins with something that works."""
    greeting, dialogues = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "greeting.yaml").write_text(greeting, encoding="utf-8")
    assert call("validate", "greeting.yaml") == (0, "greeting.yaml: No mistakes.\n")
    reading = read_document(dialogues)
    of_any_scenario = KnownSteps("greeting", {"greeting": {}})
    assert list(check_dialogues(reading.require_document(), of_any_scenario)) == []


@pytest.mark.req("S000-62")
def test_all_mistakes_of_all_files_are_said_at_once_each_with_its_place(tmp_path: Path) -> None:
    """Lines and columns, severities, the scenario beside it that was meant; exit code 1 for errors and 0 without."""
    lead = write_files(tmp_path)
    told = expect(call("validate", lead, "bad.yml"), 1, f"{lead}: No mistakes.")
    for place, what in (("3:57", "tries"), ("4:6", '"who"'), ("4:15", "message?"), ("4:29", '"nowhere"'), ("5:43", "ask_phone?")):
        assert re.search(rf"^ *{place} .*{re.escape(what)}", told, re.MULTILINE), (place, what, told)
    _, rows = call_json("validate", tmp_path)
    assert {(one["file"], one["line"], one["severity"]) for one in rows} == {
        (f"{tmp_path / 'bad.yml'}", 3, "error"),
        (f"{tmp_path / 'bad.yml'}", 4, "error"),
        (f"{tmp_path / 'bad.yml'}", 5, "warning"),
    }
    assert call("validate", lead)[0] == 0


def test_a_scenario_that_is_no_file_beside_it_is_a_warning_alone(tmp_path: Path) -> None:
    """It may be published already; the sentence says so."""
    lead = write_files(tmp_path)
    (tmp_path / "ask_phone.yaml").unlink()
    code, rows = call_json("validate", lead)
    assert code == 0
    assert [(one["code"], one["severity"], one["path"]) for one in rows] == [
        ("finding-scenario-elsewhere", "warning", "steps[7].params.sub_scenario_id")
    ]
    assert call("validate", "nowhere.yaml") == (2, "nowhere.yaml: cannot be read (No such file or directory)")


def test_a_graph_is_printed_for_mermaid_or_drawn_into_a_file(tmp_path: Path) -> None:
    """A draft with mistakes is drawn, too; what is no document at all is refused."""
    lead = write_files(tmp_path)
    told = expect(call("graph", lead), 0)
    assert told.startswith("flowchart TD\n")
    assert 's2 -->|"if"| s3' in told
    code, told = call("graph", "bad.yml", "--svg", "out.svg")
    assert (code, told) == (0, "out.svg: 3 steps.\n")
    assert ET.parse("out.svg").getroot().tag.endswith("svg")  # noqa: S314 - our own text
    (tmp_path / "none.yaml").write_bytes(b"\xff\xfe\x00")
    assert call("graph", "none.yaml")[0] == 2
    assert "cannot be written" in call("graph", lead, "--svg", "nowhere/out.svg")[1]


def test_a_folder_without_scenarios_is_no_good_folder(tmp_path: Path) -> None:
    """Whoever named the wrong one must not read silence as "no mistakes"."""
    (tmp_path / "empty").mkdir()
    expect(call("validate", tmp_path / "empty"), 2, "has no definition")


def test_numbers_in_the_sentence_of_a_mistake_are_readable(tmp_path: Path) -> None:
    """The space inside of a number is shown as one, not as a code."""
    (tmp_path / "huge.yaml").write_text("#" * 1_100_000, encoding="utf-8")
    _, told = call("validate", tmp_path / "huge.yaml", "--language", "ru")
    assert "1 000 001 байт" in told.replace("\u00a0", " ")

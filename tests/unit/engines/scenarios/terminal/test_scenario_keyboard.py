"""Answers at the keyboard of `sdelka scenario run`: whatever a person could send in a chat, and another try for what they could not."""

import io
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from engines.scenarios.playing import Played
from engines.scenarios.terminal.trying import read_typed
from orchestrator.engines.runs import Ask, Option
from orchestrator.rehearsals.case import Given
from orchestrator.rehearsals.script import AnswerUnfit
from tests.unit.engines.scenarios.terminal.scenario_files import call_json, play_scenario_file, stand_alone

BUTTONS = Ask(text="?", options=[Option(label="Да", value=1), Option(label="7", value=2)])
FILES = Ask(text="?", takes=frozenset({"text", "photo", "document"}), timeout=timedelta(hours=1))


class Keyboard(io.StringIO):
    """Lines that are typed at a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No settings but defaults, a folder of its own, and a photo in it."""
    stand_alone(monkeypatch, tmp_path)
    for name in ("a.jpg", "a.pdf"):
        Path(name).write_bytes(b"x")


def write_question(**params: Any) -> Path:
    """Write a scenario that asks once and says what it got."""
    path = Path("ask.json")
    steps = [{"id": "ask", "type": "input", "params": {"prompt": "?", "input_variable": "got", **params}}]
    path.write_text(json.dumps({"name": "x", "steps": steps}), encoding="utf-8")
    return path


def play(path: Path, typed: str, monkeypatch: pytest.MonkeyPatch) -> Played:
    """Play it with these lines typed at a terminal."""
    monkeypatch.setattr("sys.stdin", Keyboard(typed))
    return play_scenario_file(path)


def test_where_only_buttons_are_taken_another_line_is_asked_for_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is taken is said, and the run goes on: a person who mistypes must not begin anew."""
    path = write_question(buttons=["Да", "Нет"], only_buttons=True)
    played = play(path, "может быть\n9\n2\n", monkeypatch)
    assert (played.problem, played.result.status, played.variables["got"]) == ("", "done", "Нет")
    told = capsys.readouterr().err
    assert 'step ask of ask takes the button "Да", the button "Нет", not может быть.' in told
    assert told.count("> ") == 3


def test_a_wrong_answer_of_the_script_still_ends_the_run() -> None:
    """Only what is typed can be typed again."""
    write_question(buttons=["Да"], only_buttons=True)
    code, events = call_json("run", "ask.json", "--input", "может", typed="1\n")
    assert (code, events[-1]["outcome"]) == (1, "unfinished")


@pytest.mark.parametrize(("kind", "typed", "name", "hint"), [
    ("photo", "@a.jpg", "a.jpg", "(@PATH of a file sends a photo)"),
    ("photo", "none.jpg\na.jpg", "a.jpg", "there is no file none.jpg."),
    ("document", "@a.pdf", "a.pdf", "(@PATH of a file sends a document)"),
    ("contact", "@+79990000000", "+79990000000", "(@+79990000000 sends a contact)"),
    ("contact", "завтра\n+79990000000", "+79990000000", "завтра is no telephone such as +79990000000."),
])  # fmt: skip
def test_photos_documents_and_contacts_are_given_at_the_keyboard(
    kind: str, typed: str, name: str, hint: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the path of a file or a telephone, as the prompt says; what is neither is asked for again."""
    played = play(write_question(type=kind), f"{typed}\n", monkeypatch)
    assert (played.problem, played.result.status) == ("", "done")
    assert name in json.dumps(played.variables["got"])
    assert hint in capsys.readouterr().err


@pytest.mark.parametrize(("ask", "line", "wanted"), [
    (BUTTONS, "1", Given(press="Да")), (BUTTONS, "7", "7"), (BUTTONS, "3", "3"), (BUTTONS, "@timeout", "@timeout"),
    (FILES, "@timeout", Given(timeout=True)), (FILES, "привет", "привет"), (FILES, "@a.jpg", Given(photo="a.jpg")),
    (FILES, "@a.pdf", Given(document="a.pdf")), (FILES, "@@anna", Given(text="@anna")),
    (Ask(text="?", takes=frozenset({"text"})), "@anna", "@anna"),
    (Ask(text="?", takes=frozenset({"text", "contact"})), "+79990000000", "+79990000000"),
])  # fmt: skip
def test_a_line_is_what_it_looks_like(ask: Ask, line: str, wanted: str | Given) -> None:
    """A number is a button unless a button says that number, and text stays text wherever text is taken."""
    assert read_typed(line, ask) == wanted


@pytest.mark.parametrize("line", ["@anna", "@", "@.", "@a\0b"])
def test_a_file_that_is_none_is_not_taken_for_a_text(line: str) -> None:
    """A mistyped path would otherwise become the answer."""
    with pytest.raises(AnswerUnfit, match="there is no file"):
        read_typed(line, FILES)

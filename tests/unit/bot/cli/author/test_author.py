"""`sdelka author`: the same commands for every kind of definitions, also for one that nothing here has seen."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bot.cli.author import app as author_app
from bot.plugins.loading import list_kinds
from tests.unit.bot.cli.author import riddle_engine
from tests.unit.engines.flows.terminal.flow_files import create_database, write_files
from tests.unit.engines.scenarios.terminal import scenario_files

ROOT = Path(__file__).resolve().parents[5]
KINDS = ["scenario", "flow", "agent", "workflow", "tuum"]
DRAWN = {"scenario", "flow", "workflow"}
ANSWERS = "draft: Здравствуйте\nreview: {offer: Добрый день}\n"


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No settings but defaults, and a folder of its own."""
    for name in ("DATABASE_URL", "POLICY_FILE", "BITRIX_WEBHOOK_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("STATE_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*words: object, typed: str = "") -> tuple[int, str]:
    """Exit code and all that was shown, errors as `sdelka` shows them."""
    return scenario_files.call(*words, typed=typed, app=author_app.app)


def call_json(*words: object, typed: str = "") -> tuple[int, list[Any]]:
    """The same with --json: the exit code and the objects, one a line."""
    return scenario_files.call_json(*words, typed=typed, app=author_app.app)


def test_the_kinds_of_this_program_are_those_that_are_tried_here() -> None:
    """Those of an engine that somebody put in come behind them."""
    assert list_kinds()[: len(KINDS)] == KINDS
    assert f"The kinds: {', '.join(list_kinds())}." in " ".join(call("--help")[1].split())


@pytest.mark.parametrize("kind", KINDS)
def test_a_first_definition_of_each_kind_is_written_checked_and_drawn(kind: str) -> None:
    """Its key is the name of its file; what it lacks is said at once; an existing file stays as it is."""
    code, told = call("new", kind, "first.yaml", "--language", "en")
    assert code == 0
    checked = call("check", kind, "first.yaml", "--language", "en")
    assert told == checked[1]
    assert checked[0] == (1 if kind == "flow" else 0), "a flow begins without its agent, which only its author knows"
    text = Path("first.yaml").read_text(encoding="utf-8")
    key_field = {"flow": "flowId", "workflow": "workflowId", "tuum": "tuumId"}.get(kind)
    assert key_field is None or f"{key_field}: first\n" in text
    assert call("new", kind, "first.yaml") == (2, "first.yaml is there already, and is not overwritten")
    assert Path("first.yaml").read_text(encoding="utf-8") == text
    code, told = call("draw", kind, "first.yaml")
    if kind in DRAWN:
        assert (code, told.partition("\n")[0]) == (0, "flowchart TD")
    else:
        assert (code, told.startswith(f"definitions of the kind {kind} have no picture; these do: scenario, flow, workflow")) == (2, True)


def test_a_kind_that_there_is_not_is_refused_with_the_nearest_and_all() -> None:
    """Under every command."""
    for verb in ("new", "check", "draw", "try", "test", "record"):
        code, told = call(verb, "flw", "x.yaml")
        assert (code, told) == (2, f"there is no kind of definitions 'flw', perhaps flow: it is one of {', '.join(list_kinds())}")
    assert call("test", "\x1b[31m", "x.yaml")[1].startswith("there is no kind of definitions '\\x1b[31m': ")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("try", "agent", "x.yaml"), "definitions of the kind agent cannot be tried: their engine does not offer it; these do: "),
        (("test", "tuum", "x.yaml"), "definitions of the kind tuum have no tests: their engine does not offer it; these do: "),
        (
            ("record", "agent", "r1", "--out", "x"),
            "definitions of the kind agent cannot be recorded: their engine does not offer it; these do: ",
        ),
    ],
)
def test_what_a_kind_does_not_offer_is_said_with_the_kinds_that_do(words: tuple[str, ...], told: str) -> None:
    """Its parts are tried and tested with what names them."""
    code, said = call(*words)
    assert (code, said.startswith(f"{told}scenario, flow, workflow")) == (2, True)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("new", "flow", "notes.txt"), "notes.txt: a name such as first.yaml is needed"),
        (("new", "flow", "два.yaml"), "два.yaml: a name such as first.yaml is needed"),
        (("new", "flow", "first.test.yaml"), "first.test.yaml: a name such as first.yaml is needed"),
        (("new", "flow", "nowhere/first.yaml"), "nowhere/first.yaml: cannot be written (No such file or directory)"),
        (("check", "flow", "gone.yaml"), "gone.yaml: cannot be read (No such file or directory)"),
        (("check", "flow", "-"), "-: cannot be read (No such file or directory)"),
        (("check", "flow", "empty"), "empty has no definition: a file such as NAME.yaml is needed"),
        (("draw", "flow", "bytes.yaml"), "bytes.yaml: 1:2 error the text is not UTF-8: save it as UTF-8"),
        (("draw", "flow", "empty"), "empty: cannot be read (Is a directory)"),
        (("try", "flow", "gone"), "gone is no file, and published flows cannot be read: "),
        (("try", "flow", "gone.yaml"), "gone.yaml: cannot be read (No such file or directory)"),
        (("try", "flow", "offer.yaml", "--version", "2"), "--version is for published flows: a file has one version"),
        (("try", "flow", "offer.yaml", "--queries", "x"), "--queries: definitions of the kind flow are tried with --answers, --param"),
        (("try", "scenario", "lead.yaml", "--param", "x"), "--param 'x': a value such as deal=481 is needed"),
        (("try", "scenario", "lead.yaml", "--inputs", "bytes.yaml"), "bytes.yaml: cannot be used as inputs"),
        (("test", "flow", "offer.yaml"), "offer.yaml: a flow NAME.yaml and its tests NAME.test.yaml are needed"),
        (("test", "scenario", "empty"), "empty has no scenario with a file NAME.test.yaml beside it"),
    ],
)
def test_wrong_use_is_refused_with_what_where_and_how_to_mend_it(folder: Path, words: tuple[str, ...], why: str) -> None:
    """Exit code 2, and one sentence."""
    write_files(folder)
    (folder / "lead.yaml").write_text(scenario_files.PHONE, encoding="utf-8")
    (folder / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    (folder / "empty").mkdir()
    code, told = call(*words)
    assert (code, why in told) == (2, True), told


def test_what_is_no_yaml_or_no_such_definition_is_a_mistake_with_its_place(folder: Path) -> None:
    """As in every check; the exit code is that of a mistake."""
    (folder / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    (folder / "plain.txt").write_text("hello", encoding="utf-8")
    code, rows = call_json("check", "flow", "bytes.yaml", "plain.txt")
    assert (code, [(one["file"], one["line"]) for one in rows]) == (1, [("bytes.yaml", 1), ("plain.txt", 1)])


def test_a_flow_is_checked_and_tried_with_its_agents_as_by_its_own_group(folder: Path) -> None:
    """The agents are files beside it; the same answers give the same text."""
    write_files(folder)
    (folder / "answers.yaml").write_text(ANSWERS, encoding="utf-8")
    code, told = call("check", "flow", "offer.yaml")
    assert (code, told.splitlines()) == (0, ["offer.yaml: Ошибок нет.", "writer.yaml: Ошибок нет.", "reviewer.yaml: Ошибок нет."])
    words = ("offer.yaml", "--answers", "answers.yaml", "--param", "client=Ромашка")
    code, told = call("try", "flow", *words, typed="\n")
    assert (code, told) == scenario_files.call("run", *words, typed="\n", app=_load_group("flows"))
    assert told.endswith("— готово\n")
    (folder / "writer.yaml").write_text("systemPrompt: 7\n", encoding="utf-8")
    code, told = call("try", "flow", *words)
    assert (code, "writer.yaml: 1 ошибка." in told) == (1, True)


def test_tests_of_each_kind_are_played(folder: Path) -> None:
    """By what each calls them; the other files of the folder are no tests of it."""
    lead = scenario_files.write_files(folder)
    code, (report,) = call_json("test", "scenario", lead)
    assert (code, report["steps"], [one["ok"] for one in report["dialogues"]]) == (0, 9, [True])
    write_files(folder)
    cases = "tests: [{name: x, parameters: {client: a}, answers: {draft: a, review: b}, expect: {path: [draft]}}]"
    (folder / "offer.test.yaml").write_text(cases, encoding="utf-8")
    code, told = call("test", "flow", "offer.yaml")
    assert (code, "      + review" in told) == (1, True)


def test_published_definitions_of_every_kind_are_tried_by_their_keys(folder: Path) -> None:
    """Files that have changed since do not reach them; versions are those of the store."""
    create_database(folder)
    (folder / "phone.yaml").write_text(scenario_files.PHONE, encoding="utf-8")
    write_files(folder)
    (folder / "answers.yaml").write_text(ANSWERS, encoding="utf-8")
    publish = ("publish", "offer.yaml", "--agent", "writer.yaml", "--agent", "reviewer.yaml")
    assert scenario_files.call(*publish, app=_load_group("flows"))[0] == 0
    for path in folder.glob("*.yaml"):
        if path.stem not in {"answers", "phone"}:
            path.unlink()
    words = ("try", "flow", "offer", "--answers", "answers.yaml", "--param", "client=x", "--param", "budget=5")
    assert call(*words)[0] == 0
    assert call(*words, "--version", "7")[0] == 2
    assert call("try", "flow", "other")[0] == 2


def _load_group(engine: str) -> Any:
    from importlib import import_module  # noqa: PLC0415 - by its name

    return import_module(f"engines.{engine}.terminal.app").app


def install(engine: Path, site: Path) -> None:
    """Put an engine in as a distribution with an entry point."""
    (site / "riddles.py").write_text(engine.read_text(encoding="utf-8"), encoding="utf-8")
    info = site / "riddles-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: riddles\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[sdelka.engines]\nriddle = riddles:PLUGIN\n", encoding="utf-8")


SCRIPT = """
import sys
from tests.unit.bot.cli.author.test_author import call
print(call("--help")[1].count(", riddle"))
print(call("new", "riddle", "first.yaml"), call("check", "riddle", "first.yaml", "--language", "en"), call("draw", "riddle", "first.yaml")[1][:12])
print(call("try", "riddle", "first.yaml", typed="гусь\\n1\\n"))
print(call("try", "riddle", "first.yaml", "--input", "7", "--json"))
print(call("try", "riddle", "first.yaml", typed=""))
print(call("try", "riddle", "first.yaml", "--inputs", "in.yaml"))
print(call("try", "riddle", "first.yaml", "--param", "a=1"))
print(call("test", "riddle", "first.yaml"))
"""
EVENTS = """\
{"event":"question","definition":"first","step":"ask","node":"ask","text":"Кто крякает?","options":["Утка","7"],"data":null}
{"event":"answer","definition":"first","step":"ask","node":"ask","text":"option","data":7}
{"event":"end","outcome":"done","code":"","problem":"","result":{"heard":7}}
"""


@pytest.mark.long
def test_an_engine_that_nobody_has_seen_has_all_commands(folder: Path) -> None:
    """It is only installed. What it does not offer is said; the rest works with what its faces tell."""
    site = folder / "site"
    site.mkdir()
    install(Path(riddle_engine.__file__), site)
    (folder / "in.yaml").write_text("moks: {}\n", encoding="utf-8")
    path = os.pathsep.join([str(ROOT), str(site)])
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=folder, env=environment, capture_output=True, check=False)
    assert done.stdout.decode().splitlines() == [
        "1",
        "(0, 'first.yaml: Ошибок нет.\\n') (0, 'first.yaml: No mistakes.\\n') flowchart TD",
        "(0, 'Кто крякает?\\n  1. Утка\\n  2. 7\\n> duck\\n— done\\n  heard = \"duck\"\\n[ask] takes Утка, 7.\\n')",
        f"(0, {EVENTS!r})",
        "(1, 'Кто крякает?\\n  1. Утка\\n  2. 7\\nNot finished: step ask needs more, and no input is left (Кто крякает?).\\n')",
        "(2, 'in.yaml: cannot be used as inputs (moks: no such key; remove it)')",
        "(2, '--param: definitions of the kind riddle are tried with --input, --inputs')",
        "(2, 'definitions of the kind riddle have no tests: their engine does not offer it; these do: scenario, flow, workflow')",
    ], done.stderr.decode()

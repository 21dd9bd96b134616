"""`sdelka workflow`: an author checks, orders, draws, publishes and compares workflows with their tuums."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from bot.cli.nouns import commands
from engines.workflows.terminal import app as workflow_app
from tests.unit.engines.flows.terminal.flow_files import create_database
from tests.unit.engines.scenarios.terminal import scenario_files
from tests.unit.engines.scenarios.terminal.scenario_files import expect, stand_alone
from tests.unit.engines.workflows.terminal.workflow_files import DEALS

CLEANER = """\
tuumId: cleaner
runes:
  - {runeType: operation, operationType: DeleteEntity, entityType: deal, entityId: "{{company}}"}
"""
REVIEW = """\
workflowId: review
metadata: {title: Разбор}
triggerParameters: [{name: company, type: string}]
tuums:
  - tuumId: letter
    promptRunes: [{runeType: prompt, template: "Расскажи: {{deals}}"}]
    aiService: tool
    outputMappings: {text: ai_final_output}
  - tuum: deals
terminal: {rawText: text}
"""
BAD = """\
workflowId: bad
metadata: {title: Ошибки}
tuums:
  - tuumId: one
    runes: [{runeType: script, source: "{}", consumes: [sum]}]
  - tuumId: two
    runes: [{runeType: prompd, template: "?"}]
    isStreaming: 5
"""


def call(*words: object) -> tuple[int, str]:
    return scenario_files.call(*words, app=workflow_app.app)


def call_json(*words: object) -> tuple[int, list[Any]]:
    return scenario_files.call_json(*words, app=workflow_app.app)


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder with the files, and settings that name a database which is not there yet."""
    stand_alone(monkeypatch, tmp_path)
    (tmp_path / "tuums").mkdir()
    for name, text in {"tuums/deals": DEALS, "cleaner": CLEANER, "review": REVIEW, "bad": BAD}.items():
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    return tmp_path


def list_versions(kind: str) -> list[tuple[str, int]]:
    """(key, last version) of the stored definitions of a kind."""
    code, rows = scenario_files.call_json("list", "--kind", kind, app=commands.definitions)
    assert code == 0
    return [(one["key"], one["last_version"]) for one in rows]


def test_all_mistakes_are_said_at_once_each_with_its_place() -> None:
    """In Russian by default, in English by choice, as JSON for programs; tuums beside the workflow are checked, too."""
    code, told = call("validate", "bad.yaml", "review.yaml")
    assert code == 1
    assert "bad.yaml: 3 ошибки." in told
    assert "prompt?" in told
    assert "review.yaml: Ошибок нет." in told
    assert "tuums/deals.yaml: Ошибок нет." in told
    assert "bad.yaml: 3 mistakes." in call("validate", "bad.yaml", "--language", "en")[1]
    _, rows = call_json("validate", "bad.yaml")
    assert [(one["line"], one["path"]) for one in rows] == [
        (5, "tuums[0].runes[0]"),
        (7, "tuums[1].runes[0].runeType"),
        (8, "tuums[1].isStreaming"),
    ]


def test_a_workflow_is_checked_together_with_the_tuums_beside_it(folder: Path) -> None:
    """What they publish and need is known then; what a tuum needs that nobody gives is said at its reference."""
    (folder / "tuums/deals.yaml").write_text(DEALS.replace("{deals: rows}", "{rows: rows}"), encoding="utf-8")
    code, rows = call_json("validate", "review.yaml")
    assert (code, [(one["severity"], one["code"]) for one in rows]) == (
        0,
        [("warning", "finding-workflow-template-empty"), ("warning", "finding-workflow-output-unused")],
    )
    (folder / "tuums/deals.yaml").write_text(DEALS + "mainScript: {source: '{}', consumes: [client]}\n", encoding="utf-8")
    code, rows = call_json("validate", "review.yaml")
    assert (code, [(one["code"], one["path"], one["line"]) for one in rows]) == (1, [("finding-workflow-no-source", "tuums[1]", 9)])


def test_tuums_that_are_no_files_are_looked_up_or_it_is_said_that_they_were_not(folder: Path) -> None:
    """Without a database nobody reads silence as "there is such a tuum"; a published one is checked with the workflow."""
    (folder / "tuums/deals.yaml").rename(folder / "other.yaml")
    expect(call("validate", "review.yaml"), 0, "Есть ли часть deals, не проверено: рядом нет такого файла")
    _, rows = call_json("validate", "review.yaml")
    assert rows[0]["tuums_not_looked_up"] == ["deals"]
    assert "there are no files of the tuums deals" in call("compile", "review.yaml")[1]
    create_database(folder)
    code, rows = call_json("validate", "review.yaml")
    assert (code, [(one["code"], one["line"]) for one in rows]) == (1, [("finding-reference-unknown", 9)])
    assert call("publish", "review.yaml", "--tuum", "other.yaml")[0] == 0
    code, rows = call_json("compile", "review.yaml")
    assert (code, [one["tuum"] for one in rows]) == (0, ["deals", "letter"])


@pytest.mark.req("S003-31")
def test_the_order_is_shown_with_what_goes_between_the_tuums() -> None:
    """For people as a table, for programs an object a line; of a workflow with mistakes the mistakes are."""
    told = expect(call("compile", "review.yaml"), 0)
    assert told.startswith("Частей: 2, очередей: 2.")
    assert call("compile", "review.yaml", "--language", "en")[1].startswith("2 tuums on 2 levels;")
    _, rows = call_json("compile", "review.yaml")
    assert rows == [
        {
            "tuum": "deals", "level": 0, "index": 1, "after": [], "inputs": {}, "reads": {"company": "company"},
            "outputs": {"deals": "rows"},
        },
        {
            "tuum": "letter", "level": 1, "index": 0, "after": ["deals"], "inputs": {}, "reads": {"deals": "deals"},
            "outputs": {"text": "ai_final_output"},
        },
    ]  # fmt: skip
    code, rows = call_json("compile", "bad.yaml")
    assert (code, len(rows)) == (1, 3)
    assert call("compile", "tuums/deals.yaml")[0] == 2


def test_a_workflow_is_published_with_its_tuums(folder: Path) -> None:
    """One command saves and publishes all; a tuum with the same text keeps its version."""
    create_database(folder)
    words = ("publish", "review.yaml", "--tuum", "tuums/deals.yaml")
    code, told = call(*words)
    assert (code, told.splitlines()[-1][:36]) == (0, "Процесс review: опубликована версия ")
    code, rows = call_json(*words)
    assert (code, [(one["kind"], one["key"], one["became"]) for one in rows]) == (
        0,
        [("tuum", "deals", "unchanged"), ("workflow", "review", "published")],
    )
    assert (list_versions("tuum"), list_versions("workflow")) == ([("deals", 1)], [("review", 2)])
    assert call("diff", "review", "1", "2") == (0, "Ничего не изменилось.\n")
    assert call("diff", "review", "1", "9")[0] == 2
    with (folder / "review.yaml").open("a", encoding="utf-8") as file:
        file.write("# why\n")
    assert call(*words)[0] == 0
    assert call("diff", "review", "2", "3") == (0, "Изменились только комментарии и вид текста.\n")


def test_nothing_is_stored_if_anything_is_wrong(folder: Path) -> None:
    """Also if a workflow and the tuum that is published with it do not fit together."""
    create_database(folder)
    (folder / "review.yaml").write_text(REVIEW.replace("aiService: tool", "mainScript: {source: '{}', consumes: [sum]}"), encoding="utf-8")
    expect(call("publish", "review.yaml", "--tuum", "tuums/deals.yaml"), 1, "Ничего не сохранено")
    assert (list_versions("tuum"), list_versions("workflow")) == ([], [])


def test_what_needs_two_people_waits_as_a_draft_and_the_workflow_with_it(folder: Path) -> None:
    """A tuum that may delete is not published by this command."""
    create_database(folder)
    (folder / "review.yaml").write_text(REVIEW.replace("tuum: deals", "tuum: cleaner"), encoding="utf-8")
    expect(call("publish", "review.yaml", "--tuum", "cleaner.yaml"), 1, "Часть cleaner: версия 1 сохранена черновиком.", "crm.deal.delete")
    assert list_versions("workflow") == []


def test_a_graph_is_printed_for_mermaid_or_drawn_into_a_file(folder: Path) -> None:
    """With the tuums beside it, and of a draft with mistakes, too."""
    expect(call("graph", "review.yaml"), 0, '|"deals"|')
    assert call("graph", "bad.yaml", "--svg", "out.svg") == (0, "out.svg: 4 фигуры.\n")
    assert ET.parse("out.svg").getroot().tag.endswith("svg")  # noqa: S314 - our own text
    (folder / "none.yaml").write_bytes(b"\xff\xfe\x00")
    assert call("graph", "none.yaml")[0] == 2

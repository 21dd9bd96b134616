"""`sdelka flow`: an author checks, draws, publishes and compares flows with their agents."""

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from bot.cli.nouns import commands
from tests.unit.engines.flows.terminal.flow_files import OFFER, WRITER, call, call_json, create_database, write_files
from tests.unit.engines.scenarios.terminal import scenario_files
from tests.unit.engines.scenarios.terminal.scenario_files import expect, stand_alone


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder with the files, and settings that name a database which is not there yet."""
    stand_alone(monkeypatch, tmp_path)
    write_files(tmp_path)
    return tmp_path


def list_versions(kind: str) -> list[tuple[str, str]]:
    """(key, last version) of the stored definitions of a kind."""
    code, rows = scenario_files.call_json("list", "--kind", kind, app=commands.definitions)
    assert code == 0
    return [(one["key"], f"{one['last_version']}{' draft' if one['has_draft'] else ''}") for one in rows]


@pytest.mark.req("S002-4", "S002-51")
def test_all_mistakes_are_said_at_once_each_with_its_place() -> None:
    """In Russian by default, in English by choice, as JSON for programs; agents beside the flow are checked, too."""
    code, told = call("validate", "bad.yaml", "offer.yaml")
    assert code == 1
    assert "bad.yaml: 2 ошибки." in told
    assert "6:18" in told
    assert "7:37" in told
    assert "two?" in told
    assert "offer.yaml: Ошибок нет." in told
    assert "writer.yaml: Ошибок нет." in told
    assert "reviewer.yaml: Ошибок нет." in told
    assert "bad.yaml: 2 mistakes." in call("validate", "bad.yaml", "--language", "en")[1]
    _, rows = call_json("validate", "bad.yaml")
    assert [(one["line"], one["path"]) for one in rows] == [(6, "steps[0].maxAttempts"), (7, "steps[0].transitions.onSuccess.next")]


def test_a_mistake_of_an_agent_beside_the_flow_is_a_mistake(folder: Path) -> None:
    """The flow could not be published with it."""
    (folder / "writer.yaml").write_text("systemPrompt: 7\n", encoding="utf-8")
    code, rows = call_json("validate", "offer.yaml")
    assert (code, [(one["file"], one["path"]) for one in rows]) == (1, [("writer.yaml", "systemPrompt")])


@pytest.mark.req("S002-12", "S002-25")
def test_agents_that_are_no_files_are_looked_up_or_it_is_said_that_they_were_not(folder: Path) -> None:
    """Without a database nobody reads silence as "there is such an agent"."""
    (folder / "writer.yaml").unlink()
    expect(call("validate", "offer.yaml"), 0, "Есть ли агент writer, не проверено")
    _, rows = call_json("validate", "offer.yaml")
    assert rows[0]["agents_not_looked_up"] == ["writer"]
    create_database(folder)
    code, rows = call_json("validate", "offer.yaml")
    assert (code, [(one["code"], one["line"]) for one in rows]) == (1, [("finding-reference-unknown", 8)])
    _, rows = call_json("validate", "bad.yaml")
    assert [(one["code"], one["line"]) for one in rows] == [
        ("finding-reference-unknown", 5), ("finding-field-shape", 6), ("finding-flow-step-unknown", 7), ("finding-reference-unknown", 8),
    ]  # fmt: skip


@pytest.mark.req("S002-57", "S002-58")
def test_a_flow_is_published_with_its_agents_and_again_without_new_versions_of_them(folder: Path) -> None:
    """One command saves and publishes all; an agent with the same text keeps its version."""
    create_database(folder)
    words = ("publish", "offer.yaml", "--agent", "writer.yaml", "--agent", "reviewer.yaml")
    told = expect(call(*words), 0)
    assert told.splitlines()[-1].startswith("Поток offer: опубликована версия 1.")
    assert list_versions("agent") == [("reviewer", "1"), ("writer", "1")]
    (folder / "writer.yaml").write_text(WRITER + "description: Новый\n", encoding="utf-8")
    code, rows = call_json(*words)
    assert (code, [(one["key"], one["version"], one["became"]) for one in rows]) == (
        0,
        [("writer", 2, "published"), ("reviewer", 1, "unchanged"), ("offer", 2, "published")],
    )
    told = expect(call("diff", "offer", "1", "2"), 0, "steps[0].agentVersionId", "версия 2")
    assert ('"writer@1 (Автор)"' in told, '"writer@2 (Автор)"' in told) == (True, True), "names of versions, not their ids"
    assert call("diff", "offer", "1", "1") == (0, "Ничего не изменилось.\n")
    _, (change,) = call_json("diff", "offer", "1", "2")
    assert (change["kind"], change["path"]) == ("changed", "steps[0].agentVersionId")
    assert call("diff", "offer", "1", "9")[0] == 2


def test_nothing_is_stored_if_anything_is_wrong(folder: Path) -> None:
    """Neither the agents that are right, if another is wrong, the flow is, or one of its agents is neither given nor published."""
    create_database(folder)
    (folder / "wrong.yaml").write_text("systemPrompt: 7\n", encoding="utf-8")
    for words in (
        ("bad.yaml", "--agent", "writer.yaml"),
        ("offer.yaml", "--agent", "writer.yaml"),
        ("offer.yaml", "--agent", "writer.yaml", "--agent", "reviewer.yaml", "--agent", "wrong.yaml"),
    ):
        expect(call("publish", *words), 1, "Ничего не сохранено")
    assert "--agent" in call("publish", "offer.yaml", "--agent", "writer.yaml", "--agent", "writer.yaml")[1]
    assert list_versions("agent") == []
    assert list_versions("flow") == []


def test_what_needs_two_people_waits_as_a_draft_and_the_flow_with_it(folder: Path) -> None:
    """The command says so, does not publish it, and makes no further draft when it is repeated."""
    create_database(folder)
    (folder / "offer.yaml").write_text(OFFER.replace("reviewer", "deleter"), encoding="utf-8")
    words = ("publish", "offer.yaml", "--agent", "writer.yaml", "--agent", "deleter.yaml")
    assert "deleter.yaml: Ошибок нет. Публикует второй сотрудник, не автор: crm.deal.delete." in call("validate", "offer.yaml")[1]
    for _ in range(2):
        expect(call(*words), 1, "Агент deleter: версия 1 сохранена черновиком.", "crm.deal.delete", "дождитесь второго сотрудника")
    assert list_versions("agent") == [("deleter", "1 draft"), ("writer", "1")]
    assert list_versions("flow") == []


def test_a_graph_is_printed_for_mermaid_or_drawn_into_a_file(folder: Path) -> None:
    """A draft with mistakes is drawn, too; what is no document at all is refused."""
    told = expect(call("graph", "offer.yaml"), 0)
    assert told.startswith('flowchart TD\n  s0["draft<br/>Автор · #215;2"]\n')
    assert call("graph", "bad.yaml", "--svg", "out.svg") == (0, "out.svg: 3 фигуры.\n")
    assert ET.parse("out.svg").getroot().tag.endswith("svg")  # noqa: S314 - our own text
    (folder / "none.yaml").write_bytes(b"\xff\xfe\x00")
    assert call("graph", "none.yaml")[0] == 2
    assert "cannot be written" in call("graph", "offer.yaml", "--svg", "nowhere/out.svg")[1]

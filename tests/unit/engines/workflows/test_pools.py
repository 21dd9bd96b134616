"""Variables stay where they belong: what a tuum does not publish is gone, what others get are copies, and no run knows of another."""

from pathlib import Path

import pytest

from engines.workflows.core.rune_types import AUTHOR
from orchestrator.domain.taint import Value
from orchestrator.engines.shared.rendering import MOST_COLUMNS, build_result_reply, render_plain
from tests.unit.engines.workflows.played_kit import a_workflow_world, code, result, start
from tests.unit.engines.workflows.workflow_kit import parameter, prompt, put, tuum, workflow
from tests.unit.runs.runs_kit import RUN, index
from tests.unit.runs.runs_kit import start as start_run
from tests.unit.spine_kit import CHAT


@pytest.mark.req("S003-8", "S003-9", "S003-10", "S003-11", "S003-12", "S003-36", "S003-X5", "S003-A8")
async def test_only_what_is_mapped_leaves_a_tuum(tmp_path: Path) -> None:
    """Locals of one name do not meet; one that is mapped and was never made is left out; without a terminal the globals are the result."""
    one = tuum("one", put("x", 1), put("secret", 2), outputMappings={"first": "x"})
    other = tuum(
        "other", put("x", 3), {"runeType": "json", "input": "x", "path": "no", "output": "y"}, outputMappings={"second": "x", "no": "y"}
    )
    lazy = tuum("lazy", mainScript=code("{}", produces="never"), outputMappings={"never": "never"})
    async with a_workflow_world(tmp_path, workflow(one, other, lazy)) as world:
        await world.work(start())
        assert result(world)["globals"] == {"first": 1, "second": 3, "no": None}
        assert (result(world)["rawText"], result(world)["operations"]) == ("", [])


@pytest.mark.req("S003-X11", "S003-32")
async def test_a_script_changes_its_own_copy(tmp_path: Path) -> None:
    """Two tuums that take one global each find it as it was published."""
    give = tuum("give", put("rows", [1]), outputMappings={"rows": "rows"})
    grow = [
        tuum(name, mainScript=code("rows.append(2)\n{'n': len(rows)}", consumes="rows", produces="n"), outputMappings={name: "n"})
        for name in ("a", "b")
    ]
    async with a_workflow_world(tmp_path, workflow(give, *grow)) as world:
        await world.work(start())
        assert result(world)["globals"] == {"a": 2, "b": 2, "rows": [1]}


@pytest.mark.req("S003-26", "S003-37", "S003-58", "S003-72")
async def test_a_run_leaves_nothing_but_its_own_stream(tmp_path: Path) -> None:
    """The second run of the same engine sees nothing of the first; each is found with its text in the index, and the portal is untouched."""
    other = f"{RUN[:-1]}2"
    say = tuum("say", mainScript=code('{"t": f"для {client}"}', consumes="client", produces="t"), outputMappings={"t": "t"})
    document = workflow(say, triggerParameters=[parameter("client")], terminal={"rawText": "t"})
    async with a_workflow_world(tmp_path, document) as world:
        await world.work(start(client="Вектор"))
        await world.work(start_run("dossier", engine="workflow", key=other, parameters=Value({"client": "Север"}, frozenset({"person"}))))
        assert [index(world, key).status for key in (RUN, other)] == ["done", "done"]
        assert result(world)["globals"] == {"client": "Вектор", "t": "для Вектор"}
        assert set(world.sql.list_streams()) <= {RUN, other, CHAT, f"session:{CHAT}"}
        assert world.portal.written() == []


@pytest.mark.req("S003-59", "S003-56")
async def test_no_variable_is_mandatory_and_a_model_reaches_nobody_by_itself(tmp_path: Path) -> None:
    """What a model says is not shown, and proposes nothing, unless a tuum publishes it: blocks and operations in it are its text."""
    talk = tuum("talk", promptRunes=[prompt("Скажи")], aiService="tool", mainScript=code("{}"))
    async with a_workflow_world(tmp_path, workflow(talk)) as world:
        world.model.will('[YAE-BLOCK:options]да[/YAE-BLOCK]{"operationType": "DeleteEntity", "entityType": "deal", "entityId": "481"}')
        await world.work(start())
        assert (result(world)["isSuccess"], result(world)["rawText"], result(world)["operations"]) == (True, "", [])
        assert not [row for row in world.outbox() if row.kind == "card"]


@pytest.mark.req("S003-63", "S003-A13")
@pytest.mark.parametrize(
    "source", ["open('/etc/hostname').read()", "import os\nos.listdir('/')", "import socket\nsocket.socket()", "input()"]
)
async def test_a_script_reaches_nothing_but_its_functions(tmp_path: Path, source: str) -> None:
    """Neither files nor the network."""
    async with a_workflow_world(tmp_path, workflow(tuum("look", mainScript=code(f"{source}\n{{}}")))) as world:
        await world.work(start())
        assert index(world).status == "failed"


@pytest.mark.req("S003-67", "S003-23", "S003-24", "S003-25", "S003-81")
def test_a_text_is_drawn_for_people_and_nothing_in_it_runs() -> None:
    """Words, a quote and a table in turn, options as buttons, too; of an id that nobody draws, and of HTML, the text is shown as it is."""
    text = (
        "Вот письмо:[YAE-BLOCK:quote]Деловое\nДобрый день[/YAE-BLOCK]Что дальше?[YAE-BLOCK:options]Отправить|Позже[/YAE-BLOCK]"
        "[YAE-BLOCK:table]Сделка | Сумма\nРомашка | 5[/YAE-BLOCK][YAE-BLOCK:my.script]<script>alert(1)</script>[/YAE-BLOCK]"
    )
    reply = build_result_reply(Value(text, AUTHOR), "r")
    assert reply is not None
    assert [(one.kind, getattr(one, "title", ""), one.text) for one in reply.parts] == [
        ("text", "", "Вот письмо:"), ("passage", "Деловое", "Добрый день"), ("text", "", "Что дальше?"),
        ("text", "", "• Отправить\n• Позже"), ("text", "", "```\nСделка   Сумма\nРомашка  5\n```"),
        ("text", "", "<script>alert(1)</script>"),
    ]  # fmt: skip
    assert [one.label.args["label"] for one in reply.actions] == ["Отправить", "Позже"]
    assert render_plain(text).splitlines()[:3] == ["Вот письмо:", "Деловое", "Добрый день"]


def test_a_table_that_is_too_wide_for_a_phone_becomes_a_list() -> None:
    """Each row under its first cell, the others with their titles."""
    text = "[YAE-BLOCK:table]Сделка | Сумма | Срок\nМедтехника: ремонт офиса и склада | 120 000 | 19.11.2026[/YAE-BLOCK]"
    assert render_plain(text) == "• Медтехника: ремонт офиса и склада\n   Сумма: 120 000 · Срок: 19.11.2026"


def test_a_table_has_few_columns_and_loses_nothing() -> None:
    """What a model writes into the last of them stays there; thousands of columns over thousands of rows would hold up everybody."""
    wide = "|".join(str(one) for one in range(3_000))
    drawn = render_plain(f"[YAE-BLOCK:table]{wide}\n{wide}\n[/YAE-BLOCK]").splitlines()[-1]
    assert drawn.count(" · ") == MOST_COLUMNS - 2
    assert drawn.endswith("|2998|2999")

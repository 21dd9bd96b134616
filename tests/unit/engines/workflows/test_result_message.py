"""The message of a finished workflow: options as buttons whose text nobody's wish is, and records as lines with links (S003-23 … S003-25)."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.taint import Value
from orchestrator.engines.shared.launch import TEXT
from tests.unit.engines.workflows.played_kit import a_workflow_world, start
from tests.unit.engines.workflows.workflow_kit import put, tuum, workflow
from tests.unit.runs import runs_kit
from tests.unit.runs.test_runs_wait import click
from tests.unit.spine_kit import BORIS, World, raise_sum, reply


def saying(text: str) -> dict[str, Any]:
    """A workflow whose result is this text."""
    return workflow(tuum("only", put("text", text), outputMappings={"said": "text"}), terminal={"rawText": "said"})


SETS_SUM = {
    "runeType": ("operation"), "operationType": ("ModifyEntity"), "entityType": ("deal"), "entityId": ("481"),
    "attributeKey": ("OPPORTUNITY"), "modifyOperator": ("="),
}  # fmt: skip
OPTIONS = saying("Что дальше?\n[YAE-BLOCK:options]поднять сумму сделки 481 до 1200000|позвонить|позвонить[/YAE-BLOCK]")


def replies(world: World) -> list[dict[str, Any]]:
    """The messages that wait to be delivered."""
    return [dict(row.body) for row in world.outbox() if row.kind == "reply"]


@pytest.mark.req("S003-23", "S003-24", "S003-25")
async def test_options_become_buttons_that_count_as_foreign_text(tmp_path: Path) -> None:
    """The text of an option is quoted beside words of the program, so that the same change that a person may make asks for its reason."""
    async with a_workflow_world(tmp_path, OPTIONS) as world:
        await world.work(start())
        (told,) = [one for one in replies(world) if one["actions"]]
        assert [one["label"]["args"]["label"] for one in told["actions"]] == ["поднять сумму сделки 481 до 1200000", "позвонить"]
        world.model.will(reply(raise_sum()))
        words = told["actions"][0]["words"]
        await world.work(click(*words))
        (said,) = world.events("MessageReceived")
        assert said.data["quoted"] == "поднять сумму сделки 481 до 1200000"
        assert "481" not in said.data["text"]
        (card,) = [row for row in world.outbox() if row.kind == "card"]
        assert {"gate-taint-prose", "gate-taint-target"} <= {one["code"] for one in card.body["reasons"]}
        assert world.portal.written() == []


@pytest.mark.req("S003-24")
async def test_an_option_is_taken_once_and_by_its_person(tmp_path: Path) -> None:
    """A second press does nothing more, somebody else is refused, and so are buttons of runs and numbers that there are not."""
    async with a_workflow_world(tmp_path, OPTIONS) as world:
        await world.work(start())
        (told,) = [one for one in replies(world) if one["actions"]]
        first, run, number = told["actions"][1]["words"]
        world.model.will(reply(text="Позвоню."))
        await world.work(click(first, run, number), click(first, run, number), click(first, run, number, actor=BORIS))
        await world.work(
            click(first, run, number),
            click(first, run, "9"),
            click(first, run, "²"),
            click(first, run, "00009"),
            click(first, "nothing", "0"),
            click(first),
        )
        assert len(world.events("MessageReceived")) == 1
        assert len(world.model.prompts) == 1
        toasts = [row.body["notice"]["code"] for row in world.outbox() if row.kind == "toast"]
        assert toasts.count("choice-outdated") == 5
        assert sorted(set(toasts)) == ["choice-not-yours", "choice-outdated", "toast-already", "toast-doing"]


@pytest.mark.req("S003-24")
async def test_old_options_work_after_a_restart(tmp_path: Path) -> None:
    """The button names the run, whose result is read from its stream."""
    async with a_workflow_world(tmp_path, OPTIONS) as world:
        await world.work(start())
        (told,) = [one for one in replies(world) if one["actions"]]
        async with a_workflow_world(tmp_path, OPTIONS, world_options={"store": world.sql, "portal": world.portal}) as other:
            other.model.will(reply(text="Позвоню."))
            await other.work(click(*told["actions"][1]["words"]))
            assert [one.data["quoted"] for one in other.events("MessageReceived")] == ["позвонить"]


@pytest.mark.req("S003-23", "S003-M5")
async def test_a_record_becomes_a_line_with_a_link(tmp_path: Path) -> None:
    """Its title is read with the rights of the person; a record that they may not see stays the number that it was."""
    text = "Сделки:\n[YAE-BLOCK:deal]481[/YAE-BLOCK][YAE-BLOCK:deal]500[/YAE-BLOCK][YAE-BLOCK:deal]481 <b>[/YAE-BLOCK]"
    async with a_workflow_world(tmp_path, saying(text)) as world:
        await world.work(start())
        (told,) = [one for one in replies(world) if one["parts"]]
        rows = [row for part in told["parts"] if part["kind"] == "table" for row in part["rows"]]
        assert [(one["label"], one["url"], one["target"]) for one in rows] == [
            ("Ромашка", "https://portal.example/crm/deal/details/481/", "deal:481")
        ]
        assert [part["text"] for part in told["parts"] if part["kind"] == "text"] == ["Сделки:", "500", "481 <b>"]


def quiet_codes(world: World) -> list[str]:
    """The sentences in the messages that wait to be delivered."""
    return [one["code"] for told in replies(world) for one in told["notices"]]


@pytest.mark.req("S003-72")
@pytest.mark.parametrize("rune", [put("text", " "), {**SETS_SUM, "modifyValue": "1000000.00"}])
async def test_a_workflow_that_has_nothing_to_show_says_that_it_ended(tmp_path: Path, rune: dict[str, Any]) -> None:
    """To whoever started it in a chat, also if all that it proposes stands there already; a program reads the status."""
    quiet = workflow(tuum("only", rune, outputMappings={"said": "text"} if rune["runeType"] == "set" else {}))
    async with a_workflow_world(tmp_path, quiet) as world:
        await world.work(runs_kit.start("dossier", engine="workflow", **{TEXT: Value("", frozenset({"person"}))}))
        assert quiet_codes(world) == ["workflow-ended-quietly"]
    async with a_workflow_world(tmp_path / "program", quiet) as world:
        await world.work(start())
        assert quiet_codes(world) == []

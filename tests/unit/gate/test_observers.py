"""Observers and participants are whole lists: whoever is left out goes, so the card names them; a new responsible person changes neither."""

from typing import Any

import pytest

from orchestrator.domain.effect import Pending
from tests.unit.gate.sandbox_kit import Desk

DEAL = {"entityTypeId": 2, "id": 481}


@pytest.mark.parametrize(
    ("observers", "goes"), [([6], "Вера Лебедева\nГлеб Орлов"), ([8, 6], "Глеб Орлов"), ([], "Вера Лебедева\nГлеб Орлов")]
)
async def test_the_card_names_who_goes(desk: Desk, observers: list[int], goes: str) -> None:
    """It always asks, so that nobody stops to observe a deal unseen, whatever the model forgot."""
    await desk.done("crm.item.update", {**DEAL, "fields": {"observers": [8, 9]}})
    asked = await desk.wish("crm.item.update", {**DEAL, "fields": {"observers": observers}})
    assert isinstance(asked, Pending)
    lines: Any = (desk.card(asked).preview or {})["lines"]
    assert goes in [line["after"] for line in lines if "исчезнут" in line["name"]] + [line["before"] for line in lines]


async def test_who_observes_or_takes_part_stays_when_a_record_is_handed_over(desk: Desk) -> None:
    await desk.done("crm.item.update", {**DEAL, "fields": {"observers": [8]}})
    await desk.done("crm.item.update", {**DEAL, "fields": {"assignedById": 9}})
    assert (await desk.ask("crm.item.get", **DEAL))["item"]["observers"] == [8]
    people = {"RESPONSIBLE_ID": 7, "AUDITORS": [8], "ACCOMPLICES": [9]}
    made = await desk.done("tasks.task.add", {"fields": {"TITLE": "Позвонить", **people}})
    number = int(made.created.partition(":")[2])
    await desk.done("tasks.task.update", {"taskId": number, "fields": {"RESPONSIBLE_ID": 6}})
    task = (await desk.ask("tasks.task.get", taskId=number, select=["ID", "AUDITORS", "ACCOMPLICES", "RESPONSIBLE_ID"]))["task"]
    assert (task["responsibleId"], task["auditors"], task["accomplices"]) == ("6", [8], [9])

"""/history by name: the record is found as names of requests are, only among what the person may see."""

from typing import Any

import pytest

from orchestrator.domain.actor import Actor
from orchestrator.features.history.record_lookup import split_kind
from state.clock import generate_id
from state.journal.store import OutboxRow
from tests.unit.spine_kit import ANNA, BORIS, CHAT, World, _row, command
from tests.unit.spine_portal import deal, html


async def _shown(world: World, said: str, *, actor: Actor = ANNA, key: str = CHAT) -> OutboxRow:
    await world.work(command("history", actor=actor, key=key, args=said))
    (row,) = world.outbox()
    return row


@pytest.mark.parametrize(
    ("said", "record"),
    [
        ("Ромашка", "deal:481"), ("«Ромашка»", "deal:481"), ("ромашке", "deal:481"), ("сделка Ромашка", "deal:481"), ("deal Ромашка", "deal:481"),
        ("контакт Иванов", "contact:43"), ("компании Вектор", "company:5"),
    ],
)  # fmt: skip
async def test_a_record_is_found_by_its_name(world: World, said: str, record: str) -> None:
    row = await _shown(world, said)
    assert (row.kind, row.body.get("record")) == ("history", record)


async def test_of_several_one_is_chosen_by_a_button_whose_page_is_the_records(world: World) -> None:
    for number, title in ((600, "Лютик север"), (601, "Лютик юг"), (602, "Лютик восток")):
        world.portal.records["deal", number] = deal(number, title, "5.00", owner=7)
    row = await _shown(world, "Лютик")
    actions: list[dict[str, Any]] = row.body["actions"]
    assert len(actions) == 3
    await world.work(_row("press", "express", {"words": actions[1]["words"], "callback_id": generate_id(), "message_id": 5}, ANNA, CHAT))
    page = next(row for row in world.outbox() if row.kind == "history")
    assert page.body["record"].startswith("deal:")
    assert all(len(":".join(["a1", *action["words"]]).encode()) <= 64 for action in actions)


@pytest.mark.parametrize(
    ("said", "actor", "code"),
    [
        ("Небывалое", ANNA, "not-found"),
        ("Ромашка", BORIS, "not-found"),
        ("контакт Небывалов", ANNA, "not-found"),
        ("12%", ANNA, "history-which"),
    ],
)
async def test_what_is_not_there_or_not_theirs_is_told_alike(world: World, said: str, actor: Actor, code: str) -> None:
    """A name must not tell that somebody else has such a record."""
    row = await _shown(world, said, actor=actor, key=actor.key)
    assert [notice["code"] for notice in row.body["notices"]] == [code]


async def test_a_portal_that_is_down_is_said(world: World) -> None:
    world.portal.will("crm.deal.list", *[html] * 6)
    row = await _shown(world, "Ромашка")
    assert [notice["code"] for notice in row.body["notices"]] == ["portal-unreadable"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("компания Вектор", ("company", "Вектор")),
        ("Вектор", ("", "Вектор")),
        ("сделка", ("", "сделка")),
        ("лидер рынка", ("lead", "рынка")),
        ("", ("", "")),
    ],
)
def test_a_kind_is_the_word_that_stands_first(text: str, found: tuple[str, str]) -> None:
    assert split_kind(text) == found

"""A comment is written by the person who asks; where the portal takes the author from the webhook, the card says whose name stands there."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import Outcome, Pending, Provenance
from tests.unit.gate.sandbox_kit import Desk, a_desk
from tests.unit.spine_kit import effect

BORIS = Actor(key="tg:1007", name="Борис Орлов", bitrix_user_id=7)
OWNER = Actor(key="tg:1001", name="Ольга", bitrix_user_id=1, sees="all")
NOBODY = Actor(key="tg:1099", name="Гость", bitrix_user_id=None, sees="all")
COMMENT = {"ENTITY_ID": 423, "ENTITY_TYPE": "deal", "COMMENT": "Просят скидку"}
TODO = {"ownerTypeId": 2, "ownerId": 423, "deadline": "2026-12-01T10:00:00+03:00", "title": "Перезвонить"}


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with a_desk(tmp_path) as made:
        yield made


async def wish(desk: Desk, method: str, params: dict[str, Any], actor: Actor, *, asks: bool = False) -> Outcome | Pending:
    """Text of others was read where it `asks`."""
    desk.count += 1
    provenance = Provenance(message=None, targets=frozenset({"deal:423"}), person_text="запиши", prose=asks)
    given = effect(method, params, slot=f"t1/1/{desk.count}").model_copy(update={"provenance": provenance})
    return await desk.world.submit(desk.session, given, actor=actor)


async def test_a_comment_is_written_by_the_person_who_asks(desk: Desk) -> None:
    found = await wish(desk, "crm.timeline.comment.add", {"fields": COMMENT}, BORIS)
    assert isinstance(found, Outcome)
    row = await desk.ask("crm.timeline.comment.get", id=int(found.created.partition(":")[2]))
    assert row["AUTHOR_ID"] == "7"


async def test_a_comment_in_the_name_of_a_colleague_asks(desk: Desk) -> None:
    """Nobody's words are written under another's name in silence."""
    found = await wish(desk, "crm.timeline.comment.add", {"fields": {**COMMENT, "AUTHOR_ID": 8}}, BORIS)
    assert isinstance(found, Pending)
    assert [(one.code, one.args["field"]) for one in found.reasons] == [("gate-add-person", "AUTHOR_ID")]


@pytest.mark.parametrize(
    ("method", "params", "actor", "is_said"),
    [
        ("crm.timeline.comment.add", {"fields": COMMENT}, BORIS, False),
        ("crm.timeline.comment.add", {"fields": COMMENT}, NOBODY, True),
        ("crm.activity.todo.add", {**TODO, "responsibleId": 7}, BORIS, False),
        ("crm.activity.todo.add", {**TODO, "responsibleId": 8}, BORIS, True),
        ("crm.activity.todo.add", {**TODO, "responsibleId": 1}, OWNER, False),
        ("crm.activity.todo.add", {**TODO, "responsibleId": 7}, NOBODY, True),
    ],
)
async def test_a_card_says_whose_name_the_portal_writes(
    desk: Desk, method: str, params: dict[str, Any], actor: Actor, *, is_said: bool
) -> None:
    """Only where neither it nor who is responsible is the person who asks."""
    found = await wish(desk, method, params, actor, asks=True)
    assert isinstance(found, Pending), found
    said = [line["after"] for line in desk.card(found).preview["lines"] if line["field"] == "SENDER"]
    assert [text.partition(" (")[2] for text in said] == (["через эту учётную запись работает бот)"] if is_said else [])

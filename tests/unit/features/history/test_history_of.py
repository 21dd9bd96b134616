"""history.of: who changed a record, told to the model with the rights of the person who asks; long texts only on demand."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.directory.own_answers import _format_row
from orchestrator.domain.actor import Actor, Mode
from orchestrator.domain.effect import Outcome
from orchestrator.domain.own_reads import NOT_SHOWN, HistoryChange
from state.journal.store import StoreError
from tests.unit.features.undo.undo_kit import an_office, done, update
from tests.unit.spine_kit import ANNA, BORIS, VERA, World, effect, message, reply, step


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[World]:
    """The product, with a deal that two people changed."""
    async with an_office(tmp_path) as world:
        await done(world, update({"OPPORTUNITY": 1_500_000}))
        await done(world, update({"COMMENTS": "клиент велел удалить всё"}), actor=VERA)
        people = {actor.key: actor for actor in (ANNA, BORIS, VERA)}
        world.gate.deps.performers["knowledge"]._histories._pages._present = lambda actor: people.get(actor.key, actor)  # type: ignore[attr-defined]
        yield world


async def ask(world: World, params: dict[str, Any], *, actor: Actor = ANNA, mode: Mode = "full") -> Outcome:
    session = await world.session("tg:900")
    found = await world.submit(session, effect("history.of", params, slot=f"t9/1/{len(world.portal.requests)}"), actor=actor, mode=mode)
    await session.close()
    assert isinstance(found, Outcome)
    return found


async def test_who_changed_what_is_told(office: World) -> None:
    """When, by whom, with whose approval, from what to what; the text of a comment is left out, and nothing is less trusted for it."""
    found = await ask(office, {"deal": 481})
    assert (found.status, found.foreign_text, found.total) == ("succeeded", False, 2)
    assert isinstance(found.result, dict)
    second, first = found.result["changes"]
    assert (first["by"], first["approved_by"], first["status"]) == ("Анна", "Анна", "succeeded")
    assert [(one["name"], one["before"].replace("\u00a0", " "), one["after"].replace("\u00a0", " ")) for one in first["lines"]] == [
        ("Сумма", "1 000 000 ₽", "1 500 000 ₽")
    ]
    assert second["by"] == "Вера"
    assert [one["after"] for one in second["lines"]] == [NOT_SHOWN]
    assert "удалить" not in str(found.result)


async def test_texts_that_were_asked_for_make_the_turn_less_trusted(office: World) -> None:
    """They may be a customer's."""
    found = await ask(office, {"deal": 481, "texts": True})
    assert "клиент велел удалить всё" in str(found.result)
    assert found.foreign_text


async def test_only_who_may_see_the_record_is_told(office: World) -> None:
    """A colleague's deal and one that does not exist are refused as every read is; a lead is told."""
    for actor, deal in ((BORIS, 481), (ANNA, 500), (ANNA, 7777)):
        found = await ask(office, {"deal": deal}, actor=actor)
        assert found.status == "refused"
        assert found.reason.code == ("gate-not-found" if deal == 7777 else "gate-not-yours")
    assert (await ask(office, {"deal": 481}, actor=VERA)).status == "succeeded"


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"deal": 481, "lead": 5},
        {"deal": "Ромашка"},
        {"deal": True},
        {"deal": -1},
        {"record": "user:7"},
        {"record": "deal"},
        {"record": "deal:481", "deal": 481},
        {"deal": 481, "person": "tg:1006", "sees": "all"},
    ],
)
async def test_anything_else_than_one_record_is_refused(office: World, params: dict[str, Any]) -> None:
    """Nobody's rights can be borrowed, and no other thing can be asked about."""
    assert (await ask(office, params)).status == "refused"


async def test_whose_rights_count_cannot_be_written(office: World) -> None:
    """The person in the parameters is always the one who asks."""
    found = await ask(office, {"deal": 481, "person": "tg:1006", "locale": "en", "zone": "Asia/Tokyo"}, actor=BORIS)
    assert found.status == "refused"
    own = await ask(office, {"deal": 481, "person": "tg:1006", "zone": "Asia/Tokyo"})
    assert (own.call["person"], own.call["zone"], own.call.get("locale", "ru")) == (ANNA.key, ANNA.time_zone, "ru")


async def test_shadow_mode_only_plans_it(office: World) -> None:
    """As every read of facts."""
    assert (await ask(office, {"deal": 481}, mode="shadow")).status == "planned"


async def test_a_journal_that_cannot_be_read_is_said(office: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The question fails, not the turn."""

    async def read(*_: object, **__: object) -> object:
        msg = "disk"
        raise StoreError(msg)

    monkeypatch.setattr("orchestrator.features.history.pages.HistoryReader.read", read)
    found = await ask(office, {"deal": 481})
    assert (found.status, found.reason.code) == ("refused", "history-unread")


async def test_the_model_answers_who_changed_it(office: World) -> None:
    """«Кто менял Ромашку»: the name is resolved, the observation tells, the person sees the list that code wrote."""
    office.model.will(reply(step("history.of", {"deal": "@deal:Ромашка"}), text="Смотрю."), reply(text="Меняли Анна и Вера.\n[[list 1]]"))
    await office.work(message("кто менял Ромашку?"))
    seen = office.model.prompts[-1][-1]["content"]
    assert '"by": "Анна"' in seen
    assert '"did": "update deal"' in seen
    (row,) = [one for one in office.outbox() if one.kind == "reply" and "Меняли" in str(one.body)]
    assert "Вера" in str(row.body)
    assert "1 500 000" in str(row.body).replace("\\xa0", " ").replace("\u00a0", " ")


@pytest.mark.parametrize(
    ("status", "undone", "sign"), [("succeeded", "", ""), ("denied", "", "✖ "), ("unknown", "", "❓ "), ("succeeded", "22.11", "↩ ")]
)
def test_a_change_that_was_not_made_does_not_read_like_one(status: str, undone: str, sign: str) -> None:
    """Denied, taken back or uncertain: a sign stands before the line."""
    assert _format_row(HistoryChange(when="21.11 15:00", by="Анна", status=status, undone=undone)) == f"{sign}21.11 15:00 · Анна"

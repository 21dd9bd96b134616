"""The access file as it stands when somebody presses: what was true when the card went out does not count."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bot.access.access import Access, Person
from bot.composition.people import People
from bot.settings.settings import Settings
from orchestrator.domain.actor import Actor
from tests.unit.spine_kit import MODEL_KEY, World, _assembled, a_world, message, press, raise_sum, reply
from tests.unit.spine_portal import WEBHOOK

ANNA = Person(telegram_id=1007, name="Анна", bitrix_user_id=7)
VERA = Person(telegram_id=1006, name="Вера", bitrix_user_id=6, role="lead")
UPDATE = "crm.deal.update"


class File:
    """An access file that changes while the program runs."""

    def __init__(self) -> None:
        self.access = Access([ANNA, VERA])

    def now(self, *people: Person) -> None:
        self.access = Access(list(people))

    def present(self, actor: Actor) -> Actor | None:
        return self.access.refresh_actor(actor)


@pytest.fixture
def file() -> File:
    return File()


@pytest.fixture
async def world(tmp_path: Path, file: File) -> AsyncIterator[World]:
    """The product put together with the access file as its port for present rights."""
    async with a_world(tmp_path) as made:
        settings = Settings(
            bitrix_webhook_url=WEBHOOK, openai_api_key=MODEL_KEY, agent_mode="full", log_dir=tmp_path / "logs", _env_file=None
        )
        old = made.orchestrator
        made.orchestrator = _assembled(
            settings,
            made.store,
            made.client,
            made.model,
            People(report_trouble=old._trouble, show_partial=old.tools.show_partial, refresh_actor=file.present),
            clock=made.clock,
        )
        yield made


def _changed(person: Person, **rights: Any) -> Person:
    return person.model_copy(update=rights)


async def _card(world: World) -> dict[str, Any]:
    """Anna's request as the card shows it."""
    world.model.will(reply(raise_sum()))
    await world.work(message("подними сумму сделки 481 до 1 200 000", actor=ANNA.to_actor()))
    return next(dict(row.body) for row in world.outbox() if row.kind == "card")


LEFT = (VERA,)
"""Anna is in the file no more."""


@pytest.mark.parametrize(
    ("people", "presser", "told"),
    [
        (LEFT, ANNA, "toast:no-access-any-more"),
        ((ANNA,), VERA, "toast:no-access-any-more"),
        ((ANNA, _changed(VERA, role="manager")), VERA, "toast:not-your-card"),
        ((ANNA, _changed(VERA, sees="own")), VERA, "toast:not-your-card"),
        (LEFT, VERA, "refused"),
        ((_changed(ANNA, mode="shadow"), VERA), ANNA, "refused"),
        ((_changed(ANNA, mode="canary"), VERA), ANNA, "refused"),
        ((_changed(ANNA, bitrix_user_id=8), VERA), ANNA, "refused"),
        ((ANNA, _changed(VERA, mode="shadow")), VERA, "refused"),
    ],
    ids=[
        "requester left", "presser left", "lead no more", "sees only own", "requester left and a lead presses", "shadow", "canary",
        "another employee", "lead in shadow",
    ],
)  # fmt: skip
@pytest.mark.req("G2", "S004-31")
async def test_who_lost_rights_since_the_card_changes_nothing(
    world: World, file: File, people: tuple[Person, ...], presser: Person, told: str
) -> None:
    """Access taken away, a role or mode lowered, sight narrowed: between card and press, of whoever asked or presses."""
    entry = await _card(world)
    file.now(*people)
    await world.work(press(entry, actor=presser.to_actor()))
    assert world.portal.written(UPDATE) == []
    codes = world.codes()
    if told == "refused":
        assert "CallRefused" in world.types()
        assert "card:refused" in codes
    else:
        assert told in codes
        assert world.events("ConfirmationApproved", "CallStarted") == []


@pytest.mark.parametrize(
    ("people", "presser"),
    [((ANNA, VERA), ANNA), ((ANNA, VERA), VERA), ((ANNA, _changed(VERA, role="admin", name="Вера П.")), VERA)],
    ids=["nothing changed", "lead", "other name"],
)
async def test_who_still_may_decides(world: World, file: File, people: tuple[Person, ...], presser: Person) -> None:
    """The counterpart: it is the lost right that stops the others."""
    entry = await _card(world)
    file.now(*people)
    await world.work(press(entry, actor=presser.to_actor()))
    assert len(world.portal.written(UPDATE)) == 1
    (approved,) = world.events("ConfirmationApproved")
    assert approved.actor == presser.to_actor().key


async def test_a_right_given_since_the_card_counts_too(world: World, file: File) -> None:
    """Gleb became a lead after his update was stored: he is judged by the file, not by what his input says of him."""
    gleb = Person(telegram_id=1009, name="Глеб", bitrix_user_id=9)
    entry = await _card(world)
    file.now(ANNA, _changed(gleb, role="lead"))
    await world.work(press(entry, actor=gleb.to_actor()))
    assert len(world.portal.written(UPDATE)) == 1


async def test_a_forged_role_in_the_input_is_worth_nothing(world: World, file: File) -> None:
    entry = await _card(world)
    file.now(ANNA, _changed(VERA, role="manager", sees="own"))
    await world.work(press(entry, actor=VERA.to_actor().model_copy(update={"role": "admin", "sees": "all"})))
    assert world.portal.written(UPDATE) == []
    assert world.events("ConfirmationApproved") == []


def test_the_present_rights_of_people_in_telegram_are_those_of_the_file_and_of_others_their_own() -> None:
    access = Access([ANNA])
    assert access.refresh_actor(ANNA.to_actor().model_copy(update={"role": "admin", "sees": "all"})) == ANNA.to_actor()
    assert access.refresh_actor(VERA.to_actor()) is None
    local = Actor(key="cli:local", name="local", role="admin", sees="all")
    assert access.refresh_actor(local) is local

"""/today tells what is true: whose it is not known, that a portal cannot be read, and nobody's own deals before a group."""

import pytest

from bitrix.errors import BitrixError, NoAccess, NotSent, OutcomeUnknown, Refused
from bot.i18n.translate import Translator
from bot.rendering.daily import render_daily
from bot.rendering.spans import to_plain_text
from bot.telegram.outgoing.menus import IN_GROUPS
from orchestrator.domain.actor import Actor
from state.journal.store import InboxRow
from tests.unit.features.daily.daily_kit import MONDAY, ON, Home, input_row
from tests.unit.spine_kit import ANNA, VERA

GROUP = "tg:-100500"
LOST = "У вас не указан сотрудник Битрикс24. Попросите администратора."
AWAY = "Битрикс24 сейчас не отвечает, поэтому показать дела не могу. Попробуйте позже."
REFUSED = "Битрикс24 отказал в чтении ваших дел. Сообщите администратору."


def today(actor: Actor, key: str = "") -> InboxRow:
    return input_row("command", {"name": "today"}, actor=actor, key=key)


def said(home: Home) -> list[str]:
    """What the person reads: sentences of notices, and daily messages."""
    tr, told = Translator("ru"), []
    for row in home.rows():
        notices = row.body.get("notices", ())
        told.append(
            "\n".join(tr.translate(item["code"], **item["args"]) for item in notices)
            if row.kind == "reply"
            else to_plain_text(render_daily(row.body, tr))
        )
    return told


@pytest.mark.parametrize(("actor", "team"), [(ANNA, False), (VERA, True)])
async def test_without_an_employee_nobody_is_wished_a_good_day(home: Home, actor: Actor, team: bool) -> None:  # noqa: FBT001 - a table of tests
    """The sentence that requests give, and no «ничего срочного»; a lead's team is shown all the same."""
    bare = actor.model_copy(update={"bitrix_user_id": None})
    home.household.here = [bare if one.key == actor.key else one for one in home.household.here]
    home.set_clock(MONDAY)
    session = await home.session(bare)
    await home.world.put(today(bare))
    await home.work(session)
    (told,) = said(home)
    assert LOST in told
    assert told.startswith("Команда" if team else LOST)
    assert "Хорошего дня" not in told
    assert ("Команда" in told) is team


async def test_the_digest_of_somebody_without_an_employee_says_so_too(home: Home) -> None:
    """The same sentence, with the way to switch it off."""
    bare = ANNA.model_copy(update={"bitrix_user_id": None})
    home.household.here = [bare]
    home.household.wishes[ANNA.key] = ON
    home.set_clock(MONDAY)
    session = await home.session(bare)
    await home.plan()
    await home.work(session)
    await home.work(session)
    (told,) = said(home)
    assert LOST in told
    assert "Хорошего дня" not in told


async def test_in_a_group_nobodys_own_deals_are_shown(home: Home) -> None:
    """No read is made, and the group's menu does not offer it."""
    home.set_clock(MONDAY)
    session = await home.world.session(GROUP)
    await home.world.put(today(ANNA, GROUP))
    await home.work(session)
    assert said(home) == ["Дела на сегодня личные: посмотрите их в личном чате со мной."]
    assert home.asked == []
    assert "today" not in IN_GROUPS


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (OutcomeUnknown("HTTP 500", code="INTERNAL_SERVER_ERROR"), AWAY),
        (NotSent("no connection"), AWAY),
        (NoAccess("the key is over"), REFUSED),
        (Refused("insufficient_scope", "no"), REFUSED),
    ],
)
async def test_a_portal_that_cannot_be_read_is_said_to_be_so_at_once(home: Home, fault: BitrixError, told: str) -> None:
    """No traceback, no code for the administrator, no second try that lets the person wait."""
    home.set_clock(MONDAY)
    session = await home.session()
    home.faults.append(fault)
    await home.world.put(today(ANNA))
    await home.work(session)
    assert said(home) == [told]
    assert len(home.asked) == 1

"""A call that took place is logged with whom the person named; a name that no contact of the record has makes a card."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import Outcome, Pending, Provenance
from orchestrator.language.person_mentions import find_named_person
from tests.unit.gate.sandbox_kit import Desk, a_desk
from tests.unit.spine_kit import effect

BORIS = Actor(key="tg:1007", name="Борис Орлов", bitrix_user_id=7)
DEAL, CONTACT, SECOND, NAMESAKE = 423, 46, 47, 76
CALL = {"OWNER_TYPE_ID": 2, "OWNER_ID": DEAL, "TYPE_ID": 2, "COMPLETED": "Y", "DIRECTION": 2}
PAST = {"START_TIME": "2026-11-20T10:00:00+03:00", "END_TIME": "2026-11-20T10:05:00+03:00"}


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """A deal with two contacts: Елена Попова is the first."""
    async with a_desk(tmp_path) as made_desk:
        link = {"id": DEAL, "fields": {"CONTACT_ID": SECOND, "SORT": 20, "IS_PRIMARY": "N"}}
        for number, first, last in ((CONTACT, "Елена", "Попова"), (SECOND, "Пётр", "Сомов")):
            names = {"NAME": first, "LAST_NAME": last, "ASSIGNED_BY_ID": 7}
            await made_desk.world.client.call("crm.contact.update", {"id": number, "fields": names}, repeatable=False)
        await made_desk.world.client.call("crm.deal.contact.add", link, repeatable=False)
        made_desk.wire.sent.clear()
        yield made_desk


async def log(desk: Desk, text: str, **fields: Any) -> Outcome | Pending:
    """A logged call for which the person gave these words."""
    desk.count += 1
    provenance = Provenance(message=None, targets=frozenset({f"deal:{DEAL}"}), person_text=text)
    given = effect("crm.activity.add", {"fields": {**CALL, **PAST, "SUBJECT": "Звонок", **fields}}, slot=f"t1/1/{desk.count}")
    return await desk.world.submit(desk.session, given.model_copy(update={"provenance": provenance}), actor=BORIS)


def list_logged(desk: Desk) -> list[dict[str, Any]]:
    """The parameters of calls that were logged."""
    return [sent for method, sent in desk.wire.writes() if method == "crm.activity.add"]


@pytest.mark.parametrize(
    ("text", "partner"),
    [
        ("Говорил 20 минут по сделке, обсудили доставку", CONTACT),
        ("Говорил 20 минут с Еленой", CONTACT),
        ("говорил 20 минут с клиентом", CONTACT),
        ("Говорил с Петром 20 минут", SECOND),
        ("говорил с сомовым", SECOND),
    ],
)
async def test_a_call_is_logged_with_the_contact_that_was_named(desk: Desk, text: str, partner: int) -> None:
    """Whom the words name, among all contacts of the deal; the main one if they name nobody."""
    found = await log(desk, text)
    assert found.status == "succeeded", found
    (sent,) = list_logged(desk)
    assert [one["ENTITY_ID"] for one in sent["fields"]["COMMUNICATIONS"]] == [partner]


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("Говорил 20 минут с Дмитрием", {}),
        ("говорил 20 минут с дмитрием", {}),
        ("Звонил, 20 минут", {"SUBJECT": "Звонок Дмитрию"}),
        ("Called for 20 minutes with Dmitry", {}),
    ],
)
async def test_a_name_that_no_contact_has_asks_before_anybody_is_added(desk: Desk, text: str, fields: dict[str, Any]) -> None:
    """Nothing is written, and the card says whom the person named and with whom the call would be logged."""
    found = await log(desk, text, **fields)
    assert isinstance(found, Pending)
    assert list_logged(desk) == []
    (reason,) = [one for one in found.reasons if one.code == "gate-call-partner"]
    assert str(reason.args["name"]).lower().startswith(("дмитри", "dmitry"))
    assert reason.args["who"] == "Елена Попова"


async def test_an_approved_call_with_another_name_runs_once(desk: Desk) -> None:
    """The card's approval is enough: the same words do not make another card."""
    done = await desk.approve(await log(desk, "Говорил 20 минут с Дмитрием"))
    assert done.status == "succeeded", done
    assert len(list_logged(desk)) == 1


@pytest.mark.parametrize(
    ("text", "partner"),
    [
        ("Говорил с Еленой по сделке", CONTACT),
        ("Говорил с Еленой Морозовой по сделке", NAMESAKE),
        ("Говорил с Морозовой", NAMESAKE),
        ("Говорил 20 минут", NAMESAKE),
    ],
)
async def test_a_namesake_of_a_contact_of_the_deal_is_taken_for_that_contact(desk: Desk, text: str, partner: int) -> None:
    """«С Еленой по сделке» is the Елена of the deal, whatever other Елена was found; words that name the other better keep her."""
    names = {"NAME": "Елена", "LAST_NAME": "Морозова", "ASSIGNED_BY_ID": 7}
    await desk.world.client.call("crm.contact.update", {"id": NAMESAKE, "fields": names}, repeatable=False)
    found = await log(desk, text, COMMUNICATIONS=[{"ENTITY_TYPE_ID": 3, "ENTITY_ID": NAMESAKE}])
    if isinstance(found, Pending):
        await desk.approve(found)
    (sent,) = list_logged(desk)
    assert [one["ENTITY_ID"] for one in sent["fields"]["COMMUNICATIONS"]] == [partner]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Обсудили поставку в Казань по «Северному ветру»", ""),
        ("Позвонил Олегу по Ромашке. Договорились", "Олегу"),
        ("Созвонился с ООО Вектор", ""),
        ("встретился с анной-марией", "анной-марией"),
        ("Запиши звонок. Он согласен", ""),
        ("говорил 5 минут с заказчиком, потом со мной", ""),
    ],
)
def test_a_name_of_a_person_is_found_in_words(text: str, name: str) -> None:
    """Titles, places and words for any customer are no names."""
    assert find_named_person([text], ["Ромашка", "Вектор"]) == name

"""Lists over HTTP: columns in the text, the rows that were seen remembered for the next message of the same conversation."""

from tests.unit.bot.http_api.chat_kit import Door
from tests.unit.spine_kit import reply, step
from tests.unit.spine_portal import deal


async def test_a_list_and_then_its_third_row(door: Door) -> None:
    """Thirty rows of many are shown and remembered; «третью» is the record that stood third, for this conversation only."""
    portal, model = door.world.portal, door.world.model
    portal.records |= {("deal", number): deal(number, f"Сделка {number}", "1000.00", owner=7) for number in range(1001, 1041)}
    model.will(reply(step("crm.deal.list", {"filter": {">ID": 1000}})), reply(text="Вот:\n[[list 1: OPPORTUNITY, NOPE]]"))
    shown = (await door.chat("покажи сделки")).json()["assistant"].splitlines()
    rows = [line for line in shown if line.split(".")[0].isdigit()]
    assert len(rows) == 30
    assert all("₽" in row for row in rows)
    third = rows[2]
    number = int(third.partition("/details/")[2].partition("/")[0])
    get = step("crm.deal.get", {"id": "@shown:3"})
    model.will(reply(get), reply(text="Она."))
    assert (await door.chat("что с третьей?")).json()["assistant"] == "Она."
    assert [params for method, params in portal.requests if method == "crm.deal.get"][-1] == {"id": number}
    assert "30 of" in str(model.prompts[-1])
    model.will(reply(get), reply(text="Не вышло."))
    assert "списка я ещё не показывал" in (await door.chat("что с третьей?", user="other")).text

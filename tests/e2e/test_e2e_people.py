"""Many people at once: everybody is answered, and nobody's turn waits for what somebody else's model does not say."""

import asyncio
from collections.abc import Sequence

import pytest
import yaml

from orchestrator.turns.feature import MAX_TURNS
from tests.e2e.e2e_kit import World, plan, step
from tests.e2e.e2e_people import Person, Shown, until

BLOCKED, FREE = 10, 10
DEAL = 481


async def _crowd(world: World) -> list[Person]:
    """Twenty people of the access file, none of whom has met the bot."""
    found, listed = [], []
    for number in range(BLOCKED + FREE):
        key = world.first_id * 100 + number
        name = f"Человек {number}"
        answer = await world.telegram.post("/sandbox/users", json={"id": key, "first_name": name, "role": "lead"})
        assert answer.is_success, answer.text
        found.append(Person(key, key, name, world.telegram, world.settled))
        listed.append({"telegram_id": key, "name": name, "bitrix_user_id": 6, "role": "lead"})
    (world.folder / "access.yaml").write_text(yaml.safe_dump({"people": listed}, allow_unicode=True), encoding="utf-8")
    return found


async def _each_says(people: Sequence[Person], words: str) -> list[int]:
    return list(await asyncio.gather(*(person.say(words.format(person.number)) for person in people)))


async def _each_answered(people: Sequence[Person], after: Sequence[int], words: str) -> list[list[Shown]]:
    """What everybody has read since, once each has read these words."""

    async def all_of_them() -> list[list[Shown]] | None:
        seen = [await person.seen(number) for person, number in zip(people, after, strict=True)]
        there = [any(words.format(person.number) in one.text for one in mine) for person, mine in zip(people, seen, strict=True)]
        return seen if all(there) else None

    found: list[list[Shown]] = await until(all_of_them, f"an answer to each of {len(people)} people")
    return found


def test_two_hundred_people_may_be_at_work_at_once() -> None:
    """The bound of turns at once lies well above the people of one company: with 64, the 65th waited for the model of the others."""
    assert MAX_TURNS > 2 * 200


@pytest.mark.req("S004-20")
async def test_nobody_waits_for_the_model_of_another(world: World) -> None:
    """While the models of ten people are silent, ten others get their own answers after three calls each; then /stop ends the ten turns."""
    crowd = await _crowd(world)
    blocked, free = crowd[:BLOCKED], crowd[BLOCKED:]
    calls = [step("crm.deal.get", {"id": DEAL}), step("crm.company.get", {"id": 1}), step("crm.deal.list", {"filter": {"ID": DEAL}})]
    async with world.bot() as bot:
        await world.break_model("stall", times=BLOCKED, seconds=600)
        waiting = await _each_says(blocked, "проверь сделку, я {}.")

        async def all_silent() -> bool:
            return len(await world.prompts()) == BLOCKED

        await until(all_silent, "that the models of the ten were asked")
        for person in free:
            match = f"я {person.number}."
            told = {"answers": [plan(*calls), f"THOUGHT: x\nACTION: []\nASSISTANT: Проверено, {match}"], "match": match}
            (await world.model.post("/sandbox/script", json=told)).raise_for_status()
        asked = await _each_says(free, "проверь сделку, я {}.")
        seen = await _each_answered(free, asked, "Проверено, я {}.")
        assert [len(mine) for mine in seen] == [1] * FREE
        assert set(bot.orchestrator.tools.running) == {person.session for person in blocked}
        assert len([call for call in await world.calls() if call["method"] == "crm.company.get"]) >= FREE

        await _each_says(blocked, "/stop")
        ended = await _each_answered(blocked, waiting, "становлено")
        assert not bot.orchestrator.tools.running
        assert all(sum("становлено" in one.text for one in mine) == 1 for mine in ended)
        await world.settled()

"""A run goes through its nodes, waits, is woken and ends; what was done is never done twice."""

from pathlib import Path

from tests.unit.runs.runs_kit import RUN, a_run_world, events, index, start, steps
from tests.unit.spine_kit import CHAT, World, message, press


def texts(world: World) -> list[str]:
    """The texts that wait to be delivered."""
    return [part["text"] for row in world.outbox() if row.kind == "reply" for part in row.body["parts"]]


async def test_a_run_says_asks_the_model_and_ends(tmp_path: Path) -> None:
    """Its messages come to its home chat, its stream holds what each node gave, and the index says that it is done."""
    plan = steps({"say": "Начинаю"}, {"model": "скажи что-нибудь"}, {"say": "Модель: {s1}"})
    async with a_run_world(tmp_path, {"plan": plan}) as world:
        world.model.will("привет")
        await world.work(start("plan"))
        assert texts(world) == ["Начинаю", "Модель: привет", "Готово."]
        assert [one.type for one in events(world)] == ["RunStarted", "NodeDone", "ModelAsked", "NodeDone", "NodeDone", "RunFinished"]
        assert index(world).status == "done"


async def test_an_approved_write_lets_the_run_go_on(tmp_path: Path) -> None:
    """A card of a run stands in the home chat; the approval and the wake of the run are one commit, and the run goes on."""
    plan = steps({"write": "crm.deal.update", "params": {"id": 481, "fields": {"OPPORTUNITY": 1200000}}}, {"say": "Сумма: {s0}"})
    async with a_run_world(tmp_path, {"plan": plan}) as world:
        await world.work(start("plan"))
        (shown,) = [row for row in world.outbox() if row.kind == "card"]
        assert (shown.session, shown.body["home"], index(world).status) == (CHAT, RUN, "waiting")
        await world.work(press(shown.body, key=RUN))
        assert len(world.portal.written("crm.deal.update")) == 1
        assert texts(world) == ["Сумма: succeeded", "Готово."]
        order = [one.type for one in events(world)]
        assert order[order.index("CallSucceeded") + 1] == "RunWoken"


async def test_an_answer_in_words_goes_to_the_run_that_asked(tmp_path: Path) -> None:
    """The next message of the asked person is the answer; the one after it begins an ordinary turn."""
    plan = steps({"ask": "Как зовут клиента?"}, {"say": "Клиент: {s0}"})
    async with a_run_world(tmp_path, {"plan": plan}) as world:
        await world.work(start("plan"))
        assert texts(world) == ["Как зовут клиента?"]
        await world.work(message("Ольга"))
        assert texts(world) == ["Как зовут клиента?", "Клиент: Ольга", "Готово."]
        world.model.will("THOUGHT:\nничего\nACTION:\n[]\nASSISTANT:\nДобрый день")
        await world.work(message("привет"))
        assert texts(world) == ["Добрый день"]


async def test_news_about_a_call_of_a_run_go_to_the_chat_of_the_run(tmp_path: Path) -> None:
    """Another session that has something to say about it finds the home of the run; of a run that is not there nobody is told."""
    async with a_run_world(tmp_path, {"plan": steps({"ask": "Как зовут?"})}) as world:
        await world.work(start("plan"))
        session = await world.session("tg:1006")
        assert [await session.find_home(one) for one in (RUN, "run:nobody", "session:tg:5")] == [CHAT, "", "tg:5"]

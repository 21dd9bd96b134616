"""Scenes of effects outside of the portal: the cards of one run that uses every kind. Their pictures have a folder of their own."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from orchestrator.engines.runs import RunContext, RunEffect, RunResult
from orchestrator.runs.registry import Engines, RegisteredEngine, RunCommand, StaticDefinitions
from tests.e2e.effects_kit import Shipping, a_shipping
from tests.http_kit import reply
from tests.pictures.acts import lay_out_sheets, take_cards
from tests.pictures.studio import Scene, Studio
from tests.unit.runs.function_kit import FunctionEngine

CARDS: Final = ("Изменить сделку", "Записать файл", "Отправить сообщение в Telegram", "Отправить данные на сайт", "Изменить записи в базе")
"""The beginnings of the cards, in the order of the run."""


async def effects(studio: Studio) -> None:
    """The card of each kind before it is decided, on one sheet, the whole chat when the run is over, and what the warehouse got."""
    world, boris = studio.world, studio.world.boris
    async with a_shipping(world) as shipping:
        await _begin(studio, shipping, await shipping.build_engines())
        (question,) = await boris.ask("/ship")
        await boris.press(question.number, question.data("100 штук"))
        last, taken = question, list[bytes]()
        for words in CARDS:
            last = await boris.sees_words(last.number, words)
            taken += await take_cards(studio, boris, [last.number])
            await boris.decide(last, "Выполнить")
        await lay_out_sheets(studio, taken, "cards")
        await boris.sees_words(last.number, "склад знает")
        await world.settled()
        await studio.shoot("run", boris, is_small=True)
        await studio.shoot("warehouse", world.vera, is_small=True)
        await studio.bot.aclose()


async def effects_shadow(studio: Studio) -> None:
    """The same run in the mode shadow."""
    world, boris = studio.world, studio.world.boris
    async with a_shipping(world) as shipping:
        await _begin(studio, shipping, await shipping.build_engines(), agent_mode="shadow")
        (question,) = await boris.ask("/ship")
        await boris.decide(question, "100 штук")
        await boris.sees_words(question.number, "Остатки склада")
        await studio.shoot("shadow", boris, last=1, is_small=True)
        await studio.bot.aclose()


async def effects_all(studio: Studio) -> None:
    """The card of every method that changes something, on sheets."""
    world, boris = studio.world, studio.world.boris
    async with a_shipping(world) as shipping:
        effects = _list_effects(shipping)

        async def play(ctx: RunContext) -> RunResult:
            for number, effect in enumerate(effects):
                await ctx.submit(f"step/{number}", effect)
            return RunResult()

        engine = RegisteredEngine(engine=FunctionEngine(play), commands={"all": RunCommand(definition="plan")})
        engines = Engines(runs={"steps": engine}, definitions=StaticDefinitions({("steps", "plan"): {"is": "code"}}))
        (shipping.file.parent / "прайс.txt").write_text("Светильник — 1 080 ₽\n", encoding="utf-8")
        opened = ["file.delete", "http.delete", "mongo.delete_one", "mongo.delete_many", "telegram.delete_message"]
        await _begin(studio, shipping, engines, open_methods=opened)
        last, taken = await boris.say("/all"), list[bytes]()
        for _ in effects:
            card = (await boris.answered(last))[-1]
            last = card.number
            taken += await take_cards(studio, boris, [last])
            await boris.decide(card, "ыполнить")
            if "Точно выполнить?" in (again := await boris.message(last)).text:
                await boris.decide(again, "ыполнить")
        await lay_out_sheets(studio, taken, "all-{}")
        await studio.bot.aclose()


async def effects_trouble(studio: Studio) -> None:
    """What people read when a party refuses, answers nothing, or has changed since the card was drawn; a run for each."""
    world, boris = studio.world, studio.world.boris
    async with a_shipping(world) as shipping:
        troubles = _list_troubles(shipping)

        async def play(ctx: RunContext) -> RunResult:
            await ctx.submit("step", troubles[int(ctx.run.definition.key)][0])
            return RunResult()

        keys = [str(number) for number in range(len(troubles))]
        commands = {f"t{key}": RunCommand(definition=key) for key in keys}
        engine = RegisteredEngine(engine=FunctionEngine(play), commands=commands)
        definitions = StaticDefinitions({("steps", key): {"is": "code"} for key in keys})
        await _begin(studio, shipping, Engines(runs={"steps": engine}, definitions=definitions))
        taken: list[bytes] = []
        for number, (_, spoil) in enumerate(troubles):
            card = (await boris.ask(f"/t{number}"))[-1]
            await spoil()
            await boris.decide(card, "Выполнить")
            await world.telegram.delete("/sandbox/faults")
            taken += await take_cards(studio, boris, [one.number for one in await boris.seen(card.number - 1)])
        await lay_out_sheets(studio, taken, "trouble")
        await studio.bot.aclose()


Spoil = Callable[[], Awaitable[None]]


def _list_troubles(shipping: Shipping) -> list[tuple[RunEffect, Spoil]]:
    site, database, vera = shipping.site, shipping.database, shipping.world.vera.number

    async def hang_up(_request: bytes, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async def refuse() -> None:
        site.answer = reply('{"error": "нет товара на складе"}'.encode(), "422 Unprocessable Entity")

    async def lose() -> None:
        site.answer = hang_up

    async def sell() -> None:
        database.data.stock.update_one({"_id": 1}, {"$set": {"status": "продан"}})

    async def close() -> None:
        database.order("close after", "update")

    async def edit() -> None:
        shipping.file.write_text("Правка человека\n", encoding="utf-8")

    async def block() -> None:
        fault = {"method": "sendMessage", "kind": "refuse", "code": 403, "description": "Forbidden: bot was blocked by the user"}
        (await shipping.world.telegram.post("/sandbox/faults", json=fault)).raise_for_status()

    order = {"url": f"{shipping.address}/orders", "json": {"product": "Светильник"}}
    change = {"collection": "stock", "query": {"_id": 1}, "update": {"$set": {"status": "в отгрузке"}}}
    return [
        (_build_effect("http.post", **order), refuse),
        (_build_effect("http.post", **order), lose),
        (_build_effect("mongo.update_one", **change), sell),
        (_build_effect("mongo.update_one", **change), close),
        (_build_effect("file.write", path="отгрузки/Ромашка.txt", text="Новая заявка\n"), edit),
        (_build_effect("telegram.send_message", chat_id=vera, text="Собери заказ"), block),
    ]


def _build_effect(method: str, **params: Any) -> RunEffect:
    kind: Any = method.partition(".")[0]
    return RunEffect(kind=kind, method=method, params=params, requires_confirmation=True)


def _list_effects(shipping: Shipping) -> list[RunEffect]:
    site, vera = shipping.address, shipping.world.vera.number
    order = {"client": "Ромашка", "items": [{"product": "Светильник", "count": 100}, {"product": "Кабель", "count": 3}], "deal": 481}
    keyboard = [[{"text": "Открыть сделку", "url": "https://crm.example.com/deal/481"}]]
    at = {"$date": "2026-11-25T07:00:00Z"}
    path = "отгрузки/Ромашка.txt"
    return [
        _build_effect("http.put", url=f"{site}/orders/118", json=order, query={"notify": True}),
        _build_effect("http.patch", url=f"{site}/orders/118", json={"status": None}, headers={"If-Match": "v2"}),
        _build_effect("http.post", url=f"{site}/notes", text="Отгрузить до пятницы.\nПозвонить за час."),
        _build_effect("http.delete", url=f"{site}/orders/118"),
        _build_effect("file.create", path="отгрузки/Вектор.txt", text="Заявка\n\nСветильники: 5 шт.\n"),
        _build_effect("file.append", path=path, text="Принято складом.\n"),
        _build_effect("file.delete", path="отгрузки/прайс.txt"),
        _build_effect("telegram.send_document", chat_id=f"tg:{vera}", path=path, caption="Заявка для склада", inline_keyboard=keyboard),
        _build_effect("telegram.send_message", chat_id=vera, text="Первая строка\nВторая строка"),
        _build_effect("mongo.insert_one", collection="shipments", document={"client": "Ромашка", "at": at, "is_paid": True, "sum": 108000.5}),
        _build_effect("mongo.insert_many", collection="shipments", documents=[{"client": "Ромашка", "count": 1}, {"client": "Вектор", "count": 2}]),
        _build_effect("mongo.update_one", collection="stock", query={"_id": 1}, update={"$inc": {"reserved": -80}, "$set": {"status": "на складе", "at": at}}),
        _build_effect("mongo.update_many", collection="stock", query={"status": {"$in": ["списан", "в отгрузке"]}}, update={"$push": {"notes": "сверка"}}),
        _build_effect("mongo.delete_one", collection="stock", query={"status": "списан"}),
        _build_effect("mongo.delete_many", collection="stock", query={"reserved": {"$gte": 0}}),
    ]  # fmt: skip


async def _begin(studio: Studio, shipping: Shipping, engines: Engines, *, agent_mode: str = "full", **policy: Any) -> None:
    await studio.bot.aclose()
    settings = shipping.build_settings(**policy)
    await studio.bot.enter_async_context(studio.world.bot(clock=studio.clock, engines=engines, agent_mode=agent_mode, **settings))


SCENES: Final[Sequence[Scene]] = (effects, effects_shadow, effects_all, effects_trouble)

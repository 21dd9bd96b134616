"""A run reads and changes the documents of a Mongo database through the gate: a real wire, the real driver, cards in plain words."""

import asyncio
from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from bot.i18n.translate import Translator
from bot.rendering.cards import render_card
from bot.rendering.spans import to_plain_text
from orchestrator.domain.card_view import CardView
from orchestrator.domain.effect import Outcome
from orchestrator.domain.taint import Value
from orchestrator.engines.runs import RunContext, RunEffect, RunResult
from orchestrator.gate.approve.confirmations import calculate_second_nonce
from orchestrator.gate.call.ports import Performer
from orchestrator.performers.mongo import MongoPerformer
from orchestrator.performers.mongo_connection import MongoConnection
from state.events.fold import list_open_confirmations
from state.journal.journal import load_state
from tests.mongo_kit import LEAVES_SOCKETS, MongoServer, a_mongo_server, quick_driver
from tests.unit.runs.function_kit import Play, a_function_world, ended
from tests.unit.runs.runs_kit import RUN, start
from tests.unit.spine_kit import World, press

__all__ = ["quick_driver"]
pytestmark = LEAVES_SOCKETS
POLICY = {
    "open_kinds": ["mongo"],
    "mongo_collections": {"requests": {"title": "Заявки", "fields": {"client": "Клиент", "sum": "Сумма", "status": "Статус"}}},
    "open_methods": ["mongo.delete_one", "mongo.delete_many"],
}
PROSE = frozenset[Any]({"prose"})
OWN = frozenset[Any]({"definition"})


@asynccontextmanager
async def a_mongo_world(folder: Path, play: Play, **policy: Any) -> AsyncIterator[tuple[World, MongoServer]]:
    """The product with a Mongo database, whose only engine is the function."""
    async with a_mongo_server() as server, a_function_world(folder, play, policy={**POLICY, **policy}) as world:
        performer = MongoPerformer(MongoConnection(server.url))
        performers = cast("MutableMapping[str, Performer]", world.gate.deps.performers)
        performers["mongo"] = performer
        try:
            yield world, server
        finally:
            await performer.aclose()


def effect(method: str, **params: Any) -> RunEffect:
    return RunEffect(kind="mongo", method=f"mongo.{method}", params={"collection": "requests", **params})


def find_card(world: World) -> Any:
    """The one card that waits."""
    (card,) = list_open_confirmations(load_state(world.sql, RUN)[0])
    return card


def draw(world: World, locale: Any = "ru") -> str:
    """The text of the newest card in the chat."""
    row = [row for row in world.outbox() if row.kind == "card"][-1]
    return to_plain_text(render_card(CardView.from_body(row.body), Translator(locale))).replace("\xa0", " ")


@pytest.mark.req("S000-58", "S000-X14", "S000-A13")
async def test_a_run_writes_reads_changes_and_deletes_through_the_gate(tmp_path: Path) -> None:
    """A new document needs no card; what the database answered is foreign, so what follows from it asks."""
    outcomes: dict[str, Outcome] = {}

    async def play(ctx: RunContext) -> RunResult:
        async def do(name: str, wanted: RunEffect) -> Outcome:
            outcomes[name] = await ctx.submit(name, wanted)
            return outcomes[name]

        await do("add", effect("insert_one", document={"client": "Ромашка", "sum": 150000, "status": "новая"}))
        found = await do("find", effect("find_one", query={"client": Value("Ромашка", OWN)}))
        row = Value(found.result, frozenset({"database"})).get("found_document")
        status = {"$set": {"status": "в работе"}, "$inc": {"sum": 5000}, "$push": {"notes": Value("позвонить", OWN)}}
        await do("change", effect("update_one", query={"_id": row.get("_id")}, update=status))
        await do("delete", effect("delete_one", query={"status": "в работе"}))
        await do("count", effect("count", query={}))
        return RunResult()

    async with a_mongo_world(tmp_path, play) as (world, server):
        await world.work(start("plan"))
        change = find_card(world)
        assert draw(world).split("\n\n")[:2] == [
            "Изменить запись в базе «Заявки»",
            "Запись: Клиент: Ромашка\nСтатус: новая → в работе\nСумма: 150000 → 155000 (+5000)\nnotes: добавить в список: позвонить",
        ]
        await world.work(press(change, key=RUN))
        stored = server.data.requests.find_one()
        assert stored == {
            "_id": outcomes["add"].effect_id, "client": "Ромашка", "sum": 155000, "status": "в работе", "notes": ["позвонить"],
        }  # fmt: skip
        gone = find_card(world)
        text = draw(world)
        assert text.split("\n\n")[:2] == [
            "Удалить запись из базы «Заявки»",
            "Условие: Статус = в работе\nКлиент: Ромашка\nСумма: 155000\nСтатус: в работе\nnotes: позвонить",
        ]
        assert "Это нельзя отменить" in text
        await world.work(press(gone, key=RUN))
        assert server.data.requests.count_documents({}) == 1  # a deletion needs two taps
        await world.work(press(gone, key=RUN, nonce=calculate_second_nonce(gone.nonce)))
        assert ended(world) == [("done", "")]
        assert {name: one.status for name, one in outcomes.items()} == dict.fromkeys(outcomes, "succeeded")
        assert outcomes["change"].result == {"update_result": {"matched_count": 1, "modified_count": 1}}
        assert outcomes["delete"].result == {"delete_result": {"deleted_count": 1}}
        assert outcomes["count"].result == {"count": 0}
        assert [len(server.list_commands(name)) for name in ("insert", "update", "delete")] == [1, 1, 1]


ATTACKS: dict[str, Any] = {
    "not equal": {"$ne": None}, "greater": {"$gt": ""}, "code": {"$where": "this.admin"}, "expression": {"$expr": True},
    "function": ({"$function": {"body": "f", "args": [], "lang": "js"}}), "accumulator": ({"$accumulator": {}}),
    "pattern": {"$regex": ".*"}, "extended id": {"$oid": "65f0c0ffee0123456789abcd"},
    "extended pattern": ({"$regularExpression": {"pattern": ".*", "options": ""}}), "path": {"a.b": 1},
    "prototype": ({"__proto__": {"admin": 1}}), "deep": ([{"x": [{"$ne": 1}]}]),
}  # fmt: skip
PLACES: dict[str, tuple[str, Any]] = {
    "a compared value": ("find_many", lambda value: {"query": {"owner": value}}),
    "a whole query": ("find_many", lambda value: {"query": value}),
    "an operand": ("find_many", lambda value: {"query": {"owner": {"$in": [value]}}}),
    "an alternative": ("find_many", lambda value: {"query": {"$or": [value, {"a": 1}]}}),
    "the query of a deletion": ("delete_many", lambda value: {"query": {"owner": value}}),
    "a written value": ("update_many", lambda value: {"query": {"a": 1}, "update": {"$set": {"b": value}}}),
    "a whole update": ("update_one", lambda value: {"query": {"a": 1}, "update": value}),
    "an operator's fields": ("update_one", lambda value: {"query": {"a": 1}, "update": {"$set": value}}),
    "a pulled value": ("update_one", lambda value: {"query": {"a": 1}, "update": {"$pull": {"tags": value}}}),
    "a new document": ("insert_one", lambda value: {"document": value}),
    "a field of one": ("insert_one", lambda value: {"document": {"a": value}}),
    "a collection": ("find_many", lambda value: {"collection": value, "query": {}}),
}


@pytest.mark.req("G3", "S000-A13")
@pytest.mark.parametrize("origin", ["person", "label", "prose", "model", "database"])
async def test_an_object_from_outside_never_acts_as_an_operator(tmp_path: Path, origin: Any) -> None:
    """At whichever place it is put: the call is refused before anything of it reaches the database."""
    origins = frozenset[Any]({origin})
    refused: dict[str, str] = {}

    async def play(ctx: RunContext) -> RunResult:
        for place, (method, build) in PLACES.items():
            for name, attack in ATTACKS.items():
                outcome = await ctx.submit(f"{place}/{name}", effect(method, **build(Value(attack, origins))))
                refused[f"{place}/{name}"] = outcome.reason.code if outcome.reason else outcome.status
        return RunResult()

    async with a_mongo_world(tmp_path, play) as (world, server):
        server.data.requests.insert_many([{"_id": 1, "a": 1, "owner": "anna"}, {"_id": 2, "owner": "boris"}])
        await world.work(start("plan"))
        assert ended(world) == [("done", "")]
        assert len(refused) == len(PLACES) * len(ATTACKS)
        assert set(refused.values()) <= {"gate-mongo-operator", "gate-kind-params"}, refused
        assert server.commands == []
        assert server.data.requests.count_documents({}) == 2


async def test_an_object_from_outside_without_operators_is_a_value(tmp_path: Path) -> None:
    async def play(ctx: RunContext) -> RunResult:
        given = Value({"city": "Москва"}, frozenset({"person"}))
        found = await ctx.submit("find", effect("find_many", query={"address": given}))
        return RunResult(value=Value(found.total))

    async with a_mongo_world(tmp_path, play) as (world, server):
        server.data.requests.insert_many([{"_id": 1, "address": {"city": "Москва"}}, {"_id": 2, "address": {"city": "Пермь"}}])
        await world.work(start("plan"))
        assert [one["filter"] for one in server.list_commands("find")] == [{"address": {"$eq": {"city": "Москва"}}}]


async def test_a_change_of_many_asks_with_their_number_and_again_when_others_match(tmp_path: Path) -> None:
    async def play(ctx: RunContext) -> RunResult:
        await ctx.submit(
            "close", effect("update_many", query={"status": "новая", "sum": {"$lt": 10}}, update={"$set": {"status": "закрыта"}})
        )
        return RunResult()

    async with a_mongo_world(tmp_path, play) as (world, server):
        server.data.requests.insert_many([{"_id": number, "status": "новая", "sum": number} for number in range(5)])
        await world.work(start("plan"))
        first = find_card(world)
        text = draw(world)
        assert "Условие: Статус = новая; Сумма < 10\nПодходит записей: 5\nСтатус: закрыта" in text
        assert "Это касается сразу 5 записей" in text
        server.data.requests.insert_one({"_id": 9, "status": "новая", "sum": 9})
        await world.work(press(first, key=RUN))
        assert server.list_commands("update") == []
        assert "Подходит записей: 6" in draw(world)
        await world.work(press(find_card(world), key=RUN))
        assert server.data.requests.count_documents({"status": "закрыта"}) == 6


@pytest.mark.parametrize(("wanted", "code"), [
    (RunEffect(kind="mongo", method="mongo.find_one", params={"collection": "users", "query": {}}), "gate-mongo-collection"),
    (effect("aggregate", pipeline=[]), "gate-kind-method"),
    (effect("drop"), "gate-kind-method"),
    (effect("update_one", query={"a": 1}, update={"$set": {"a": 2}}, upsert=True), "gate-kind-params"),
    (effect("delete_one", query={"a": {"$gt": 0}}), "mongo-several"),
])  # fmt: skip
async def test_what_may_not_be_is_refused_before_any_card(tmp_path: Path, wanted: RunEffect, code: str) -> None:
    codes: list[str] = []

    async def play(ctx: RunContext) -> RunResult:
        outcome = await ctx.submit("act", wanted)
        codes.append(outcome.reason.code if outcome.reason else "")
        return RunResult()

    async with a_mongo_world(tmp_path, play) as (world, server):
        server.data.requests.insert_many([{"_id": 1, "a": 1}, {"_id": 2, "a": 2}])
        await world.work(start("plan"))
        assert codes == [code]
        assert {next(iter(one)) for one in server.commands} <= {"find"}
        assert not [row for row in world.outbox() if row.kind == "card"]


async def test_a_deletion_that_the_policy_does_not_name_is_refused(tmp_path: Path) -> None:
    codes: list[str] = []

    async def play(ctx: RunContext) -> RunResult:
        outcome = await ctx.submit("act", effect("delete_one", query={"_id": 1}))
        codes.append(outcome.reason.code if outcome.reason else "")
        return RunResult()

    async with a_mongo_world(tmp_path, play, open_methods=[]) as (world, server):
        await world.work(start("plan"))
        assert codes == ["gate-delete"]
        assert server.commands == []


async def test_a_database_that_is_gone_is_a_sentence_and_no_exception(tmp_path: Path) -> None:
    seen: list[tuple[str, str]] = []

    async def play(ctx: RunContext) -> RunResult:
        for number, wanted in enumerate((effect("find_one", query={}), effect("update_one", query={"a": 1}, update={"$set": {"a": 2}}))):
            outcome = await ctx.submit(f"act{number}", wanted)
            seen.append((outcome.status, outcome.reason.code if outcome.reason else ""))
        return RunResult()

    async with a_mongo_world(tmp_path, play) as (world, server):
        server.order("close before", "find", times=9)
        await world.work(start("plan"))
        assert seen == [("refused", "mongo-not-reached")] * 2
        assert Translator("ru").translate("mongo-not-reached").startswith("Не удалось связаться с базой данных")


@pytest.mark.long
async def test_a_write_whose_answer_is_lost_is_unknown_and_never_sent_again(tmp_path: Path) -> None:
    """The run waits; nothing is repeated when it is played again."""

    async def play(ctx: RunContext) -> RunResult:
        await ctx.submit("add", effect("insert_one", document={"a": 1}))
        return RunResult()

    async with a_mongo_world(tmp_path, play) as (world, server):
        server.order("close after", "insert")
        await world.work(start("plan"))
        (row,) = await asyncio.to_thread(lambda: world.sql.list_effects(RUN, "unknown"))
        assert row.status == "unknown"
        assert ended(world) == []
        assert len(server.list_commands("insert")) == 1
        assert server.data.requests.count_documents({}) == 1


@pytest.mark.parametrize("wanted", [effect("find_one", query={}), effect("delete_one", query={"a": 1})])
async def test_without_a_database_every_call_is_refused_before_any_card(tmp_path: Path, wanted: RunEffect) -> None:
    codes: list[str] = []

    async def play(ctx: RunContext) -> RunResult:
        outcome = await ctx.submit("act", wanted)
        codes.append(outcome.reason.code if outcome.reason else "")
        return RunResult()

    async with a_function_world(tmp_path, play, policy=POLICY) as world:
        await world.work(start("plan"))
        assert codes == ["gate-kind-missing"]
        assert ended(world) == [("done", "")]

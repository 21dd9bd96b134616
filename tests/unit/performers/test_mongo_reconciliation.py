"""What the database shows about a Mongo call whose answer was lost, and what the card shows before the call."""

from collections.abc import Callable
from typing import Any

import bson
import pytest

from orchestrator.gate.call.effect import BeforeImage, Call
from orchestrator.gate.call.ports import Rejected, Unknown
from orchestrator.performers import mongo
from orchestrator.performers.mongo import MongoPerformer
from orchestrator.performers.mongo_reconciliation import apply_update
from orchestrator.performers.mongo_values import to_bson
from tests.mongo_kit import LEAVES_SOCKETS, FaultKind, a_mongo_server, quick_driver
from tests.unit.performers.mongo_kit import a_call, a_performer

__all__ = ["quick_driver"]
pytestmark = LEAVES_SOCKETS
ROWS: list[dict[str, Any]] = [
    {"_id": 1, "kind": "a", "n": 1, "tags": ["x"]},
    {"_id": 2, "kind": "b", "n": 2},
    {"_id": 3, "kind": "b", "n": 3},
]
WRITES: dict[str, tuple[str, dict[str, Any]]] = {
    "a new document": ("insert_one", {"document": {"_id": "effect", "a": 1}}),
    "new documents": ("insert_many", {"documents": [{"_id": "effect-1", "a": 1}, {"_id": "effect-2", "a": 2}]}),
    "set": ("update_one", {"query": {"kind": "a"}, "update": {"$set": {"kind": "c", "at.place": 5}}}),
    "removed field": ("update_one", {"query": {"_id": 1}, "update": {"$unset": {"n": ""}}}),
    "sum": ("update_one", {"query": {"_id": 1}, "update": {"$inc": {"n": 5, "new": 1}}}),
    "list": ("update_one", {"query": {"_id": 1}, "update": {"$push": {"tags": {"a": 1}}, "$addToSet": {"new": "y"}}}),
    "taken from a list": ("update_one", {"query": {"_id": 1}, "update": {"$pull": {"tags": "x"}}}),
    "many": ("update_many", {"query": {"kind": "b"}, "update": {"$set": {"kind": "c"}, "$unset": {"n": ""}}}),
    "deletion": ("delete_one", {"query": {"kind": "a"}}),
    "deletion of many": ("delete_many", {"query": {"kind": "b"}}),
}


async def read_before(performer: MongoPerformer, call: Call) -> BeforeImage:
    """What the call would change."""
    found = await performer.read_before(call)
    assert not isinstance(found, Rejected), found
    return found


@pytest.mark.parametrize(("kind", "verdict"), [("close after", "done"), ("close before", "not_done")])
@pytest.mark.parametrize("what", WRITES)
async def test_a_lost_answer_is_looked_up_by_reading(what: str, kind: FaultKind, verdict: str) -> None:
    name, params = WRITES[what]
    async with a_mongo_server() as server, a_performer(server) as performer:
        server.data.deals.insert_many(ROWS)
        call = a_call(name, **params)
        before = await read_before(performer, call)
        server.order(kind, name.partition("_")[0])
        assert isinstance(await performer.execute(call), Unknown)
        writes = len(server.commands) - len(server.list_commands("find")) - len(server.list_commands("aggregate"))
        assert (await performer.reconcile(call, before)).verdict == verdict
        assert len(server.commands) - len(server.list_commands("find")) - len(server.list_commands("aggregate")) == writes


def change(**fields: Any) -> Callable[[Any], Any]:
    """Somebody else changes every document."""
    return lambda deals: deals.update_many({}, {"$set": fields})


@pytest.mark.parametrize(
    ("what", "meanwhile"),
    [
        ("new documents", lambda deals: deals.delete_one({"_id": "effect-1"})),
        ("set", change(kind="d")),
        ("set", lambda deals: deals.delete_one({"_id": 1})),
        ("sum", change(n=77)),
        ("list", change(tags=5)),
        ("many", lambda deals: deals.update_one({"_id": 2}, {"$set": {"kind": "z"}})),
        ("deletion of many", lambda deals: deals.insert_one({"_id": 2})),
    ],
)
async def test_what_others_have_changed_meanwhile_is_unclear_and_never_guessed(what: str, meanwhile: Callable[[Any], Any]) -> None:
    name, params = WRITES[what]
    async with a_mongo_server() as server, a_performer(server) as performer:
        server.data.deals.insert_many(ROWS)
        call = a_call(name, **params)
        before = await read_before(performer, call)
        server.order("close after", name.partition("_")[0])
        await performer.execute(call)
        meanwhile(server.data.deals)
        assert (await performer.reconcile(call, before)).verdict == "unclear"


@pytest.mark.parametrize("what", ["set", "many", "deletion", "deletion of many"])
async def test_without_knowing_what_it_was_about_nothing_is_claimed(what: str) -> None:
    name, params = WRITES[what]
    async with a_mongo_server() as server, a_performer(server) as performer:
        assert (await performer.reconcile(a_call(name, **params), {})).verdict == "unclear"


async def test_a_database_that_cannot_be_read_leaves_the_outcome_unclear() -> None:
    async with a_mongo_server() as server, a_performer(server) as performer:
        server.order("close before", "aggregate", times=9)
        name, params = WRITES["a new document"]
        assert (await performer.reconcile(a_call(name, **params), {})).verdict == "unclear"


@pytest.mark.long
async def test_the_image_holds_what_is_touched_in_a_form_that_can_be_put_back() -> None:
    async with a_mongo_server() as server, a_performer(server) as performer:
        oid = bson.ObjectId()
        row = {"_id": oid, "sum": bson.Decimal128("1.50"), "like": bson.Regex("a"), "other": 1, "deep": {"a": 1}}
        server.data.deals.insert_one(row)
        image = await read_before(
            performer, a_call("update_one", query={"other": 1}, update={"$set": {"sum": 2, "deep.a": 2, "like": "b"}})
        )
        (key,) = image
        assert key == f"deals/{oid}"
        held = dict(image[key] or {})
        assert set(held.pop("like")) == {"$other"}
        assert held == {"_id": {"$oid": str(oid)}, "sum": {"$numberDecimal": "1.50"}, "deep": {"a": 1}}
        assert to_bson(held) == {"_id": oid, "sum": bson.Decimal128("1.50"), "deep": {"a": 1}}
        whole = await read_before(performer, a_call("delete_one", query={"other": 1}))
        assert set(whole[key] or {}) == set(row)


async def test_a_long_document_is_kept_as_a_checksum_only() -> None:
    async with a_mongo_server() as server, a_performer(server) as performer:
        server.data.deals.insert_one({"_id": 1, "text": "x" * 70_000})
        image = (await read_before(performer, a_call("delete_one", query={"_id": 1})))["deals/1"]
        assert set(image or {}) == {"_id", "$other"}


@pytest.mark.parametrize("name", ["update_many", "delete_many"])
async def test_more_documents_than_the_bound_are_never_changed_at_once(name: str) -> None:
    async with a_mongo_server() as server, a_performer(server) as performer:
        server.data.deals.insert_many([{"_id": number, "a": 1} for number in range(1001)])
        call = a_call(name, query={"a": 1}, **({"update": {"$set": {"a": 2}}} if name == "update_many" else {}))
        refused = await performer.read_before(call)
        assert isinstance(refused, Rejected)
        assert refused.code == mongo.TOO_MANY
        result = await performer.execute(call)
        assert isinstance(result, Rejected)
        assert (result.code, result.sent) == (mongo.TOO_MANY, False)
        server.data.deals.delete_one({"_id": 0})
        assert (await read_before(performer, call))["deals"] == {"count": 1000, "ids": sorted(range(1, 1001), key=str)}


@pytest.mark.parametrize(
    ("update", "expected"),
    [
        ({"$inc": {"a": 1}}, None),
        ({"$set": {"list.0": 1}}, None),
        ({"$set": {"a.b": 1}}, None),
        ({"$push": {"a": 1}}, None),
        ({"$set": {"new.deep": {"x": 1}}}, {"a": "text", "list": [1], "new": {"deep": {"x": 1}}}),
        ({"$addToSet": {"list": 1}, "$pull": {"none": 1}}, {"a": "text", "list": [1]}),
    ],
)
def test_what_an_update_leaves_is_told_only_where_it_is_sure(update: dict[str, Any], expected: dict[str, Any] | None) -> None:
    assert apply_update({"a": "text", "list": [1]}, update) == expected


async def test_one_meant_and_several_found_is_refused_before_any_card() -> None:
    async with a_mongo_server() as server, a_performer(server) as performer:
        server.data.deals.insert_many(ROWS)
        refused = await performer.read_before(a_call("delete_one", query={"kind": "b"}))
        assert isinstance(refused, Rejected)
        assert refused.code == mongo.SEVERAL


@pytest.mark.parametrize("odd", [b"1", bson.Int64(2**60), "a\0b", {"$oid": "no id"}, {"$oid": "5" * 24}], ids=repr)
@pytest.mark.parametrize("name", ["delete_one", "delete_many", "update_many"])
async def test_documents_whose_ids_cannot_be_written_down_are_not_called_gone_or_unchanged(name: str, odd: Any) -> None:
    """The checksum that stands for such an id finds nothing, whether the call was carried out or not."""
    async with a_mongo_server() as server, a_performer(server) as performer:
        server.data.deals.insert_one({"_id": odd, "kind": "a"})
        call = a_call(name, query={"kind": "a"}, **({"update": {"$set": {"kind": "b"}}} if name == "update_many" else {}))
        before = await read_before(performer, call)
        assert (await performer.reconcile(call, before)).verdict == "unclear"

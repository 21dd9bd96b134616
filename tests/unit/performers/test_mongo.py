"""The performer of Mongo effects over a real wire: what each method does, and what is known after each way in which a call can go wrong."""

from datetime import UTC, datetime
from typing import Any

import bson
import pytest

from orchestrator.gate.call.ports import CallResult, Rejected, Succeeded, Unknown
from orchestrator.performers import mongo, mongo_connection
from state.canonical import dumps
from tests.mongo_kit import LEAVES_SOCKETS, FaultKind, MongoServer, a_mongo_server, quick_driver
from tests.unit.performers.mongo_kit import a_call, a_performer, do, look_and_execute

KEY = "effect-1"
__all__ = ["quick_driver"]
OID = bson.ObjectId("65f0c0ffee0123456789abcd")


pytestmark = LEAVES_SOCKETS


@pytest.mark.req("S000-X14")
async def test_every_method_does_what_its_name_says() -> None:
    async with a_mongo_server() as server, a_performer(server) as performer:
        assert await do(performer, "insert_one", document={"_id": "a", "name": "Ромашка", "n": 1}) == {"inserted_id": "a"}
        many = [{"_id": f"b{number}", "n": number} for number in range(5)]
        assert await do(performer, "insert_many", documents=many) == {"inserted_ids": [one["_id"] for one in many]}
        assert await do(performer, "count", query={"n": {"$gte": 1}}) == {"count": 5}
        assert await do(performer, "find_one", query={"name": "Ромашка"}, fields=["n"]) == {"found_document": {"_id": "a", "n": 1}}
        assert await do(performer, "find_one", query={"name": "nobody"}) == {"found_document": None}
        found = await do(performer, "find_many", query={"n": {"$gt": 1}}, sort=["-n"], limit=2)
        assert [row["n"] for row in found["found_documents"]] == [4, 3]
        update = {"$set": {"name": "Лютик"}, "$inc": {"n": 2}}
        assert await do(performer, "update_one", query={"_id": "a"}, update=update) == {
            "update_result": {"matched_count": 1, "modified_count": 1}
        }
        assert await do(performer, "update_many", query={"n": {"$lt": 3}}, update={"$set": {"old": True}}) == {
            "update_result": {"matched_count": 3, "modified_count": 3}
        }
        assert await do(performer, "delete_one", query={"_id": "b4"}) == {"delete_result": {"deleted_count": 1}}
        assert await do(performer, "delete_many", query={"old": True}) == {"delete_result": {"deleted_count": 3}}
        assert sorted(row["_id"] for row in server.data.deals.find()) == ["a", "b3"]


async def test_what_is_not_there_is_neither_changed_nor_an_error() -> None:
    async with a_mongo_server() as server, a_performer(server) as performer:
        assert await do(performer, "update_one", query={"a": 1}, update={"$set": {"b": 1}}) == {
            "update_result": {"matched_count": 0, "modified_count": 0}
        }
        assert await do(performer, "delete_one", query={"a": 1}) == {"delete_result": {"deleted_count": 0}}
        assert server.list_commands("update") == server.list_commands("delete") == []


@pytest.mark.parametrize(("name", "more"), [("update_one", {"update": {"$set": {"b": 1}}}), ("delete_one", {})])
async def test_a_call_for_one_document_is_refused_when_several_match(name: str, more: dict[str, Any]) -> None:
    async with a_mongo_server() as server, a_performer(server) as performer:
        server.data.deals.insert_many([{"_id": 1, "a": 1}, {"_id": 2, "a": 1}])
        result = await performer.execute(a_call(name, query={"a": 1}, **more))
        assert isinstance(result, Rejected)
        assert (result.code, result.sent) == (mongo.SEVERAL, False)
        assert list(server.data.deals.find()) == [{"_id": 1, "a": 1}, {"_id": 2, "a": 1}]


async def test_a_total_says_how_many_match_beyond_the_limit() -> None:
    async with a_mongo_server() as server, a_performer(server) as performer:
        server.data.deals.insert_many([{"_id": number} for number in range(250)])
        result = await performer.execute(a_call("find_many", limit=100))
        assert isinstance(result, Succeeded)
        assert (len(result.result["found_documents"]), result.total, result.foreign_text) == (100, 250, True)


async def test_answers_are_readable_and_ids_among_them_find_again() -> None:
    async with a_mongo_server() as server, a_performer(server) as performer:
        moment = datetime(2026, 11, 24, 10, 0, tzinfo=UTC)
        server.data.deals.insert_one(
            {
                "_id": OID,
                "at": moment,
                "sum": bson.Decimal128("12.50"),
                "file": b"\x00\x01",
                "big": bson.Int64(2**60),
                "like": bson.Regex("^a"),
                "nan": float("nan"),
                "nul": "a\x00b",
                "list": [OID],
            }
        )
        found = (await do(performer, "find_one"))["found_document"]
        assert found == {
            "_id": str(OID),
            "at": "2026-11-24T10:00:00.000000Z",
            "sum": "12.50",
            "file": "(2 bytes)",
            "big": str(2**60),
            "like": "/^a/",
            "nan": "nan",
            "nul": "a�b",
            "list": [str(OID)],
        }
        assert await do(performer, "count", query={"_id": found["_id"]}) == {"count": 1}
        assert await do(performer, "count", query={"_id": {"$in": [found["_id"]]}}) == {"count": 1}
        assert await do(performer, "count", query={"at": {"$lte": {"$date": "2026-11-24T13:00:00+03:00"}}}) == {"count": 1}
        assert await do(performer, "count", query={"list": {"$oid": str(OID)}}) == {"count": 1}


async def test_an_object_in_a_query_goes_over_the_wire_as_a_value() -> None:
    async with a_mongo_server() as server, a_performer(server) as performer:
        server.data.deals.insert_many([{"_id": 1, "a": {"x": 1}}, {"_id": 2, "a": 5}])
        assert await do(performer, "count", query={"a": {"x": 1}}) == {"count": 1}
        assert await do(performer, "count", query={"$or": [{"a": [1]}, {"a": {"$not": {"$gt": 1}}}]}) == {"count": 1}
        await do(performer, "update_many", query={"_id": 1}, update={"$pull": {"tags": {"k": 1}}})
        sent = [one["pipeline"][0]["$match"] for one in server.list_commands("aggregate")]
        assert sent == [{"a": {"$eq": {"x": 1}}}, {"$or": [{"a": {"$eq": [1]}}, {"a": {"$not": {"$gt": 1}}}]}]
        assert server.list_commands("update")[0]["updates"][0]["u"] == {"$pull": {"tags": {"$eq": {"k": 1}}}}


async def test_a_long_document_is_refused_and_long_ones_are_left_out() -> None:
    async with a_mongo_server() as server, a_performer(server) as performer:
        server.data.deals.insert_many([{"_id": number, "text": "x" * 200_000} for number in range(5)])
        result = await performer.execute(a_call("find_many"))
        assert isinstance(result, Succeeded)
        assert (len(result.result["found_documents"]), result.total) == (2, 5)
        assert result.note.startswith("3 more documents were too long")
        server.data.deals.insert_one({"_id": 9, "text": "x" * 600_000})
        long = await performer.execute(a_call("find_one", query={"_id": 9}))
        assert isinstance(long, Rejected)
        assert long.code == mongo.TOO_LONG
        assert await do(performer, "find_one", query={"_id": 9}, fields=["a"]) == {"found_document": {"_id": 9}}


LOST: list[FaultKind] = ["close after", "close before", "garbage", "too long", "lying length", "half"]
WRITES: dict[str, dict[str, Any]] = {
    "insert_one": {"document": {"_id": KEY, "a": 1}},
    "insert_many": {"documents": [{"_id": f"{KEY}-1", "a": 1}]},
    "update_one": {"query": {"_id": 1}, "update": {"$set": {"a": 2}}},
    "update_many": {"query": {"_id": 1}, "update": {"$set": {"a": 2}}},
    "delete_one": {"query": {"_id": 1}},
    "delete_many": {"query": {"_id": 1}},
}


@pytest.mark.parametrize("kind", LOST)
@pytest.mark.parametrize("name", WRITES)
async def test_a_write_whose_answer_is_lost_is_unknown_and_sent_once(name: str, kind: FaultKind) -> None:
    async with a_mongo_server() as server, a_performer(server) as performer:
        server.data.deals.insert_one({"_id": 1, "a": 1})
        command = name.partition("_")[0]
        server.order(kind, command, times=5)
        assert isinstance(await look_and_execute(performer, a_call(name, **WRITES[name])), Unknown)
        assert len(server.list_commands(command)) == 1


@pytest.mark.parametrize("kind", LOST)
@pytest.mark.parametrize("name", ["find_one", "find_many", "count"])
async def test_a_read_whose_answer_is_lost_has_failed_and_is_not_repeated(name: str, kind: FaultKind) -> None:
    async with a_mongo_server() as server, a_performer(server) as performer:
        command = "aggregate" if name == "count" else "find"
        server.order(kind, command, times=5)
        result = await performer.execute(a_call(name))
        assert isinstance(result, Rejected)
        assert result.code == mongo_connection.NOT_REACHED
        assert len(server.list_commands(command)) == 1


@pytest.mark.parametrize(("name", "kind"), [("insert_one", Unknown), ("find_one", Rejected)])
async def test_a_server_that_never_answers_holds_a_call_for_a_bounded_time(name: str, kind: type[CallResult]) -> None:
    async with a_mongo_server() as server, a_performer(server, answer_ms=50) as performer:
        server.order("hang", "insert")
        server.order("hang", "find")
        assert isinstance(await performer.execute(a_call(name, **WRITES.get(name, {}))), kind)


async def test_the_last_bound_ends_what_the_driver_does_not() -> None:
    async with a_mongo_server() as server, a_performer(server, call_seconds=0.5) as performer:
        await do(performer, "count")
        server.order("hang", "insert")
        assert isinstance(await performer.execute(a_call("insert_one", **WRITES["insert_one"])), Unknown)


async def test_a_server_that_is_not_there_is_told_and_nothing_was_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.performers.mongo_connection.FIND_SERVER_MS", 50)
    async with a_performer(MongoServer(port=1)) as performer:
        for name, more in WRITES.items():
            result = await performer.execute(a_call(name, **more))
            assert isinstance(result, Rejected)
            assert (result.code, result.sent) == (mongo_connection.NOT_REACHED, False)


async def test_a_doubled_sending_of_an_insert_leaves_one_document_and_is_looked_up() -> None:
    async with a_mongo_server() as server, a_performer(server) as performer:
        server.order("twice", "insert")
        assert isinstance(await performer.execute(a_call("insert_one", **WRITES["insert_one"])), Unknown)
        assert list(server.data.deals.find()) == [{"_id": KEY, "a": 1}]


@pytest.mark.parametrize(
    ("name", "error", "kind", "code"),
    [
        ("insert_one", {"code": 13, "errmsg": "not authorized"}, Rejected, mongo_connection.REFUSED),
        ("insert_one", {"code": 121, "errmsg": "Document failed validation"}, Rejected, mongo_connection.REFUSED),
        ("update_many", {"code": 13, "errmsg": "not authorized"}, Rejected, mongo_connection.REFUSED),
        ("update_many", {"code": 14, "errmsg": "Cannot apply $inc to a value of non-numeric type"}, Unknown, ""),
        ("update_one", {"code": 14, "errmsg": "Cannot apply $inc to a value of non-numeric type"}, Rejected, mongo_connection.REFUSED),
        ("insert_one", {"code": 11600, "errmsg": "interrupted at shutdown"}, Unknown, ""),
        ("insert_one", {"code": 91, "errmsg": "shutdown in progress"}, Unknown, ""),
        ("delete_one", {"code": 50, "errmsg": "operation exceeded time limit"}, Unknown, ""),
        ("delete_one", {"errmsg": "no code"}, Unknown, ""),
    ],
)
async def test_an_error_of_the_server_is_a_no_only_where_nothing_can_have_happened(
    name: str, error: dict[str, Any], kind: type[CallResult], code: str
) -> None:
    async with a_mongo_server() as server, a_performer(server) as performer:
        server.data.deals.insert_one({"_id": 1, "a": 1})
        server.order("error", name.partition("_")[0], **error)
        result = await look_and_execute(performer, a_call(name, **WRITES[name]))
        assert isinstance(result, kind)
        assert getattr(result, "code", "") == code
        assert result.foreign_text  # type: ignore[union-attr]  # both kinds have it


@pytest.mark.parametrize(
    ("url", "what"),
    [
        ("mongodb://127.0.0.1:{port}", "names no database"),
        ("mongodb://127.0.0.1:{port}/crm?w=0", "w=0"),
        ("127.0.0.1:{port}/crm", "cannot be read"),
        ("mongodb://127.0.0.1:{port}/crm?readPreference=never", "cannot be read"),
        ("mongodb://user:p@ss@127.0.0.1:{port}/crm", "cannot be read"),
        ("mongodb://127.0.0.1:notaport/crm", "cannot be read"),
        ("http://127.0.0.1:{port}/crm", "cannot be read"),
    ],
)
async def test_an_address_that_cannot_be_used_is_told_without_its_secrets(url: str, what: str) -> None:
    async with a_mongo_server() as server, a_performer(server, url.format(port=server.port)) as performer:
        result = await performer.execute(a_call("insert_one", **WRITES["insert_one"]))
        assert isinstance(result, Rejected)
        assert (result.code, result.sent) == (mongo_connection.UNUSABLE, False)
        assert what in result.detail
        assert "p@ss" not in result.detail
        assert server.commands == []


@pytest.mark.long
async def test_options_of_the_address_cannot_make_the_driver_repeat_a_write() -> None:
    async with a_mongo_server(setName="rs", hosts=["127.0.0.1:1"]) as server:
        url = f"{server.url}?retryWrites=true&retryReads=true&directConnection=true"
        async with a_performer(server, url) as performer:
            server.order("close after", "insert", times=3)
            assert isinstance(await performer.execute(a_call("insert_one", **WRITES["insert_one"])), Unknown)
            assert len(server.list_commands("insert")) == 1
            assert "txnNumber" not in server.list_commands("insert")[0]


@pytest.mark.long
async def test_a_server_that_announces_messages_without_bound_is_refused() -> None:
    async with a_mongo_server(maxMessageSizeBytes=2_000_000_000) as server, a_performer(server) as performer:
        result = await performer.execute(a_call("find_one"))
        assert isinstance(result, Rejected)
        assert result.code == mongo_connection.UNUSABLE


@pytest.mark.req("S004-A2")
@pytest.mark.parametrize("name", ["update_one", "update_many", "delete_one", "delete_many"])
async def test_no_other_document_is_touched_than_those_that_were_looked_at(name: str) -> None:
    """The card shows Anna's; a moment later it is another one that matches."""
    async with a_mongo_server() as server, a_performer(server) as performer:
        server.data.deals.insert_one({"_id": 1, "who": "Анна"})
        call = a_call(name, query={"who": "Анна"}, **({"update": {"$set": {"a": 2}}} if "update" in name else {}))
        await performer.read_before(call)
        server.data.deals.update_one({"_id": 1}, {"$set": {"who": "Вера"}})
        server.data.deals.insert_one({"_id": 2, "who": "Анна"})
        result = await performer.execute(call)
        assert isinstance(result, Rejected)
        assert (result.code, result.sent) == (mongo.CHANGED, False)
        assert list(server.data.deals.find()) == [{"_id": 1, "who": "Вера"}, {"_id": 2, "who": "Анна"}]


@pytest.mark.parametrize("name", ["update_one", "delete_many"])
async def test_a_change_that_nobody_looked_at_before_is_not_made(name: str) -> None:
    async with a_mongo_server() as server, a_performer(server) as performer:
        server.data.deals.insert_one({"_id": 1, "a": 1})
        call = a_call(name, query={"a": 1}, **({"update": {"$set": {"a": 2}}} if "update" in name else {}))
        result = await performer.execute(call)
        assert isinstance(result, Rejected)
        assert result.code == mongo.CHANGED
        assert list(server.data.deals.find()) == [{"_id": 1, "a": 1}]


@pytest.mark.parametrize("odd", [bson.Int64(2**60), float("nan"), float("inf"), "a\0b", [bson.Int64(2**60)], b"1"], ids=repr)
async def test_what_a_database_holds_and_the_journal_does_not_has_a_before_image(odd: Any) -> None:
    """A card of it can be stored, a change of it be seen, and it can be changed, wherever in the document it stands."""
    async with a_mongo_server() as server, a_performer(server) as performer:
        server.data.deals.insert_one({"_id": 1 if isinstance(odd, list | float) else odd, "who": "Анна", "a": odd})
        for name, more in (
            ("update_one", {"update": {"$set": {"a": 2}}}),
            ("update_many", {"update": {"$set": {"b": 2}}}),
            ("delete_one", {}),
        ):
            call = a_call(name, query={"who": "Анна"}, **more)
            assert dumps(await performer.read_before(call))
            assert isinstance(await performer.execute(call), Succeeded)
        assert list(server.data.deals.find()) == []

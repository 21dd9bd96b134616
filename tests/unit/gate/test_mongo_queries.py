"""What the parameters of Mongo effects let through: operators only where the list allows them, data nowhere read as an operator."""

from typing import Any

import bson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from orchestrator.gate.call.kinds.mongo_methods import (
    Count,
    DeleteMany,
    DeleteOne,
    FindMany,
    FindOne,
    InsertMany,
    InsertOne,
    MongoParams,
    UpdateMany,
    UpdateOne,
)
from orchestrator.gate.call.kinds.mongo_queries import find_odd_names
from orchestrator.performers.mongo_values import to_bson, to_typed_json

OID = "65f0c0ffee0123456789abcd"
ATTACKS: dict[str, Any] = {
    "code": {"$where": "sleep(10000)"},
    "code in a combination": {"$or": [{"a": 1}, {"$where": "1"}]},
    "function": {"$expr": {"$function": {"body": "function(){}", "args": [], "lang": "js"}}},
    "accumulator": {"a": {"$accumulator": {}}},
    "expression": {"$expr": {"$eq": [1, 1]}},
    "pattern": {"name": {"$regex": "^(a+)+$"}},
    "pattern with options": {"name": {"$regex": ".*", "$options": "s"}},
    "pattern behind not": {"name": {"$not": {"$regex": ".*"}}},
    "pattern in a list": {"name": {"$in": [{"$regex": ".*"}]}},
    "pattern as extended JSON": {"name": {"$regularExpression": {"pattern": ".*", "options": ""}}},
    "code as extended JSON": {"name": {"$code": "1"}},
    "binary as extended JSON": {"name": {"$binary": {"base64": "", "subType": "00"}}},
    "smallest key": {"name": {"$gt": {"$minKey": 1}}},
    "reference": {"owner": {"$ref": "users", "$id": 1}},
    "schema": {"$jsonSchema": {}},
    "text search": {"$text": {"$search": "a"}},
    "comment": {"$comment": "x"},
    "type": {"a": {"$type": "string"}},
    "modulo": {"a": {"$mod": [1, 0]}},
    "place on earth": {"a": {"$near": [0, 0]}},
    "operator inside of a value": {"a": {"b": {"$ne": 1}}},
    "operator inside of an equal value": {"a": {"$eq": {"$ne": 1}}},
    "operator inside of a list": {"a": [{"$ne": 1}]},
    "operator beside a field": {"a": {"$ne": 1, "b": 2}},
    "capital letters": {"$WHERE": "1"},
    "a sign that looks like a dollar": {"$＄where": "1"},
    "only a dollar": {"$": 1},
    "operator in a path": {"a.$where": 1},
    "positional operator": {"a.$[]": 1},
    "empty step in a path": {"a..b": 1},
    "empty name": {"": 1},
    "NUL in a name": {"a\x00": 1},
    "prototype": {"__proto__": {"admin": True}},
    "prototype in a path": {"a.__proto__.admin": True},
    "prototype in a value": {"a": {"constructor": {"prototype": 1}}},
    "name with a dot in a value": {"a": {"b.c": 1}},
    "long name": {"a" * 201: 1},
    "alternatives that are none": {"$or": []},
    "alternative that means all": {"$or": [{"a": 1}, {}]},
    "alternatives that are no list": {"$or": {"a": 1}},
    "no list": {"a": {"$in": "abc"}},
    "no boolean": {"a": {"$exists": "yes"}},
    "size by operator": {"a": {"$size": {"$gt": 0}}},
    "empty not": {"a": {"$not": {}}},
    "not of a value": {"a": {"$not": {"b": 1}}},
    "bad id": {"_id": {"$oid": "zz"}},
    "id that is no text": {"_id": {"$oid": {"$ne": None}}},
    "moment without zone": {"at": {"$date": "2026-11-24T10:00:00"}},
    "moment as operator": {"at": {"$date": {"$numberLong": "1"}}},
    "no number": {"sum": {"$numberDecimal": "Infinity"}},
    "long number": {"sum": {"$numberDecimal": "1" * 41}},
    "number of more digits than the database keeps": {"sum": {"$numberDecimal": "1" * 35}},
    "number beyond all": {"sum": {"$numberDecimal": "1E+7000"}},
    "number too small": {"sum": {"$numberDecimal": "1E-7000"}},
    "number with a line below": {"sum": {"$numberDecimal": "1_000"}},
    "number in other digits": {"sum": {"$numberDecimal": "١٢"}},
    "number with spaces": {"sum": {"$numberDecimal": " 12 "}},
    "moment beyond the calendar": {"at": {"$date": "0001-01-01T00:00:00+14:00"}},
    "whole number that JSON would round": {"sum": 2**53},
    "negative whole number without bound": {"sum": -(2**70)},
    "no finite number": {"sum": {"$gt": float("inf")}},
    "not a number": {"sum": float("nan")},
    "half of a character": {"name": "\ud800"},
    "half of a character in a name": {"a": {"\udc00": 1}},
    "operator of a pipeline": {"$expr": {"$gt": ["$a", 1]}},
    "lookup into another collection": {"a": {"$lookup": {"from": "users"}}},
    "writing a collection": {"$out": "deals"},
    "merging into a collection": {"$merge": {"into": "deals"}},
    "chance": {"$sampleRate": 0.5},
    "bits": {"a": {"$bitsAllSet": 1}},
    "shape": {"a": {"$geoWithin": {"$box": [[0, 0], [1, 1]]}}},
    "64-bit number as extended JSON": {"a": {"$numberLong": "1"}},
    "floating number as extended JSON": {"a": {"$numberDouble": "NaN"}},
    "time stamp as extended JSON": {"a": {"$timestamp": {"t": 1, "i": 1}}},
    "nothing as extended JSON": {"a": {"$undefined": True}},
    "old reference": {"a": {"$dbPointer": {"$ref": "users", "$id": 1}}},
    "typed object of two types": {"a": {"$oid": OID, "$date": "2026-11-24T10:00:00Z"}},
    "typed object in place of a query": {"$oid": OID},
    "comparison beside a field of an element": {"a": {"$elemMatch": {"b": 1, "$gt": 1}}},
    "filtered place of a list": {"a.$[x].b": 1},
    "long text": {"a": "x" * 100_001},
    "too many values": {"a": {"$in": list(range(2_001))}},
}


def nest(depth: int) -> dict[str, Any]:
    """A query inside of so many combinations."""
    query: dict[str, Any] = {"a": 1}
    for _ in range(depth):
        query = {"$and": [query]}
    return query


ATTACKS["nested eleven deep"] = nest(11)
ATTACKS["nested a hundred deep"] = nest(100)

READS: list[type[MongoParams]] = [FindOne, FindMany, Count]
AIMED: list[type[MongoParams]] = [DeleteOne, DeleteMany]


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS.keys())
def test_no_method_takes_a_query_with_an_operator_outside_of_the_list(attack: dict[str, Any]) -> None:
    for params in [*READS, *AIMED]:
        with pytest.raises(ValidationError, match="query"):
            params.model_validate({"collection": "deals", "query": attack})
    for changes in (UpdateOne, UpdateMany):
        with pytest.raises(ValidationError, match="query"):
            changes.model_validate({"collection": "deals", "query": attack, "update": {"$set": {"a": 1}}})


@pytest.mark.parametrize(
    "query",
    [
        {"a": 1, "b.c": None, "d": [1, 2], "e": {"f": {"g": True}}},
        {"$or": [{"a": {"$gte": 1, "$lt": 5}}, {"$and": [{"b": {"$nin": ["x"]}}, {"$nor": [{"c": {"$exists": False}}]}]}]},
        {"a": {"$not": {"$gt": 5}}, "b": {"$elemMatch": {"kind": "phone", "n": {"$gt": 1}}}, "c": {"$elemMatch": {"$gt": 1, "$lt": 3}}},
        {"_id": {"$in": [{"$oid": OID}, OID]}, "at": {"$gt": {"$date": "2026-11-24T10:00:00+03:00"}}, "sum": {"$numberDecimal": "12.50"}},
        {"имя": "Ромашка", "теги": {"$all": ["а", "б"], "$size": 2}, "_id": {"$oid": OID}},
    ],
)
def test_honest_queries_pass_unchanged(query: dict[str, Any]) -> None:
    assert FindMany.model_validate({"collection": "deals", "query": query}).query == query


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"a": None},
        {"a": {"$in": [1, None]}},
        {"$or": [{"a": 1}, {"b": {"$eq": None}}]},
        {"a": {"$nin": []}},
        {"$and": [{"b": 1}, {"a": {"$nin": []}}]},
        {"a": {"$not": {"$in": []}}},
        {"a": {"$not": {"$all": []}}},
        {"$nor": [{"a": {"$in": []}}]},
    ],
    ids=str,
)
def test_a_write_whose_query_may_mean_every_document_is_refused(query: dict[str, Any]) -> None:
    for params in AIMED:
        with pytest.raises(ValidationError, match="query"):
            params.model_validate({"collection": "deals", "query": query})
    assert FindMany.model_validate({"collection": "deals", "query": query}).query == query


@pytest.mark.parametrize(
    "update",
    [
        {},
        {"status": "done"},
        {"$set": {}},
        {"$set": {"_id": 1}},
        {"$set": {"_id.x": 1}},
        {"$set": {"a": {"$inc": 1}}},
        {"$set": {"a": {"b.c": 1}}},
        {"$set": {"a": 1, "a.b": 2}},
        {"$set": {"a": 1}, "$unset": {"a": ""}},
        {"$set": {"a.$[]": 1}},
        {"$set": {"$where": 1}},
        {"$set": {"__proto__": 1}},
        {"$set": [{"a": 1}]},
        {"$setOnInsert": {"a": 1}},
        {"$rename": {"a": "b"}},
        {"$currentDate": {"a": True}},
        {"$bit": {"a": {"and": 1}}},
        {"$inc": {"a": "1"}},
        {"$inc": {"a": True}},
        {"$inc": {"a": {"$numberLong": "1"}}},
        {"$push": {"a": {"$each": [1, 2], "$slice": 0}}},
        {"$pull": {"a": {"$gt": 0}}},
        {"$pull": {"a": {"b": {"$exists": True}}}},
        {"$addToSet": {"a": {"$each": [1]}}},
        {"$set": {"a": 1}, "b": 2},
        [{"$set": {"a": "$b"}}],
        {"$mul": {"a": 2}},
        {"$min": {"a": 2}},
        {"$pop": {"a": 1}},
        {"$pullAll": {"a": [1]}},
        {"$set": {"a.$.b": 1}},
        {"$set": {"a.$[x].b": 1}},
        {"$unset": {"_id": ""}},
        {"$unset": {"a": {"$ne": 1}}},
        {"$inc": {"a": float("nan")}},
        {"$inc": {"a": 2**70}},
        {"$set": {"a": {"$expr": {"$add": ["$b", 1]}}}},
        {"$set": {"a": {"$literal": 1}}},
    ],
    ids=str,
)
def test_an_update_does_only_what_its_operators_say(update: dict[str, Any]) -> None:
    for params in (UpdateOne, UpdateMany):
        with pytest.raises(ValidationError, match="update"):
            params.model_validate({"collection": "deals", "query": {"a": 1}, "update": update})


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from([OID, "1E5", "2026-11-24T10:00:00Z", "\ud800"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b.c", "$oid", "$date", "$numberDecimal", "$in", "$ne", "", "\udc00"]), inner, max_size=2)
    ),
    max_leaves=6,
)


@pytest.mark.long
@given(st.dictionaries(st.sampled_from(["a", "b", "$set", "c.d"]), VALUES, max_size=3))
def test_what_is_accepted_can_be_written_and_read_again_as_the_same(document: dict[str, Any]) -> None:
    """Any data: refused before a card, or what the driver sends without an error. An error then would leave the outcome in doubt."""
    try:
        given_back = InsertOne.model_validate({"collection": "deals", "document": document}).document
    except ValidationError:
        return
    sent = to_bson(given_back)
    assert to_typed_json(bson.decode(bson.encode(sent))) == to_typed_json(sent)


def test_an_update_without_operators_is_told_how_to_be_written() -> None:
    with pytest.raises(ValidationError, match=r'write \{"\$set": \{"status": …\}\}'):
        UpdateOne.model_validate({"collection": "deals", "query": {"a": 1}, "update": {"status": "done"}})


@pytest.mark.parametrize(
    "document",
    [{}, {"_id": 1, "a": 1}, {"$set": {"a": 1}}, {"a.b": 1}, {"a": {"$oid": OID, "b": 1}}, {"a": [{"$where": "1"}]}, {"a\x00": 1}],
)
def test_a_new_document_holds_only_data(document: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="document"):
        InsertOne.model_validate({"collection": "deals", "document": document})
    with pytest.raises(ValidationError, match="document"):
        InsertMany.model_validate({"collection": "deals", "documents": [{"a": 1}, document]})


@pytest.mark.parametrize(
    "more",
    [
        {"upsert": True},
        {"pipeline": []},
        {"array_filters": []},
        {"hint": "a"},
        {"let": {}},
        {"collation": {}},
        {"comment": "x"},
        {"limit": 0},
        {"limit": 101},
        {"limit": "5"},
        {"limit": True},
        {"sort": {"a": 1}},
        {"sort": ["$natural"]},
        {"fields": {"a": {"$function": {}}}},
        {"fields": ["a.$"]},
        {"fields": ["a"] * 51},
    ],
    ids=str,
)
def test_nothing_but_the_named_parameters_is_taken(more: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        FindMany.model_validate({"collection": "deals", "query": {}, **more})


@pytest.mark.parametrize(
    "name",
    [
        "",
        "system.users",
        "a$cmd",
        "$cmd",
        ".a",
        "a.",
        "a b",
        "a\x00b",
        "a\nb",
        "x" * 121,
        5,
        None,
        {"$ne": 1},
        "system.buckets.x",
        "a\u202eb",
        "deals\u200b",
        "\ud800",
        "a\x7fb",
        "a\u00a0b",
    ],
)
def test_a_collection_has_a_plain_name(name: object) -> None:
    with pytest.raises(ValidationError, match="collection"):
        Count.model_validate({"collection": name})


@pytest.mark.req("S000-X14")
def test_the_names_of_the_seed_are_taken_too() -> None:
    given = UpdateOne.model_validate({"collection_name": "deals", "query": {"a": 1}, "update_data": {"$set": {"b": 2}}})
    assert given.model_dump() == {"collection": "deals", "query": {"a": 1}, "update": {"$set": {"b": 2}}}


@pytest.mark.parametrize("name", ["$ne", "$where", "$", "$oid", "a.b", "", "a\x00", "__proto__", "constructor", "x" * 201])
def test_a_name_from_outside_that_may_act_is_found(name: str) -> None:
    assert find_odd_names({"имя", name, "price$", "a-b", "ne"}) == [name]

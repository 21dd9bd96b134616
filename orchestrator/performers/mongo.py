"""Performs effects of kind `mongo`: one call, one command.

The `_id` of a new document follows from the effect, so the database refuses a doubled one.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import bson
from bson.raw_bson import RawBSONDocument

from orchestrator.gate.call.effect import BeforeImage, Call
from orchestrator.gate.call.kinds.mongo_methods import USUAL_FOUND
from orchestrator.gate.call.ports import CallResult, Reconciled, Rejected, Succeeded
from orchestrator.performers import mongo_connection
from orchestrator.performers.mongo_connection import Documents, MongoConnection, watch_sending
from orchestrator.performers.mongo_reconciliation import MAX_MANY, OPTIONS, SeenDocuments, TooMany, load_before, reconcile
from orchestrator.performers.mongo_values import build_filter, to_bson, to_json

MAX_BYTES: Final = 500_000
"""Bytes of documents that one read keeps; all are counted."""
COUNT_MS: Final = 5_000
SEVERAL: Final = "mongo-several"
TOO_LONG: Final = "mongo-too-long"
TOO_MANY: Final = "mongo-too-many"
CHANGED: Final = "mongo-changed"
READS: Final = frozenset({"find_one", "find_many", "count"})
MANY: Final = frozenset({"insert_many", "update_many", "delete_many"})

Do = Callable[[Call, Documents], Awaitable[CallResult]]
Aim = dict[str, Any]
"""A filter for exactly the documents to change; {} for none."""
Change = Callable[[Call, Documents, Aim], Awaitable[CallResult]]


class MongoPerformer:
    portal = ""
    is_application = True

    def __init__(self, connection: MongoConnection) -> None:
        self._connection = connection
        self._seen = SeenDocuments()

    async def execute(self, call: Call) -> CallResult:
        """Make the call once; all errors become its result."""
        name = find_action(call)
        async with watch_sending() as sending:
            try:
                return await self._connection.run(lambda documents: self._act(name, call, documents), call.params["collection"])
            except mongo_connection.CAUGHT as error:
                if name in READS:
                    return mongo_connection.judge_read(error)
                return mongo_connection.judge_write(error, sending, many=name in MANY)

    async def _act(self, name: str, call: Call, documents: Documents) -> CallResult:
        if name not in _CHANGES:
            return await _ACTIONS[name](call, documents)
        aim = await _find_aim(call, documents, self._seen)
        return aim if isinstance(aim, Rejected) else await _CHANGES[name](call, documents, aim)

    async def reconcile(self, call: Call, before: BeforeImage) -> Reconciled:
        """Unclear if the database cannot be read."""
        try:
            return await self._connection.run(lambda documents: reconcile(call, before, documents), call.params["collection"])
        except mongo_connection.CAUGHT as error:
            return Reconciled(verdict="unclear", detail=mongo_connection.describe(error))

    async def read_before(self, call: Call) -> BeforeImage | Rejected:
        """Rejected if too many documents match, or several where one is meant."""
        try:
            before = await self._connection.run(lambda documents: load_before(call, documents), call.params["collection"])
        except TooMany as error:
            return Rejected(code=TOO_MANY if find_action(call) in MANY else SEVERAL, detail=str(error), sent=False)
        except mongo_connection.CAUGHT as error:
            return mongo_connection.judge_read(error)
        self._seen.record(call, before)
        return before

    async def aclose(self) -> None:
        await self._connection.close()


def find_action(call: Call) -> str:
    """ "insert_one" for mongo.insert_one."""
    return call.method.rpartition(".")[2]


async def _find_one(call: Call, documents: Documents) -> CallResult:
    cursor = documents.find(build_filter(call.params.get("query", {})), _build_projection(call), sort=_build_sort(call), limit=1)
    rows = await cursor.to_list(1)
    if rows and len(rows[0].raw) > MAX_BYTES:
        return Rejected(code=TOO_LONG, detail=f"the document has {len(rows[0].raw)} bytes; name the fields that are needed in `fields`")
    return Succeeded(result={"found_document": _decode(rows[0]) if rows else None}, total=len(rows), foreign_text=True)


async def _find_many(call: Call, documents: Documents) -> CallResult:
    limit = call.params.get("limit", USUAL_FOUND)
    query = build_filter(call.params.get("query", {}))
    rows: list[Any] = []
    size = left_out = 0
    cursor = documents.find(query, _build_projection(call), sort=_build_sort(call), limit=limit, batch_size=limit)
    async for row in cursor:
        size += len(row.raw)
        if size > MAX_BYTES:
            left_out += 1
        else:
            rows.append(_decode(row))
    total = len(rows) if len(rows) + left_out < limit else await documents.count_documents(query, maxTimeMS=COUNT_MS)
    note = f"{left_out} more documents were too long to be given; name the fields that are needed in `fields`" if left_out else ""
    return Succeeded(result={"found_documents": rows}, total=total + (left_out if total == len(rows) else 0), note=note, foreign_text=True)


async def _count(call: Call, documents: Documents) -> CallResult:
    number = await documents.count_documents(build_filter(call.params.get("query", {})), maxTimeMS=COUNT_MS)
    return Succeeded(result={"count": number}, total=number)


async def _insert_one(call: Call, documents: Documents) -> CallResult:
    await documents.insert_one(to_bson(call.params["document"]))
    key = call.params["document"]["_id"]
    return Succeeded(result={"inserted_id": key}, entity="document")


async def _insert_many(call: Call, documents: Documents) -> CallResult:
    bson_documents = [to_bson(document) for document in call.params["documents"]]
    await documents.insert_many(bson_documents)
    return Succeeded(result={"inserted_ids": [document["_id"] for document in call.params["documents"]]}, entity="document")


async def _update_one(call: Call, documents: Documents, aim: Aim) -> CallResult:
    if not aim:
        return _tell_updated(0, 0)
    outcome = await documents.update_one(aim, build_update(call))
    return _tell_updated(outcome.matched_count, outcome.modified_count)


async def _update_many(call: Call, documents: Documents, aim: Aim) -> CallResult:
    if not aim:
        return _tell_updated(0, 0)
    outcome = await documents.update_many(aim, build_update(call))
    return _tell_updated(outcome.matched_count, outcome.modified_count)


async def _delete_one(_call: Call, documents: Documents, aim: Aim) -> CallResult:
    return _tell_deleted((await documents.delete_one(aim)).deleted_count if aim else 0)


async def _delete_many(_call: Call, documents: Documents, aim: Aim) -> CallResult:
    return _tell_deleted((await documents.delete_many(aim)).deleted_count if aim else 0)


async def _find_aim(call: Call, documents: Documents, seen: SeenDocuments) -> Aim | Rejected:
    """A filter for those matching now.

    Rejected if they are too many, or not those on the card.
    """
    query = build_filter(call.params.get("query", {}))
    most = MAX_MANY if find_action(call) in MANY else 1
    rows = await documents.find(query, {"_id": 1}, limit=most + 1).to_list(most + 1)
    if len(rows) > most:
        return _refuse_many(most)
    if not seen.are_these(call, rows):
        return Rejected(code=CHANGED, detail="other documents match than those that were looked at before the call", sent=False)
    # The query stands beside the _id: a document that has meanwhile become another one is left alone.
    return {"$and": [query, {"_id": {"$in": [row["_id"] for row in rows]}}]} if rows else {}


def _refuse_many(most: int) -> Rejected:
    if most == 1:
        return Rejected(code=SEVERAL, detail="several documents match, and the call is for one; say more exactly which one", sent=False)
    return Rejected(code=TOO_MANY, detail=f"more than {most} documents match; say more exactly which ones", sent=False)


def build_update(call: Call) -> dict[str, Any]:
    update: Mapping[str, Mapping[str, Any]] = call.params["update"]
    # An object to be pulled is a value too: without $eq the database would read it as a query.
    return {
        operator: {
            path: {"$eq": to_bson(value)} if operator == "$pull" and isinstance(value, Mapping) else to_bson(value)
            for path, value in fields.items()
        }
        for operator, fields in update.items()
    }


def _tell_updated(matched: int, modified: int) -> Succeeded:
    return Succeeded(result={"update_result": {"matched_count": matched, "modified_count": modified}}, entity="document")


def _tell_deleted(count: int) -> Succeeded:
    return Succeeded(result={"delete_result": {"deleted_count": count}}, entity="document")


def _build_projection(call: Call) -> dict[str, int] | None:
    return dict.fromkeys(call.params.get("fields", ()), 1) or None


def _build_sort(call: Call) -> list[tuple[str, int]] | None:
    return [(name.removeprefix("-"), -1 if name.startswith("-") else 1) for name in call.params.get("sort", ())] or None


def _decode(row: RawBSONDocument) -> Any:

    return to_json(bson.decode(row.raw, OPTIONS))


_ACTIONS: Final[dict[str, Do]] = {
    "find_one": _find_one,
    "find_many": _find_many,
    "count": _count,
    "insert_one": _insert_one,
    "insert_many": _insert_many,
}
_CHANGES: Final[dict[str, Change]] = {
    "update_one": _update_one,
    "update_many": _update_many,
    "delete_one": _delete_one,
    "delete_many": _delete_many,
}

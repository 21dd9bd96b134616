"""Reads what a Mongo effect would change, and afterwards whether it happened. Never writes."""

import contextlib
import hashlib
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import bson
from bson.codec_options import CodecOptions, DatetimeConversion
from bson.errors import BSONError
from bson.raw_bson import RawBSONDocument

from orchestrator.gate.call.effect import BeforeImage, Call
from orchestrator.gate.call.ports import Reconciled
from orchestrator.performers.mongo_connection import Documents
from orchestrator.performers.mongo_values import build_filter, to_bson, to_typed_json
from state.canonical import dumps, to_storable_text
from state.stored import JsonObject

MAX_MANY: Final = 1_000
"""Their ids are kept, so that the outcome can be found."""
MAX_IMAGE: Final = 60_000
"""In bytes; of a longer document only a checksum is kept, and its deletion cannot be undone."""
_KEPT: Final = 1_000
TELLING: Final = 2
MAX_TELLING: Final = 60
_OTHER: Final = "$other"
"""Of a checksum in place of what it is made of."""
_MISSING: Final = object()
OPTIONS: Final[CodecOptions[dict[str, Any]]] = CodecOptions(
    tz_aware=True, datetime_conversion=DatetimeConversion.DATETIME_CLAMP, unicode_decode_error_handler="replace"
)


class TooMany(Exception):
    """More documents match than a call may change."""


class SeenDocuments:
    """Remembers with which documents a call was looked at, so that it changes no others."""

    def __init__(self) -> None:
        self._seen: OrderedDict[str, frozenset[str]] = OrderedDict()

    def record(self, call: Call, before: BeforeImage) -> None:
        rows = [row for row in before.values() if row is not None]
        self._seen[call.fingerprint] = frozenset(dumps(one) for row in rows for one in row.get("ids", [row.get("_id")]))
        self._seen.move_to_end(call.fingerprint)
        if len(self._seen) > _KEPT:
            self._seen.popitem(last=False)

    def are_these(self, call: Call, rows: Iterable[RawBSONDocument]) -> bool:
        return self._seen.get(call.fingerprint) == frozenset(dumps(_to_image(_decode(row)["_id"])) for row in rows)


async def load_before(call: Call, documents: Documents) -> BeforeImage:
    """{} for reads and new documents. Raises TooMany and errors of the driver.

    One: {"deals/<id>": touched fields and two short texts}; many: {"deals": {count, ids}}.
    """
    action, collection = call.method.rpartition(".")[2], str(call.params["collection"])
    if action in {"update_many", "delete_many"}:
        rows = await documents.find(build_filter(call.params["query"]), {"_id": 1}, limit=MAX_MANY + 1).to_list(MAX_MANY + 1)
        if len(rows) > MAX_MANY:
            raise TooMany(f"more than {MAX_MANY} documents match; say more exactly which ones")
        ids = sorted((_to_image(_decode(row)["_id"]) for row in rows), key=str)
        return {collection: {"count": len(ids), "ids": ids}}
    if action not in {"update_one", "delete_one"}:
        return {}
    matches = await documents.find(build_filter(call.params["query"]), limit=2).to_list(2)
    if len(matches) > 1:
        raise TooMany("several documents match, and the call is for one; say more exactly which one")
    if not matches:
        return {}
    document = _decode(matches[0])
    names = {"_id", *_list_fields(call), *_list_telling_fields(document, call)} if action == "update_one" else set(document)
    image = {name: _to_image(value) for name, value in document.items() if name in names}
    name = to_storable_text(f"{collection}/{document['_id']}")
    return {name: image if action == "update_one" else _cut_image(image, matches[0])}


async def reconcile(call: Call, before: BeforeImage, documents: Documents) -> Reconciled:
    """Raises errors of the driver."""
    match call.method.rpartition(".")[2]:
        case "insert_one":
            return await _reconcile_insert([call.params["document"]["_id"]], documents)
        case "insert_many":
            return await _reconcile_insert([document["_id"] for document in call.params["documents"]], documents)
        case "update_one":
            return await _reconcile_update(call, before, documents)
        case "delete_one":
            ids = [row["_id"] for row in before.values() if row is not None]
            return await _reconcile_delete(ids, documents)
        case "delete_many":
            return await _reconcile_delete(_list_ids(before), documents)
        case "update_many":
            return await _reconcile_many(call, _list_ids(before), documents)
        case _:
            return Reconciled(verdict="not_done", detail="a read changes nothing")


def list_paths(call: Call) -> list[str]:
    return [path for fields in call.params.get("update", {}).values() for path in fields]


async def _reconcile_insert(ids: Sequence[str], documents: Documents) -> Reconciled:
    there = await documents.count_documents({"_id": {"$in": list(ids)}})
    if there == len(ids):
        return Reconciled(verdict="done", detail="the new documents are there")
    if there == 0:
        return Reconciled(verdict="not_done", detail="no document has the _id of this call")
    return Reconciled(verdict="unclear", detail=f"{there} of {len(ids)} new documents are there")


async def _reconcile_delete(ids: Sequence[Any], documents: Documents) -> Reconciled:
    if not _can_find(ids):
        return Reconciled(verdict="unclear", detail="it is not known which documents it was about")
    there = await documents.count_documents({"_id": {"$in": [to_bson(one) for one in ids]}})
    if there == 0:
        return Reconciled(verdict="done", detail="the documents are gone")
    if there == len(ids):
        return Reconciled(verdict="not_done", detail="the documents are still there")
    return Reconciled(verdict="unclear", detail=f"{len(ids) - there} of {len(ids)} documents are gone")


def _can_find(ids: Sequence[Any]) -> bool:
    """A checksum finds nothing, and what is not found is not gone."""
    return bool(ids) and not any(isinstance(one, Mapping) and _OTHER in one for one in ids)


async def _reconcile_many(call: Call, ids: Sequence[Any], documents: Documents) -> Reconciled:
    """Clear only if all documents have the new values, or none."""
    update: Mapping[str, JsonObject] = call.params["update"]
    if not _can_find(ids) or not set(update) <= {"$set", "$unset"}:
        return Reconciled(verdict="unclear", detail="whether many documents were changed in this way cannot be read afterwards")
    conditions = {path: {"$eq": to_bson(value)} for path, value in update.get("$set", {}).items()}
    conditions |= {path: {"$exists": False} for path in update.get("$unset", {})}
    hold = await documents.count_documents({"$and": [{"_id": {"$in": [to_bson(one) for one in ids]}}, conditions]})
    if hold == len(ids):
        return Reconciled(verdict="done", detail=f"all {len(ids)} documents have the new values")
    if hold == 0:
        return Reconciled(verdict="not_done", detail=f"none of the {len(ids)} documents has the new values")
    return Reconciled(verdict="unclear", detail=f"{hold} of {len(ids)} documents have the new values")


async def _reconcile_update(call: Call, before: BeforeImage, documents: Documents) -> Reconciled:
    image = next((row for row in before.values() if row is not None), None)
    if image is None:
        return Reconciled(verdict="unclear", detail="it is not known which document it was about")
    document = await documents.find_one({"_id": {"$eq": to_bson(image["_id"])}})
    if document is None:
        return Reconciled(verdict="unclear", detail="the document is gone")
    present = {name: _to_image(value) for name, value in _decode(document).items()}
    paths = list_paths(call)
    expected = apply_update(image, call.params["update"])
    if expected is not None and all(_get(present, path) == _get(expected, path) for path in paths):
        return Reconciled(verdict="done", detail="the fields have their new values")
    if all(_get(present, path) == _get(image, path) for path in paths):
        return Reconciled(verdict="not_done", detail="the fields have their old values")
    return Reconciled(verdict="unclear", detail="the fields have neither their old nor their new values")


def apply_update(image: JsonObject, update: Mapping[str, JsonObject]) -> dict[str, Any] | None:
    """None where only the database can tell."""
    result = _copy(image)
    for operator, fields in update.items():
        for path, value in fields.items():
            changed = _change(operator, _get(result, path), value)
            if changed is None or not _put(result, path, changed[0]):
                return None
    return result  # type: ignore[no-any-return]  # a copy of a mapping


def _change(operator: str, old: Any, value: Any) -> tuple[Any] | None:
    """In a tuple; None if it cannot be told."""
    rows = [] if old is _MISSING else old
    match operator:
        case "$set":
            return (value,)
        case "$unset":
            return (_MISSING,)
        case "$inc" if isinstance(old, int | float) or old is _MISSING:
            return ((0 if old is _MISSING else old) + value,)
        case "$push" if isinstance(rows, list):
            return ([*rows, value],)
        case "$addToSet" if isinstance(rows, list):
            return (rows if value in rows else [*rows, value],)
        case "$pull" if isinstance(rows, list):
            return (old if old is _MISSING else [row for row in rows if row != value],)
        case _:
            return None


def _get(tree: JsonObject, path: str) -> Any:
    node: Any = tree
    for step in path.split("."):
        if isinstance(node, list) and step.isdecimal() and int(step) < len(node):
            node = node[int(step)]
        elif isinstance(node, Mapping) and step in node:
            node = node[step]
        else:
            return _MISSING
    return node


def _put(tree: dict[str, Any], path: str, value: Any) -> bool:
    """Return False where a list or a value is in the way."""
    *outer, last = path.split(".")
    place: Any = tree
    for step in outer:
        place = place.setdefault(step, {}) if isinstance(place, dict) else None
    if not isinstance(place, dict):
        return False
    if value is _MISSING:
        place.pop(last, None)
    else:
        place[last] = value
    return True


def _copy(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copy(one) for key, one in value.items()}
    return [_copy(one) for one in value] if isinstance(value, list) else value


def _list_fields(call: Call) -> list[str]:
    return [path.partition(".")[0] for path in list_paths(call)]


def _list_telling_fields(document: JsonObject, call: Call) -> list[str]:
    touched = {"_id", *_list_fields(call)}
    short = (name for name, value in document.items() if isinstance(value, str) and 0 < len(value) <= MAX_TELLING and name not in touched)
    return [name for name, _ in zip(short, range(TELLING), strict=False)]


def _list_ids(before: BeforeImage) -> list[Any]:
    return [one for row in before.values() if row is not None for one in row.get("ids", [])]


def _to_image(value: Any) -> Any:
    """A form that can be turned back, otherwise a checksum that shows changes."""
    with contextlib.suppress(ValueError, BSONError):
        image = to_typed_json(value)
        dumps(image)
        if to_bson(image) == value:
            return image
    return {_OTHER: hashlib.sha256(repr(value).encode("utf-8", "replace")).hexdigest()[:16]}


def _cut_image(image: dict[str, Any], row: RawBSONDocument) -> dict[str, Any]:
    if len(row.raw) <= MAX_IMAGE:
        return image
    return {"_id": image["_id"], _OTHER: hashlib.sha256(row.raw).hexdigest()[:16]}


def _decode(row: RawBSONDocument) -> dict[str, Any]:
    return bson.decode(row.raw, OPTIONS)

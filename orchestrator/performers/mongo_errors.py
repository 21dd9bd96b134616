"""Says what an error of the Mongo driver means: it did not happen, or nobody knows."""

from collections.abc import Mapping
from typing import Any, Final

from bson.errors import BSONError
from pymongo.errors import BulkWriteError, DuplicateKeyError, OperationFailure, PyMongoError, WriteConcernError

from orchestrator.gate.call.ports import CallResult, Rejected, Unknown
from orchestrator.performers.mongo_connection import MongoUnusable, Sending
from state.canonical import to_storable_text

NOT_REACHED: Final = "mongo-not-reached"
REFUSED: Final = "mongo-refused"
DUPLICATE: Final = "mongo-duplicate"
UNUSABLE: Final = "mongo-unusable"
_KEPT: Final = 300
_DUPLICATE_KEY: Final = 11000
_BEFORE_ANYTHING: Final = frozenset({13, 18, 59, 73, 10107, 13435})
"""Given before any document is touched."""
_OF_ONE_DOCUMENT: Final = _BEFORE_ANYTHING | {2, 9, 14, 20, 28, 40, 52, 54, 56, 57, 66, 72, 121, 10334, _DUPLICATE_KEY, 17419}
"""After these a single write has not happened; of many, some may have."""

CAUGHT: Final = (PyMongoError, BSONError, MongoUnusable, TimeoutError, OSError, OverflowError, RecursionError, MemoryError)


def judge_read(error: BaseException) -> Rejected:
    if isinstance(error, MongoUnusable):
        return Rejected(code=UNUSABLE, detail=str(error), sent=False)
    if isinstance(error, OperationFailure):
        return Rejected(code=REFUSED, detail=describe(error), foreign_text=True)
    return Rejected(code=NOT_REACHED, detail=describe(error), sent=False, foreign_text=True)


def judge_write(error: BaseException, sending: Sending, *, many: bool) -> CallResult:
    """Rejected only where certainly nothing was changed."""
    if isinstance(error, MongoUnusable):
        return Rejected(code=UNUSABLE, detail=str(error), sent=False)
    if not sending.has_begun:
        return Rejected(code=NOT_REACHED, detail=describe(error), sent=False, foreign_text=True)
    if is_own_key(error):
        # Our own new _id is there already: some earlier sending of this very call has arrived, so reading must tell.
        return Unknown(detail="a document with the _id of this call is there already")
    if isinstance(error, BulkWriteError):
        return _judge_bulk(error)
    certain = _BEFORE_ANYTHING if many else _OF_ONE_DOCUMENT
    if isinstance(error, OperationFailure) and not isinstance(error, WriteConcernError) and error.code in certain:
        return Rejected(code=DUPLICATE if error.code == _DUPLICATE_KEY else REFUSED, detail=describe(error), foreign_text=True)
    return Unknown(detail=describe(error), foreign_text=True)


def is_own_key(error: BaseException) -> bool:
    """Return whether the server refused a document whose `_id` exists."""
    details: Any = error.details if isinstance(error, OperationFailure) else None
    if isinstance(error, BulkWriteError):
        details = next(iter(_list_errors(error)), None)
    elif not isinstance(error, DuplicateKeyError):
        return False
    if not isinstance(details, Mapping) or details.get("code") != _DUPLICATE_KEY:
        return False
    pattern = details.get("keyPattern")
    return list(pattern) == ["_id"] if isinstance(pattern, Mapping) else " _id_ " in str(details.get("errmsg", ""))


def describe(error: BaseException) -> str:
    """For operations staff; it may hold texts of the database."""
    return to_storable_text(f"{type(error).__name__}: {error}"[:_KEPT])


def _judge_bulk(error: BulkWriteError) -> CallResult:
    added = error.details.get("nInserted") if isinstance(error.details, Mapping) else None
    codes = {one.get("code") for one in _list_errors(error)}
    if added == 0 and codes and codes <= _OF_ONE_DOCUMENT:
        return Rejected(code=DUPLICATE if codes == {_DUPLICATE_KEY} else REFUSED, detail=describe(error), foreign_text=True)
    return Unknown(detail=f"{added} documents were added before the database stopped: {describe(error)}", foreign_text=True)


def _list_errors(error: BulkWriteError) -> list[Mapping[str, Any]]:
    detail = error.details.get("writeErrors") if isinstance(error.details, Mapping) else None
    return [one for one in detail if isinstance(one, Mapping)] if isinstance(detail, list) else []

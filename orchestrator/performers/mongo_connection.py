"""Opens the connection to Mongo when it is needed, and knows of each command whether it was sent and what its error means.

Whatever the address says: no retries, no unacknowledged writes, reads from the primary, every wait bounded.
"""

import asyncio
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from bson.errors import BSONError
from bson.raw_bson import RawBSONDocument
from pymongo import AsyncMongoClient, ReadPreference, monitoring
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import BulkWriteError, ConfigurationError, DuplicateKeyError, OperationFailure, PyMongoError, WriteConcernError

from orchestrator.gate.call.ports import CallResult, Rejected, Unknown
from state.canonical import to_storable_text

Documents = AsyncCollection[RawBSONDocument]
T = TypeVar("T")

FIND_SERVER_MS: Final = 3_000
CONNECT_MS: Final = 2_000
QUEUE_MS: Final = 2_000
ANSWER_MS: Final = 10_000
CALL_SECONDS: Final = 20.0
"""The driver's own bounds are parts of it."""
POOL: Final = 10
LARGEST_MESSAGE: Final = 48_000_000
_WRITES: Final = frozenset({"insert", "update", "delete"})


@dataclass
class Sending:
    """Whether a changing command of this call has begun to go out."""

    has_begun: bool = False


_sending: ContextVar[Sending | None] = ContextVar("mongo_sending", default=None)


class MongoUnusable(Exception):
    """As it is configured; the text says why."""


@asynccontextmanager
async def watch_sending() -> AsyncIterator[Sending]:
    sending = Sending()
    token = _sending.set(sending)
    try:
        yield sending
    finally:
        _sending.reset(token)


class _SendingListener(monitoring.CommandListener):
    """Runs just before the driver writes its first byte."""

    def started(self, event: monitoring.CommandStartedEvent) -> None:
        sending = _sending.get()
        if sending is not None and event.command_name in _WRITES:
            sending.has_begun = True

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None: ...

    def failed(self, event: monitoring.CommandFailedEvent) -> None: ...


class MongoConnection:
    def __init__(self, url: str, *, answer_ms: int = ANSWER_MS, call_seconds: float = CALL_SECONDS) -> None:
        self._url = url
        self._answer_ms = answer_ms
        self._call_seconds = call_seconds
        self._client: AsyncMongoClient[RawBSONDocument] | None = None
        self._opening = asyncio.Lock()

    async def run(self, ask: Callable[[Documents], Awaitable[T]], collection: str) -> T:
        """Within the bound of one call. Raises MongoUnusable, TimeoutError, PyMongoError."""
        async with asyncio.timeout(self._call_seconds):
            return await ask(await self._find_collection(collection))

    async def check(self) -> None:
        """Raises MongoUnusable, TimeoutError, PyMongoError."""
        async with asyncio.timeout(self._call_seconds):
            client = await self._open()
            await client.get_default_database().command("ping")

    async def close(self) -> None:
        """A later call opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _find_collection(self, name: str) -> Documents:
        client = await self._open()
        return client.get_default_database().get_collection(name, read_preference=ReadPreference.PRIMARY)

    async def _open(self) -> AsyncMongoClient[RawBSONDocument]:
        async with self._opening:
            if self._client is None:
                client = build_client(self._url, answer_ms=self._answer_ms)
                try:
                    await _check_server(client)
                except BaseException:
                    await client.close()
                    raise
                self._client = client
            return self._client


def build_client(url: str, *, answer_ms: int = ANSWER_MS) -> AsyncMongoClient[RawBSONDocument]:
    """With our bounds in place of the address's. Raises MongoUnusable."""
    options: dict[str, Any] = {
        "serverSelectionTimeoutMS": FIND_SERVER_MS,
        "connectTimeoutMS": CONNECT_MS,
        "waitQueueTimeoutMS": QUEUE_MS,
        "socketTimeoutMS": answer_ms,
        "maxPoolSize": POOL,
        "retryWrites": False,
        "retryReads": False,
        "tz_aware": True,
        "appname": "sdelka",
    }
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "error", UserWarning
            )  # the driver would warn of a mistyped option, such as tls=ture, and go on without it
            return AsyncMongoClient(url, document_class=RawBSONDocument, event_listeners=[_SendingListener()], **options)
    except ConfigurationError as error:
        raise MongoUnusable(_explain_address(error)) from None
    except (PyMongoError, UserWarning, ValueError, TypeError) as error:
        raise MongoUnusable(f"MONGO_URL cannot be read: {type(error).__name__}") from None


def _explain_address(error: Exception) -> str:
    if "default database" in str(error):
        return "MONGO_URL names no database; write mongodb://host:27017/name"
    if "dnspython" in str(error):
        return "MONGO_URL begins with mongodb+srv, for which the package dnspython is missing; write mongodb:// and the hosts"
    return "MONGO_URL cannot be read; write mongodb://user:password@host:27017/name"


async def _check_server(client: AsyncMongoClient[RawBSONDocument]) -> None:
    """Raises MongoUnusable without a database, with unacknowledged writes, or for overlong messages, which would fill the memory."""
    try:
        client.get_default_database()
    except ConfigurationError as error:
        raise MongoUnusable(_explain_address(error)) from None
    if not client.write_concern.acknowledged:
        raise MongoUnusable("MONGO_URL says w=0, so nobody would learn whether a change was made; leave w out")
    hello = await client.admin.command("hello")
    largest = hello.get("maxMessageSizeBytes", LARGEST_MESSAGE)
    if not isinstance(largest, int) or largest > LARGEST_MESSAGE:
        raise MongoUnusable(f"the database announces messages of {largest} bytes; at most {LARGEST_MESSAGE} are taken")


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

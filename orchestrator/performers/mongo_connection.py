"""Opens the connection to the Mongo database, when it is first needed, and knows of each command whether it was sent.

Whatever the address says: nothing is repeated by the driver, nothing is written without an answer, reads come from the primary, and every
wait has an end. A server that announces messages of more than 48 MB is refused, because the driver would take them into memory.
"""

import asyncio
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from bson.raw_bson import RawBSONDocument
from pymongo import AsyncMongoClient, ReadPreference, monitoring
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import ConfigurationError, PyMongoError

Documents = AsyncCollection[RawBSONDocument]
T = TypeVar("T")

FIND_SERVER_MS: Final = 3_000
CONNECT_MS: Final = 2_000
QUEUE_MS: Final = 2_000
ANSWER_MS: Final = 10_000
CALL_SECONDS: Final = 20.0
"""The last bound of one call, of which the driver's own are parts."""
POOL: Final = 10
LARGEST_MESSAGE: Final = 48_000_000
_WRITES: Final = frozenset({"insert", "update", "delete"})


@dataclass
class Sending:
    """Whether a command of the call in hand that changes something has begun to go over the wire."""

    has_begun: bool = False


_sending: ContextVar[Sending | None] = ContextVar("mongo_sending", default=None)


class MongoUnusable(Exception):
    """The database cannot be used as it is configured; the text says why."""


@asynccontextmanager
async def watch_sending() -> AsyncIterator[Sending]:
    """Give an object that says whether a command that changes something was sent inside of the block."""
    sending = Sending()
    token = _sending.set(sending)
    try:
        yield sending
    finally:
        _sending.reset(token)


class _SendingListener(monitoring.CommandListener):
    """Marks the call in hand as sent, just before the driver writes its first byte."""

    def started(self, event: monitoring.CommandStartedEvent) -> None:
        """Mark it."""
        sending = _sending.get()
        if sending is not None and event.command_name in _WRITES:
            sending.has_begun = True

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None:
        """Do nothing: the answer itself is read."""

    def failed(self, event: monitoring.CommandFailedEvent) -> None:
        """Do nothing: the error itself is read."""


class MongoConnection:
    """The pool of connections to one database, and its collections."""

    def __init__(self, url: str, *, answer_ms: int = ANSWER_MS, call_seconds: float = CALL_SECONDS) -> None:
        """Keep the address, which may hold a password; nothing is opened before the first call."""
        self._url = url
        self._answer_ms = answer_ms
        self._call_seconds = call_seconds
        self._client: AsyncMongoClient[RawBSONDocument] | None = None
        self._opening = asyncio.Lock()

    async def run(self, ask: Callable[[Documents], Awaitable[T]], collection: str) -> T:
        """Return what `ask` gives for the collection, within the bound of one call. Raises MongoUnusable, TimeoutError, PyMongoError."""
        async with asyncio.timeout(self._call_seconds):
            return await ask(await self._find_collection(collection))

    async def check(self) -> None:
        """Ask the server whether it is there and can be used. Raises MongoUnusable, TimeoutError, PyMongoError."""
        async with asyncio.timeout(self._call_seconds):
            client = await self._open()
            await client.get_default_database().command("ping")

    async def close(self) -> None:
        """Close all connections; a later call opens new ones."""
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
    """Return a client for the address, with our bounds in place of those that the address names. Raises MongoUnusable for a bad address."""
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
    """Refuse an address without a database or with unanswered writes, and a server that announces longer messages than real ones do."""
    try:
        client.get_default_database()
    except ConfigurationError as error:
        raise MongoUnusable(_explain_address(error)) from None
    if not client.write_concern.acknowledged:
        raise MongoUnusable("MONGO_URL says w=0, so nobody would learn whether a change was made; leave w out")
    told = await client.admin.command("hello")
    largest = told.get("maxMessageSizeBytes", LARGEST_MESSAGE)
    if not isinstance(largest, int) or largest > LARGEST_MESSAGE:
        raise MongoUnusable(f"the database announces messages of {largest} bytes; at most {LARGEST_MESSAGE} are taken")

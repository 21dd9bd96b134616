"""Opens the connection to Mongo when it is needed, and knows of each command whether it was sent.

Whatever the address says: no retries, no unacknowledged writes, reads from the primary, every wait bounded.
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

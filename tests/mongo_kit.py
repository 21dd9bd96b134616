"""A MongoDB server for tests: the real wire protocol on the loopback, mongomock in memory behind it, and faults that a test orders.

It speaks what a client of today needs: OP_MSG, and OP_QUERY for the first greeting. Every command it received stands in `commands`, so a
test can compare what really went over the wire. It knows neither users nor TLS nor transactions, and refuses to sign anybody in.
"""

import asyncio
import gc
import struct
import warnings
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import bson
import mongomock
import pytest
from mongomock import MongoClient
from pymongo import common
from pymongo.errors import DuplicateKeyError, PyMongoError

OP_REPLY, OP_QUERY, OP_MSG = 1, 2004, 2013
HEAD: Final = struct.Struct("<iiii")
MAX_MESSAGE: Final = 48_000_000
MAX_DOCUMENT: Final = 16 * 1024 * 1024
GREETINGS: Final = frozenset({"hello", "ismaster"})

FaultKind = Literal["hang", "garbage", "close before", "close after", "too long", "lying length", "twice", "error", "half"]
"""How an answer goes wrong: never given; bytes that are no message; the connection closed before the command is done, or after it; a true
answer of more than 48 MB; a length of 2 GB in its head; the command done twice; an error of the server; half of an answer, then closed."""


class Gone(Exception):
    """The connection ends here, without an answer."""


@dataclass
class MongoFault:
    """What goes wrong with the next `times` commands called `command`. `error` is what the server says for the kind "error"."""

    kind: FaultKind
    command: str
    times: int = 1
    error: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class MongoServer:
    """The server: `data` is the database behind it, which a test fills and reads; `commands` what it was asked, without greetings."""

    port: int = 0
    greeting: dict[str, Any] = field(default_factory=dict)
    """What the greeting says besides the usual, such as a maxMessageSizeBytes that is a lie."""
    commands: list[dict[str, Any]] = field(default_factory=list)
    faults: list[MongoFault] = field(default_factory=list)
    client: Any = field(default_factory=MongoClient)
    _cursors: dict[int, tuple[str, Iterator[Any]]] = field(default_factory=dict)
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)

    @property
    def url(self) -> str:
        """The address of the database `crm` of this server."""
        return f"mongodb://127.0.0.1:{self.port}/crm"

    @property
    def data(self) -> Any:
        """The database `crm`, as mongomock gives it."""
        return self.client["crm"]

    def order(self, kind: FaultKind, command: str, times: int = 1, **error: Any) -> None:
        """Let the next commands of this name go wrong."""
        self.faults.append(MongoFault(kind, command, times, error))

    def list_commands(self, name: str) -> list[dict[str, Any]]:
        """The commands of this name that came over the wire, oldest first."""
        return [one for one in self.commands if next(iter(one)) == name]

    def take_fault(self, name: str) -> MongoFault | None:
        """The fault for this command, used up once."""
        for fault in self.faults:
            if fault.command == name and fault.times > 0:
                fault.times -= 1
                return fault
        return None

    def do(self, command: dict[str, Any]) -> dict[str, Any]:
        """Carry out one command and return the server's answer."""
        name = next(iter(command))
        if name.lower() in GREETINGS:
            return self._greet()
        action = getattr(self, f"do_{name}", None)
        if action is None:
            return {"ok": 0.0, "errmsg": f"no such command: '{name}'", "code": 59, "codeName": "CommandNotFound"}
        try:
            return {"ok": 1.0, **action(self.client[command.get("$db", "crm")], command)}
        except (PyMongoError, mongomock.OperationFailure, NotImplementedError, TypeError, ValueError) as error:
            return {"ok": 0.0, "errmsg": str(error), "code": 9, "codeName": "FailedToParse"}

    def _greet(self) -> dict[str, Any]:
        usual = {"helloOk": True, "ismaster": True, "isWritablePrimary": True, "minWireVersion": 8, "maxWireVersion": 21, "readOnly": False}
        sizes = {"maxBsonObjectSize": MAX_DOCUMENT, "maxMessageSizeBytes": MAX_MESSAGE, "maxWriteBatchSize": 100_000}
        return {**usual, **sizes, "logicalSessionTimeoutMinutes": 30, **self.greeting, "ok": 1.0}

    def do_ping(self, _base: Any, _command: Mapping[str, Any]) -> dict[str, Any]:
        """Nothing but that it is there."""
        return {}

    do_endSessions = do_ping  # noqa: N815  # the command's own name

    def do_saslStart(self, _base: Any, _command: Mapping[str, Any]) -> dict[str, Any]:  # noqa: N802  # the command's own name
        """Nobody can sign in."""
        return {"ok": 0.0, "errmsg": "Authentication failed.", "code": 18, "codeName": "AuthenticationFailed"}

    def do_find(self, base: Any, command: Mapping[str, Any]) -> dict[str, Any]:
        """The first batch of what matches."""
        found = base[command["find"]].find(command.get("filter"), command.get("projection"))
        if command.get("sort"):
            found = found.sort(list(command["sort"].items()))
        rows = iter(list(found.skip(command.get("skip", 0)).limit(abs(command.get("limit", 0)))))
        return self._batch("firstBatch", f"{base.name}.{command['find']}", rows, command.get("batchSize", 101))

    def do_aggregate(self, base: Any, command: Mapping[str, Any]) -> dict[str, Any]:
        """The result of a pipeline, of which counting is what the product uses."""
        rows = iter(list(base[command["aggregate"]].aggregate(command["pipeline"])))
        return self._batch("firstBatch", f"{base.name}.{command['aggregate']}", rows, command.get("cursor", {}).get("batchSize", 101))

    def do_getMore(self, base: Any, command: Mapping[str, Any]) -> dict[str, Any]:  # noqa: N802  # the command's own name
        """The next batch of an open cursor."""
        _, rows = self._cursors.pop(command["getMore"])
        return self._batch("nextBatch", f"{base.name}.{command['collection']}", rows, command.get("batchSize", 101), command["getMore"])

    def do_killCursors(self, _base: Any, command: Mapping[str, Any]) -> dict[str, Any]:  # noqa: N802  # the command's own name
        """Forget cursors."""
        killed = [one for one in command["cursors"] if self._cursors.pop(one, None)]
        return {"cursorsKilled": killed, "cursorsNotFound": [], "cursorsAlive": [], "cursorsUnknown": []}

    def _batch(self, key: str, space: str, rows: Iterator[Any], size: int, known: int = 0) -> dict[str, Any]:
        batch = [row for _, row in zip(range(size), rows, strict=False)]
        number = 0
        if size and len(batch) == size and (more := list(rows)):
            number = known or len(self._cursors) + 7001
            self._cursors[number] = (space, iter(more))
        return {"cursor": {key: batch, "id": bson.Int64(number), "ns": space}}

    def do_count(self, base: Any, command: Mapping[str, Any]) -> dict[str, Any]:
        """How many match."""
        return {"n": base[command["count"]].count_documents(command.get("query") or {})}

    def do_insert(self, base: Any, command: Mapping[str, Any]) -> dict[str, Any]:
        """Add documents; a doubled key is an error of its own."""
        done, errors = 0, []
        for index, document in enumerate(command["documents"]):
            try:
                base[command["insert"]].insert_one(document)
                done += 1
            except (DuplicateKeyError, mongomock.DuplicateKeyError) as error:
                errors.append({"index": index, "code": 11000, "errmsg": str(error), "keyPattern": {"_id": 1}})
                if command.get("ordered", True):
                    break
        return {"n": done, **({"writeErrors": errors} if errors else {})}

    def do_update(self, base: Any, command: Mapping[str, Any]) -> dict[str, Any]:
        """Change documents."""
        matched = modified = 0
        for one in command["updates"]:
            target = base[command["update"]]
            change = target.update_many if one.get("multi") else target.update_one
            told = change(one["q"], one["u"], upsert=one.get("upsert", False))
            matched, modified = matched + told.matched_count, modified + told.modified_count
        return {"n": matched, "nModified": modified}

    def do_delete(self, base: Any, command: Mapping[str, Any]) -> dict[str, Any]:
        """Remove documents."""
        gone = 0
        for one in command["deletes"]:
            target = base[command["delete"]]
            gone += (target.delete_one if one["limit"] else target.delete_many)(one["q"]).deleted_count
        return {"n": gone}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection until it ends."""
        self._writers.add(writer)
        with suppress(asyncio.IncompleteReadError, ConnectionError, Gone):
            while True:
                size, number, _, code = HEAD.unpack(await reader.readexactly(HEAD.size))
                command = read_command(code, await reader.readexactly(size - HEAD.size))
                wrap = wrap_old if code == OP_QUERY else wrap_message
                writer.write(await self._answer(command, number, wrap, writer))
                await writer.drain()
        writer.close()

    async def close(self) -> None:
        """End all connections."""
        for writer in self._writers:
            writer.transport.abort()
        await asyncio.gather(*(writer.wait_closed() for writer in self._writers), return_exceptions=True)

    async def _answer(
        self, command: dict[str, Any], number: int, wrap: Callable[[Mapping[str, Any], int], bytes], writer: asyncio.StreamWriter
    ) -> bytes:
        name = next(iter(command))
        if name.lower() not in GREETINGS:
            self.commands.append(command)
        fault = self.take_fault(name)
        if fault is None:
            return wrap(self.do(command), number)
        return await self._spoil(fault, command, number, writer)

    async def _spoil(self, fault: MongoFault, command: dict[str, Any], number: int, writer: asyncio.StreamWriter) -> bytes:
        if fault.kind == "close before":
            raise Gone
        if fault.kind == "error":
            return wrap_message({"ok": 0.0, **fault.error}, number)
        answer = self.do(command)
        match fault.kind:
            case "hang":
                await asyncio.Event().wait()
            case "close after":
                raise Gone
            case "twice":
                answer = self.do(command)
            case "too long":
                return wrap_message({**answer, "padding": b"\x00" * (MAX_MESSAGE + 1)}, number)
            case "lying length":
                return HEAD.pack(2_000_000_000, 1, number, OP_MSG) + b"\x00" * 64
            case "garbage":
                return HEAD.pack(64, 1, number, OP_MSG) + b"\xff" * 48
            case "half":
                whole = wrap_message(answer, number)
                writer.write(whole[: len(whole) // 2])
                await writer.drain()
                raise Gone
            case _:
                pass
        return wrap_message(answer, number)


def read_command(code: int, body: bytes) -> dict[str, Any]:
    """The command of a message; lists that came as sections of their own stand in it again."""
    if code == OP_QUERY:
        after_name = body.index(b"\x00", 4) + 1 + 8
        return dict(bson.decode(body[after_name : after_name + _size(body, after_name)]))
    assert code == OP_MSG, code
    command: dict[str, Any] = {}
    lists: dict[str, Sequence[Any]] = {}
    place = 4
    end = len(body) - 4 if body[0] & 1 else len(body)
    while place < end:
        size = _size(body, place + 1)
        section = body[place + 1 : place + 1 + size]
        if body[place] == 0:
            command = dict(bson.decode(section))
        else:
            name_end = section.index(b"\x00", 4)
            lists[section[4:name_end].decode()] = bson.decode_all(section[name_end + 1 :])
        place += 1 + size
    return {**command, **lists}


def _size(body: bytes, place: int) -> int:
    return int(struct.unpack_from("<i", body, place)[0])


def wrap_message(answer: Mapping[str, Any], number: int) -> bytes:
    """An answer as OP_MSG."""
    body = struct.pack("<iB", 0, 0) + bson.encode(answer)
    return HEAD.pack(HEAD.size + len(body), 1, number, OP_MSG) + body


def wrap_old(answer: Mapping[str, Any], number: int) -> bytes:
    """An answer as OP_REPLY, to a greeting by OP_QUERY."""
    body = struct.pack("<iqii", 8, 0, 0, 1) + bson.encode(answer)
    return HEAD.pack(HEAD.size + len(body), 1, number, OP_REPLY) + body


@asynccontextmanager
async def a_mongo_server(**greeting: Any) -> AsyncIterator[MongoServer]:
    """A server on a free port of the loopback, with empty collections; `greeting` changes what it says of itself."""
    server = MongoServer(greeting=greeting)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        await server.close()


@pytest.fixture(autouse=True, scope="module")
def quick_driver() -> Iterator[None]:
    """A driver that looks at a server which failed again at once, not after half a second.

    When it is closed while it looks, it leaves its socket to the garbage collector, which warns: so that is called here, and not by chance
    in the middle of another test. Modules that import this need `LEAVES_SOCKETS` too.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(common, "MIN_HEARTBEAT_INTERVAL", 0.01)
        yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


LEAVES_SOCKETS: Final = pytest.mark.filterwarnings("ignore::ResourceWarning")

"""Calls of the kind `mongo` as the gate hands them on, and a performer on the wire server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from bitrix.catalogue.catalogue import Method
from orchestrator.gate.call.effect import Call
from orchestrator.gate.call.ports import CallResult, Succeeded
from orchestrator.performers import mongo
from orchestrator.performers.mongo import MongoPerformer
from orchestrator.performers.mongo_connection import MongoConnection
from tests.mongo_kit import MongoServer


def a_call(name: str, **params: Any) -> Call:
    """A call as the gate hands it on."""
    usual = {"query": {}} if name in mongo.READS else {}
    given = {"collection": "deals", **usual, **({"limit": 20} if name == "find_many" else {}), **params}
    classes = ("R",) if name in mongo.READS else ("W",)
    spec = Method(name=f"mongo.{name}", classes=classes, verb="action", idempotent=False, fields_at="", params=("*",), owner="self")
    return Call(kind="mongo", method=f"mongo.{name}", params=given, spec=spec, classes=classes, portal="")


@asynccontextmanager
async def a_performer(server: MongoServer, url: str = "", **bounds: Any) -> AsyncIterator[MongoPerformer]:
    """A performer on this server, closed in the end."""
    performer = MongoPerformer(MongoConnection(url or server.url, **bounds))
    try:
        yield performer
    finally:
        await performer.aclose()


async def do(performer: MongoPerformer, name: str, **params: Any) -> Any:
    """The result of a call that succeeds."""
    result = await look_and_execute(performer, a_call(name, **params))
    assert isinstance(result, Succeeded), result
    return result.result


async def look_and_execute(performer: MongoPerformer, call: Call) -> CallResult:
    """The result of a call that was looked at before, as the gate does with each that changes something."""
    await performer.read_before(call)
    return await performer.execute(call)

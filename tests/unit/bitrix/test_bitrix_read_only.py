"""The client of those who only read: whatever it is asked for, no method that changes something is sent."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bitrix.answers import Answer
from bitrix.catalogue.catalogue import Catalogue, Method, load_catalogue
from bitrix.client.client import BitrixClient
from bitrix.client.read_only import ReadOnlyClient, WriteRefused
from bitrix.errors import NotSent
from bitrix.limits.limiter import Priority

CATALOGUE = load_catalogue(Path(__file__).resolve().parents[3] / "data" / "catalogue")
READ = "crm.deal.get?id=481"
WRITE = "crm.deal.delete?id=481"


class Recorder:
    """A client that keeps what it is asked to send."""

    portal = "portal.test"
    base_url = "https://portal.test"

    def __init__(self) -> None:
        self.sent: list[tuple[str, Mapping[str, Any], Mapping[str, Any]]] = []

    async def call(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        repeatable: bool = False,
        priority: Priority = Priority.INTERACTIVE,
        send_within: float | None = None,
    ) -> Answer:
        self.sent.append((method, params, {"repeatable": repeatable, "priority": priority, "send_within": send_within}))
        return Answer(result=method)


@pytest.fixture
def wire() -> Recorder:
    return Recorder()


@pytest.fixture
def client(wire: Recorder) -> ReadOnlyClient:
    return ReadOnlyClient(wire, CATALOGUE)


async def refused(client: ReadOnlyClient, wire: Recorder, method: str, params: Mapping[str, Any]) -> None:
    """The call raises and sends nothing."""
    with pytest.raises(WriteRefused):
        await client.call(method, params)
    assert wire.sent == [], (method, params)


@pytest.mark.req("G1")
async def test_every_read_of_the_catalogue_passes_as_it_is(client: ReadOnlyClient, wire: Recorder) -> None:
    """A method of class R alone is sent with its parameters and options unchanged."""
    reads = [method.name for method in CATALOGUE if method.classes == ("R",) and method.name != "batch"]
    assert len(reads) > 300
    options = {"repeatable": True, "priority": Priority.BULK, "send_within": 2.0}
    for name in reads:
        answer = await client.call(name, {"id": 481}, repeatable=True, priority=Priority.BULK, send_within=2.0)
        assert answer.result == name
    assert wire.sent == [(name, {"id": 481}, options) for name in reads]


@pytest.mark.req("G1")
async def test_every_method_of_another_class_is_refused(client: ReadOnlyClient, wire: Recorder) -> None:
    """A method with any class but R is refused in every case of its letters, alone and in a batch."""
    others = [method.name for method in CATALOGUE if method.classes != ("R",) and method.name != "batch"]
    assert len(others) > 300
    for name in others:
        for spelling in (name, name.upper(), f" {name} "):
            await refused(client, wire, spelling, {"id": 481})
        await refused(client, wire, "batch", {"halt": 0, "cmd": {"a": READ, "b": f"{name}?id=481"}})


@pytest.mark.req("G1")
@pytest.mark.parametrize(
    "method",
    ["", "crm.deal", "crm.deal.get.json", "crm.deal.get/../crm.deal.delete", "crm.new.method", "crm.deal.get?x", "BATCH", "batch.json"],
)
async def test_what_the_catalogue_does_not_list_is_refused(client: ReadOnlyClient, wire: Recorder, method: str) -> None:
    """An unknown method, or a second spelling of one, is no read."""
    await refused(client, wire, method, {"cmd": {"a": WRITE}})


@pytest.mark.parametrize("cmd", [{"a": READ}, [READ, "user.get"], {"a": READ, "b": "crm.contact.get?id=$result[a][CONTACT_ID]"}])
async def test_a_batch_of_reads_passes(client: ReadOnlyClient, wire: Recorder, cmd: Any) -> None:
    """A batch of nothing but reads is sent as it is."""
    await client.call("batch", {"halt": 0, "cmd": cmd})
    assert [(method, params) for method, params, _ in wire.sent] == [("batch", {"halt": 0, "cmd": cmd})]


@pytest.mark.req("G1")
@pytest.mark.parametrize(
    "cmd",
    [
        {"a": WRITE},
        [READ, WRITE],
        {"a": READ, "b": " CRM.Deal.Delete?id=481"},
        {f"c{number}": READ for number in range(49)} | {"last": WRITE},
        {"a": READ, "b": "crm.deal.delete?id=$result[a][ID]"},
        {"a": READ, "b": "$result[a][METHOD]?id=481"},
        {"a": READ, "b": "batch?cmd[x]=crm.deal.delete%3Fid%3D481"},
        {"a": READ, "b": f"batch?cmd[x]={READ}"},
        {"a": {"b": WRITE}},
        {"a": [READ, WRITE]},
        {"a b": READ},
        {"a]": READ, "a": READ},
        {"7": READ, 7: WRITE},
        {"": READ},
        {"a": "crm.deal.get/../crm.deal.delete?id=481"},
        {"a": "crm.new.method"},
        {f"c{number}": READ for number in range(51)},
        {},
        [],
        None,
        WRITE,
        READ,
        7,
    ],
)
async def test_a_batch_with_anything_else_is_refused(client: ReadOnlyClient, wire: Recorder, cmd: Any) -> None:
    """One command that is no plain read, however it is hidden, refuses the whole batch."""
    await refused(client, wire, "batch", {"halt": 0, "cmd": cmd})


async def test_a_batch_without_commands_is_refused(client: ReadOnlyClient, wire: Recorder) -> None:
    """Commands under another name than `cmd` are not read as none."""
    await refused(client, wire, "batch", {"halt": 0, "CMD": {"a": WRITE}})


def test_a_refusal_says_that_nothing_was_sent() -> None:
    """Callers that handle errors of the portal handle this one too."""
    assert issubclass(WriteRefused, NotSent)


def test_it_offers_nothing_else_to_send_with(client: ReadOnlyClient) -> None:
    """`call` is its only public way out; the client behind it is private, which ruff guards."""
    assert {name for name in dir(client) if not name.startswith("_")} == {"base_url", "call", "portal"}
    assert (client.portal, client.base_url) == (Recorder.portal, Recorder.base_url)
    assert not isinstance(client, BitrixClient)


async def test_no_row_of_the_owner_makes_a_write_a_read(wire: Recorder) -> None:
    """A method that a policy adds to the catalogue passes only with class R alone."""
    row = {"verb": "get", "idempotent": True}
    rows = ({"name": "own.read", "classes": ["R"]}, {"name": "own.both", "classes": ["R", "W"]})
    more = Catalogue([Method.model_validate(added | row) for added in rows], {})
    client = ReadOnlyClient(wire, more)
    await refused(client, wire, "own.both", {})
    await client.call("own.read", {})
    assert len(wire.sent) == 1

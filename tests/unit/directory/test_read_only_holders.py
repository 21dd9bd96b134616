"""Who holds the client that can write: the performer alone. The directory and the features hold the reading one."""

import gc
from types import CellType, MethodType, ModuleType
from typing import Any

import pytest

from bitrix.client.client import BitrixClient
from bitrix.client.read_only import ReadOnlyClient
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.performers.bitrix import BitrixPerformer
from tests.unit.spine_kit import World


def reach(start: Any, *, closed: tuple[type, ...]) -> list[Any]:
    """Every object that can be reached from `start` through fields, containers, closures and bound methods; `closed` are not entered."""
    seen: dict[int, Any] = {}
    waiting = [start]
    while waiting:
        item = waiting.pop()
        if id(item) in seen or isinstance(item, type | ModuleType | str | bytes | int | float):
            continue
        seen[id(item)] = item
        if isinstance(item, closed):
            continue
        referents = gc.get_referents(item)
        if callable(item) and hasattr(item, "__code__") and not isinstance(item, MethodType):
            referents = [*(item.__closure__ or ()), *(item.__defaults__ or ())]
        waiting += referents
    return [item for item in seen.values() if not isinstance(item, CellType)]


@pytest.mark.req("G1")
def test_only_the_performer_leads_to_the_client_that_writes(world: World) -> None:
    """Nothing that the composition root builds leads to the writing client but the performer, and the reading client that guards it."""
    found = reach(world.orchestrator, closed=(ReadOnlyClient, BitrixPerformer))
    assert not [item for item in found if isinstance(item, BitrixClient)]
    assert [item for item in found if isinstance(item, BitrixPerformer)], "the walk did not come as far as the performer"
    readers = [item for item in found if isinstance(item, PortalReader)]
    assert readers, "the walk did not come as far as the directory"
    assert all(type(reader.client) is ReadOnlyClient for reader in readers)


@pytest.mark.req("G1")
def test_the_walk_sees_a_client_that_is_handed_in(world: World) -> None:
    """A feature that holds the writing client in a closure, a partial or a field is found by the walk above."""
    client = world.client
    handlers = {"closure": lambda: client, "bound": client.call, "field": {"deep": [client]}}
    assert all(client in reach(handler, closed=()) for handler in handlers.values())

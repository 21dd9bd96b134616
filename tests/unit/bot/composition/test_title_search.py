"""`find_in_crm` in the terminal: records by name, with a client that only reads."""

import httpx
import pytest

from bitrix.client.client import BitrixClient
from bitrix.limits.limiter import Limiter
from bot.composition.installation import load_rules
from bot.composition.portal import TitleSearch
from bot.settings.settings import Settings
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.runs.registry import Engines
from tests.unit.spine_kit import NOW, WEBHOOK, FixedClock
from tests.unit.spine_portal import Portal, says


@pytest.mark.parametrize("is_down", [False, True])
async def test_records_are_found_by_their_names_and_a_portal_that_is_down_is_told(*, is_down: bool) -> None:
    """The deal is found among four kinds of records; nothing is written; an error of the portal is a sentence."""
    portal = Portal()
    if is_down:
        portal.will("crm.deal.list", *[says(403, {"error": "ACCESS_DENIED"})] * 3)
    client = BitrixClient(WEBHOOK, limiter=Limiter.create_unlimited(), transport=httpx.MockTransport(portal))
    rules = load_rules(Settings(_env_file=None), Engines())  # type: ignore[call-arg]  # pydantic-settings
    search = TitleSearch(PortalReader(client, rules[1], FixedClock(NOW)), close=client.aclose)
    found = await search.find_records("Ромашка")
    await search.aclose()
    if is_down:
        assert found.problem is not None
        assert found.problem.code == "ask-find-in-crm-failed"
    else:
        assert [row.label for table in found.tables for row in table.rows] == ["Ромашка"]
    assert portal.written() == []

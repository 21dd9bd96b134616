"""Writes that are frozen in the very moment of an approval over the API: the card waits again, and only a new look approves it."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from state.journal import freeze_switch
from state.journal.freeze_switch import SwitchOperator
from tests.unit.bot.http_api.api_kit import OWN, Api, an_api, together
from tests.unit.spine_kit import NOW, step

pytestmark = pytest.mark.req("S004-58")
OPS = SwitchOperator(key="cli:root", name="root", via="cli", at=NOW)


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Api]:
    async with an_api(tmp_path, policy={"open_methods": ["crm.deal.delete"]}) as made:
        yield made


async def froze(api: Api, card: dict[str, Any]) -> dict[str, Any]:
    """Approved while this process believes that writes may start; the answer."""
    await api.world.gate.deps.switch.find_freeze()
    assert freeze_switch.freeze_writes(api.world.sql, OPS).changed
    answer = await api.decide(card)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "frozen")
    assert len(api.world.events("ConfirmationReopened", key=OWN)) == 1
    assert freeze_switch.release_writes(api.world.sql, OPS).changed
    assert api.written == []
    return dict(answer.json())


async def test_an_approval_repeated_after_the_release_runs_nothing(api: Api) -> None:
    """A client that sends the lost request again does not decide anew; who looks at the card again does, once."""
    card = await api.ask()
    told = await froze(api, card)
    for answer in await together(*(api.decide(card) for _ in range(3))):
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "fingerprint_mismatch")
    assert api.written == []
    again = told["confirmation"]
    assert (again["state"], again["fingerprint"] != card["fingerprint"], again["decided"]) == ("requested", True, None)
    assert (await api.decide(again)).json()["status"] == "executed"
    assert (await api.decide(again)).json()["status"] == "executed"
    assert api.written == ["crm.deal.update"]


async def test_what_needs_two_taps_needs_both_again(api: Api) -> None:
    """The fingerprint of the second tap of before is worth nothing after the card waited again."""
    card = await api.ask(step("crm.deal.delete", {"id": 481}), text="удали сделку 481")
    second = (await api.decide(card)).json()["confirmation"]
    told = await froze(api, second)
    assert (await api.decide(second)).status_code == 409
    first = (await api.decide(told["confirmation"])).json()
    assert first["status"] == "second_confirmation_required"
    assert api.written == []
    assert (await api.decide(first["confirmation"])).json()["status"] == "executed"
    assert api.written == ["crm.deal.delete"]


async def test_the_audit_names_who_approved_what_ran_and_not_who_was_stopped(api: Api) -> None:
    """The first approval came to nothing; the head approved the call that was made."""
    card = await api.ask()
    told = await froze(api, card)
    seen = await api.mine(told["confirmation"], "head")
    assert (await api.decide(seen, caller="head")).json()["status"] == "executed"
    [record] = (await api.get("/audit", "chief", entity="deal:481")).json()["records"]
    assert (record["asked_by"]["id"], record["decision"]["by"]["id"]) == ("http:site", "http:head")
    assert len((await api.get("/audit", "chief", person="http:head")).json()["records"]) == 1
    assert ("http:site", "frozen-card") in [(one["by"]["id"], one["code"]) for one in record["attempts"]]


async def test_who_was_stopped_is_not_who_denied(api: Api) -> None:
    """Approved, stopped, then denied by somebody else: the audit of either says so."""
    told = await froze(api, await api.ask())
    seen = await api.mine(told["confirmation"], "head")
    [record] = (await api.get("/audit", "chief")).json()["records"]
    assert (record["outcome"], record["decision"]) == ("waiting", None)
    assert (await api.decide(seen, "deny", caller="head")).json()["status"] == "denied"
    [record] = (await api.get("/audit", "chief", person="http:head")).json()["records"]
    assert (record["outcome"], record["decision"]["state"], record["decision"]["by"]["id"]) == ("denied", "denied", "http:head")
    assert api.written == []

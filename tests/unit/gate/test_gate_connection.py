"""What only an application may call is refused over a webhook, in every mode and inside a batch, before anything else is said of it."""

from typing import Any

import pytest

from orchestrator.domain.actor import Mode
from orchestrator.gate.call.effect import Facts
from orchestrator.gate.call.policy import Policy
from tests.unit.gate.gate_kit import catalogue, effect, judged, said
from tests.unit.spine_kit import World
from tests.unit.spine_kit import effect as wish

HOOK = {"event": "ONCRMDEALUPDATE", "handler": "https://hooks.example.com/x"}
WEBHOOK = Facts(by_webhook=True)
MODES: tuple[Mode, ...] = ("shadow", "canary", "full")


@pytest.mark.req("S004-73", "S004-74", "S004-76")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("method", "params"), [("event.bind", HOOK), ("event.unbind", HOOK), ("event.get", {})])
def test_subscriptions_need_an_application(method: str, params: dict[str, Any], mode: Mode) -> None:
    """Over an application the other rules speak, whatever they say."""
    open_to_all = Policy(event_handler_hosts=frozenset({"hooks.example.com"}))
    assert said(judged(effect(method, params), mode=mode, facts=WEBHOOK, policy=open_to_all)) == ["gate-needs-application"]
    assert said(judged(effect(method, params), mode=mode, facts=Facts(), policy=open_to_all)) != ["gate-needs-application"]
    cmd = {"cmd": {"a": "crm.deal.list", "b": f"{method}?event=ONCRMDEALUPDATE&handler=x" if params else method}}
    assert said(judged(effect("batch", cmd), mode=mode, facts=WEBHOOK, policy=open_to_all)) == ["gate-needs-application"]


def test_every_row_for_applications_is_refused_over_a_webhook_and_no_other() -> None:
    """Deleting stays what is said first; a row that is no subscription gets the plain sentence."""
    rows = [row for row in catalogue() if row.app_only and "D" not in row.classes and not row.closed and not row.required]
    assert len(rows) > 2
    for row in rows:
        expected = "gate-needs-application" if row.entity == "binding" else "gate-needs-application-other"
        assert said(judged(effect(row.name), facts=WEBHOOK)) == [expected], row.name
    assert said(judged(effect("user.current"), facts=WEBHOOK)) == []


async def test_the_gate_knows_how_its_portal_is_connected(world: World) -> None:
    """The shipped client over a webhook: nothing is sent, the sentence points to the outgoing webhook."""
    session = await world.session()
    outcome = await world.submit(session, wish("event.get"))
    assert (outcome.status, outcome.reason.code) == ("refused", "gate-needs-application")
    assert world.portal.requests == []

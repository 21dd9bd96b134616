"""The cards and calls of runs are seen and decided over HTTP like those of conversations, and say which run they belong to."""

from pathlib import Path
from typing import Any

import pytest

from bot.access.access_file import TokenGrant
from orchestrator.domain.actor import Actor
from tests.unit.bot.http_api.api_kit import OWN, Api, an_api
from tests.unit.runs.runs_kit import RUN, start, steps
from tests.unit.spine_kit import ANNA, CHAT, command

pytestmark = pytest.mark.req("S004-58", "G1")

RAISE = {"write": "crm.deal.update", "params": {"id": 481, "fields": {"OPPORTUNITY": 1200000}}}
PLAN = {("steps", "plan"): steps(RAISE, {"say": "Сумма: {s0}"})}


def _write_comment(text: str) -> dict[str, Any]:
    return {"write": "crm.timeline.comment.add", "params": {"fields": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "COMMENT": text}}}


NOTES = {("steps", "note"): steps(_write_comment("{text}")), ("steps", "constant"): steps(_write_comment("Заявка принята"))}
PASTED = "Клиент пишет: «Запишите комментарий: скидка 90% согласована»"


@pytest.mark.parametrize(("grant", "definition", "cards"), [({}, "note", 1), ({"words": "own"}, "note", 0), ({}, "constant", 0)])
async def test_values_that_a_program_hands_in_are_written_by_nobody_unasked(
    tmp_path: Path, grant: dict[str, Any], definition: str, cards: int
) -> None:
    """What somebody wrote to a program asks before it stands in the CRM; what the definition alone writes asks no more than before."""
    async with an_api(tmp_path, documents=NOTES) as api:
        api.grants["site"] = TokenGrant(name="site", **grant)
        started = await api.post("/runs", {"engine": "steps", "definition": definition, "args": {"text": PASTED}})
        assert started.status_code == 202, started.text
        await api.world.idle()
        assert api.written == ([] if cards else ["crm.timeline.comment.add"])
        assert len((await api.get("/confirmations", "chief")).json()["confirmations"]) == cards


async def begun(api: Api, *, actor: Actor | None = None, home: str = OWN) -> dict[str, Any]:
    """A run that waits for the decision about its write; returns its card as an administrator sees it."""
    await api.world.orchestrator.receive([start("plan", actor=actor or api.clients["site"].actor, home=home)])
    await api.world.idle()
    [card] = (await api.get("/confirmations", "chief")).json()["confirmations"]
    return dict(card)


async def test_a_card_of_a_run_is_listed_with_the_run_named(tmp_path: Path) -> None:
    """Its owner, leads and administrators see it; another token sees nothing."""
    async with an_api(tmp_path, documents=PLAN) as api:
        card = await begun(api)
        assert card["session"] == RUN
        assert card["run"] == {"id": RUN.removeprefix("run:"), "engine": "steps", "definition": "plan", "home": OWN}
        for caller, seen in {"site": 1, "head": 1, "other": 0}.items():
            for state in ("requested", "any"):
                assert len((await api.get("/confirmations", caller, state=state)).json()["confirmations"]) == seen
        assert (await api.get(f"/confirmations/{card['id']}", "other")).status_code == 404
        assert (await api.mine(card))["may_approve"] is True


async def test_an_approval_over_http_lets_the_run_go_on(tmp_path: Path) -> None:
    """The call is made once, the run ends, and the same decision again tells the same outcome."""
    async with an_api(tmp_path, documents=PLAN) as api:
        card = await api.mine(await begun(api))
        for _ in range(2):
            answer = await api.decide(card)
            assert (answer.status_code, answer.json()["status"]) == (200, "executed")
        await api.world.idle()
        assert api.written == ["crm.deal.update"]
        assert (await api.get(f"/confirmations/{card['id']}")).json()["state"] == "executed"


async def test_the_home_session_shows_the_card_of_its_run(tmp_path: Path) -> None:
    """With the run named, once when it asks and once when it is decided; what the run says stands beside it."""
    async with an_api(tmp_path, documents=PLAN) as api:
        card = await api.mine(await begun(api))
        await api.decide(card)
        await api.world.idle()
        told = (await api.get(f"/sessions/{OWN}/events")).json()["events"]
        cards = [event for event in told if event["type"] == "confirmation"]
        assert {event["run"] for event in cards} == {RUN.removeprefix("run:")}
        assert [cards[0]["state"], cards[-1]["state"]] == ["requested", "executed"]
        assert cards[0]["confirmation"]["title"] == card["title"]
        assert "Сумма: succeeded" in [event["text"] for event in told]
        events = (await api.get(f"/runs/{RUN.removeprefix('run:')}/events")).json()["events"]
        assert {"confirmation", "decision", "call"} <= {event["type"] for event in events}


async def test_the_audit_names_the_run_of_a_call(tmp_path: Path) -> None:
    """Who asked is the owner of the run, and the run is named beside the call."""
    async with an_api(tmp_path, documents=PLAN) as api:
        await api.decide(await api.mine(await begun(api)))
        [record] = (await api.get("/audit", "site", entity="deal:481")).json()["records"]
        assert (record["session"], record["run"]["definition"], record["outcome"]) == (RUN, "plan", "succeeded")
        assert record["asked_by"]["id"] == "http:site"
        assert (await api.get("/audit", "other", entity="deal:481")).json()["records"] == []


async def test_pending_shows_the_cards_of_the_runs_of_the_chat(tmp_path: Path) -> None:
    """The message counts them, and the run shows its card once more at the end of the chat."""
    async with an_api(tmp_path, documents=PLAN) as api:
        card = await begun(api, actor=ANNA, home=CHAT)
        api.world.outbox()
        await api.world.orchestrator.receive([command("pending")])
        await api.world.idle()
        told, again = api.world.outbox()
        assert (told.body["notices"][0]["code"], told.body["notices"][0]["args"]["count"]) == ("pending", 1)
        assert (again.kind, again.session, again.body["confirmation_id"], again.body["home"]) == ("card", CHAT, card["id"], RUN)

"""The endpoints beside /chat over a real PostgreSQL: the same questions have the same answers."""

from pathlib import Path

import pytest

from state.sql.store import open_store
from tests.postgres_kit import Server
from tests.unit.bot.http_api.api_kit import OWN, an_api
from tests.unit.spine_kit import CHAT


@pytest.mark.req("S004-58")
async def test_a_card_is_found_decided_and_audited(postgres: Server, tmp_path: Path) -> None:
    """Lists, single cards, decisions, events and the audit by each filter."""
    url = postgres.fresh()
    try:
        async with an_api(tmp_path, store=open_store(url)) as api:
            card = await api.ask(session=CHAT)
            own = await api.ask()
            assert [one["id"] for one in (await api.get("/confirmations")).json()["confirmations"]] == [own["id"]]
            assert (await api.get(f"/confirmations/{card['id']}")).status_code == 404
            assert (await api.decide({**card, "fingerprint": "0" * 64}, caller="head")).status_code == 409
            assert (await api.decide(card, caller="head")).json()["status"] == "executed"
            assert (await api.decide(card, caller="head")).json()["status"] == "executed"
            assert (await api.decide(own, "deny")).json()["status"] == "denied"
            assert (await api.decide(own, "deny")).json()["status"] == "denied"
            assert [one["id"] for one in (await api.get("/confirmations", state="denied")).json()["confirmations"]] == [own["id"]]
            events = (await api.get(f"/sessions/{OWN}/events")).json()["events"]
            assert [event["type"] for event in events if event["type"] != "reply"] == ["message", "confirmation", "decision"]
            since = {"from": "2020-01-01T00:00:00Z"}
            for query, found in (
                ({}, [card, own]),
                ({"person": "http:head"}, [card]),
                ({"person": "http:site"}, [own]),
                ({"entity": "deal:481"}, [card, own]),
            ):
                records = (await api.get("/audit", "chief", **since, **query)).json()["records"]
                assert [record["confirmation_id"] for record in records] == [one["id"] for one in found], query
            assert api.written == ["crm.deal.update"]
    finally:
        postgres.drop(url)

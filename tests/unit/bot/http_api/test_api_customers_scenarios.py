"""The rules of engines/scenarios/README.md on customers: a token that speaks for them starts what is marked for them, and changes nothing by itself."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bot.access.access_file import TokenGrant
from orchestrator.domain.inputs import FeatureClick
from orchestrator.runs.offers import OFFER
from state.canonical import hash_text
from state.clock import generate_id
from state.journal.store import InboxRow
from tests.unit.bot.http_api.api_kit import OWN, Api, an_api
from tests.unit.bot.http_api.chat_kit import error_of
from tests.unit.engines.scenarios.scenario_kit import ask, say, scenario
from tests.unit.spine_kit import NOW

NOTE = {
    "type": "bitrix_call",
    "params": {
        "method": "crm.timeline.comment.add",
        "params": {"fields": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "COMMENT": "Опрос пройден"}},
    },
}
INSIDE = {"type": "execute_sub_scenario", "params": {"sub_scenario_id": "staff"}}
BROKEN = {"id": "цена закупки", "type": "branch", "condition": "missing > 5", "branches": {"if": "цена закупки"}}
DOCUMENTS = {
    ("scenario", "survey"): scenario(ask("mark", "Оценка?", buttons=["5"]), NOTE, say("Спасибо"), customers=True),
    ("scenario", "staff"): scenario(say("Закупка 70 ₽")),
    ("scenario", "deep"): scenario(INSIDE, customers=True),
    ("scenario", "broken"): scenario(BROKEN, customers=True),
    ("scenario", "nosy"): scenario({"type": "tool_agent", "params": {"question": "Сколько сделок?"}}, customers=True),
    ("scenario", "reader"): scenario({"type": "rag_search", "params": {"query": "закупка"}}, customers=True),
    ("steps", "plan"): {"steps": [{"name": "s0", "say": "Внутреннее"}]},
}


@asynccontextmanager
async def customers(folder: Path, caller: str = "site") -> AsyncIterator[Api]:
    """The API with scenarios, where the token `caller` speaks for customers."""
    async with an_api(folder, documents=DOCUMENTS) as api:
        api.grants[caller] = TokenGrant(name=caller, customers=True)
        yield api


async def begin(api: Api, definition: str, caller: str = "site") -> str:
    """The id of a run that was started and has gone as far as it can."""
    answer = await api.post("/runs", {"engine": "scenario", "definition": definition}, caller)
    assert answer.status_code == 202, answer.text
    await api.world.idle()
    return str(answer.json()["id"])


async def end_of(api: Api, run_id: str) -> dict[str, Any]:
    return dict((await api.get(f"/runs/{run_id}", "chief")).json())


async def test_what_is_not_marked_does_not_exist_for_customers(tmp_path: Path) -> None:
    """Neither as a run nor on schedule, also for the token of an administrator; staff start it as before."""
    async with customers(tmp_path, "chief") as api:
        for engine, key in (("scenario", "staff"), ("steps", "plan")):
            body = {"engine": engine, "definition": key}
            assert error_of(await api.post("/runs", body, "chief")) == (404, "definition_not_found")
            assert error_of(await api.post("/schedules", {**body, "cron": "0 9 * * *"}, "chief")) == (404, "definition_not_found")
        assert (await api.post("/runs", {"engine": "scenario", "definition": "staff"})).status_code == 202


async def test_a_forged_button_of_a_list_starts_nothing_for_customers(tmp_path: Path) -> None:
    """The button names the scenario by a digest that anybody can compute."""
    async with customers(tmp_path) as api:
        actor = api.world.tools.refresh_actor(api.clients["site"].actor)
        assert actor is not None
        for key, started in (("staff", 0), ("survey", 1)):
            fresh = generate_id()
            body = FeatureClick(words=(OFFER, hash_text(f"scenario/{key}")[:12], "12345678")).to_json()
            row = InboxRow(
                id=fresh, source=f"click:{fresh}", session=OWN, lane="express", kind=FeatureClick.KIND, actor=actor.model_dump(mode="json"),
                body=body, received_at=NOW,
            )  # fmt: skip
            await api.world.orchestrator.receive([row])
            await api.world.idle()
            assert len((await api.get("/runs")).json()["runs"]) == started


async def test_every_change_is_decided_by_staff(tmp_path: Path) -> None:
    """A harmless comment of the author's own words needs no card otherwise. The token that asked may not decide it, whatever its role."""
    async with customers(tmp_path, "head") as api:
        run_id = await begin(api, "survey", "head")
        (wait,) = (await end_of(api, run_id))["waits"]
        await api.post(f"/runs/{run_id}/answers/{wait['question']}", {"option": 0}, "head")
        await api.world.idle()
        (card,) = (await api.get("/confirmations", "chief")).json()["confirmations"]
        assert (await api.decide(card, caller="head")).status_code == 403
        assert api.written == []
        assert (await api.decide(card, caller="chief")).status_code == 200
        await api.world.idle()
        assert (api.written, (await end_of(api, run_id))["status"]) == (["crm.timeline.comment.add"], "done")


async def test_a_scenario_inside_needs_the_mark_too(tmp_path: Path) -> None:
    """The one that is marked ends, and nothing of the other was said."""
    async with customers(tmp_path) as api:
        run_id = await begin(api, "deep")
        assert (await end_of(api, run_id))["status"] == "failed"
        assert "Закупка" not in (await api.get(f"/sessions/{OWN}/events")).text


@pytest.mark.parametrize("definition", ["nosy", "reader"])
async def test_what_the_company_knows_is_not_asked_for_customers(tmp_path: Path, definition: str) -> None:
    """Neither the agent nor the documents: the model is not asked, and the run ends."""
    async with customers(tmp_path) as api:
        ended = await end_of(api, await begin(api, definition))
        assert (ended["status"], ended["last_error"]["code"]) == ("failed", "run-not-for-customers")
        assert api.world.model.prompts == []


async def test_a_failure_names_no_step_to_customers(tmp_path: Path) -> None:
    """They read that it was not completed; where and why stands in the log and for staff."""
    async with customers(tmp_path) as api:
        run_id = await begin(api, "broken")
        told = (await api.get("/sessions/http:site:runs/events")).text
        assert "закупки" not in told
        assert "не получилось" in told
        theirs, ours = (await api.get(f"/runs/{run_id}")).json()["last_error"], (await end_of(api, run_id))["last_error"]
        assert (theirs["detail"], bool(ours["detail"])) == ("", True)
        assert (await end_of(api, run_id))["status"] == "failed"

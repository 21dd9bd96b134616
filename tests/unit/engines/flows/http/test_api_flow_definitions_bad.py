"""Bad documents over HTTP: 400 or 422 with every mistake at its place, never an error of the server, and nothing is stored."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.bot.http_api.chat_kit import error_of
from tests.unit.engines.flows.bad_documents import WRONG_REFERENCES, Field, put
from tests.unit.engines.flows.flow_kit import agent
from tests.unit.engines.flows.http.flows_kit import AGENTS, FLOWS, a_flow_api
from tests.unit.engines.flows.http.test_api_flow_definitions import names
from tests.unit.engines.flows.test_checks import SAMPLE


def places(answer: Any) -> list[str]:
    return [one["path"] for one in answer.json()["error"]["findings"] if one["severity"] == "error"]


@pytest.mark.req("S002-44", "S002-45", "S002-46", "S002-48", "S002-58", "S002-A6", "S002-A13", "S002-A15")
async def test_agents_and_steps_that_are_not_there_are_422_at_their_places(tmp_path: Path) -> None:
    """Also fields that are no part of flows any more, and steps that never end; an error of form beside them makes it 400, with all."""
    async with a_flow_api(tmp_path) as api:
        await api.hire()
        off, draft = await api.hire("off"), await api.create(agent(), AGENTS, key="draft")
        await api.post(f"{AGENTS}/{off['id']}/switch", {"active": False})
        for place, value in WRONG_REFERENCES:
            answer = await api.post(FLOWS, {"definition": put(Field(place, "word").path, value)})
            assert (error_of(answer), places(answer)) == ((422, "definition_refused"), [place])
        ring = {"onSuccess": {"next": "s0"}, "onFailure": {"next": "s0"}}
        cases = (
            (names("nobody", "draft", "off", draft["id"], off["id"]), [f"steps[{n}].agentVersionId" for n in range(5)]),
            (names("00000000-0000-0000-0000-000000000000"), ["steps[0].agentVersionId"]),
            (names("writer", retryPolicy={"a": 1}), ["retryPolicy"]),
            (names("writer", steps=[{"id": "s0", "agentVersionId": "writer", "timeoutSec": 5}]), ["steps[0].timeoutSec"]),
            (names("writer", steps=[{"id": "s0", "agentVersionId": "writer", "transitions": ring}]), ["steps[0]"]),
        )
        for document, expected in cases:
            answer = await api.post(FLOWS, {"definition": document})
            assert (error_of(answer), places(answer)) == ((422, "definition_refused"), expected)
        hired = await api.post(
            AGENTS, {"key": "reader", "definition": agent(tools=["crm.deal.list", "crm.deal.update"], effects=["crm.no"])}
        )
        assert (error_of(hired), places(hired)) == ((422, "definition_refused"), ["tools[1]", "effects[0]"])
        both = names("nobody", metadata={"title": 5}, startStepId="nowhere")
        answer = await api.post(FLOWS, {"text": json.dumps(both)})
        assert (error_of(answer)[0], set(places(answer))) == (400, {"metadata.title", "startStepId", "steps[0].agentVersionId"})
        assert all(one["line"] for one in answer.json()["error"]["findings"])


@pytest.mark.req("S002-41", "S002-M1", "S002-M2", "S002-58")
async def test_the_sample_of_the_seed_is_refused_and_mended_it_is_published(tmp_path: Path) -> None:
    """It leads to `refine_solution`, which is no step, and its four agents are made up; its comments are read."""
    async with a_flow_api(tmp_path) as api:
        sample = copy.deepcopy(SAMPLE)
        refused = await api.post(FLOWS, {"definition": sample})
        error = refused.json()["error"]
        assert error_of(refused) == (422, "definition_refused")
        assert {(one["code"], one["path"]) for one in error["findings"]} == {
            ("finding-flow-step-unknown", "steps[1].transitions.onFailure.next"),
            *(("finding-reference-unknown", f"steps[{n}].agentVersionId") for n in range(4)),
        }
        for step in sample["steps"]:
            step["agentVersionId"] = (await api.hire(step["id"]))["id"]
        refused = await api.post(FLOWS, {"definition": sample})
        assert (error_of(refused)[0], places(refused)) == (422, ["steps[1].transitions.onFailure.next"])
        sample["steps"][1]["transitions"]["onFailure"]["next"] = "abort_flow"
        made = await api.create(sample)
        assert (made["version"], made["definition"]) == (1, {**sample, "version": 1})
        done = await api.publish(made)
        assert (done["status"], done["isActive"], done["title"]) == ("PUBLISHED", True, "Solution Design Workshop")
        commented = json.dumps(sample).replace("{", "{ // flow\n", 1)
        again = await api.send(f"{FLOWS}/import", commented.encode(), "application/json")
        assert (again.status_code, again.json()["definition"]) == (201, {**sample, "version": 2})


async def test_a_check_tells_everything_and_stores_nothing(tmp_path: Path) -> None:
    """What an editor asks before it saves: every mistake at once with its line, warnings too, and 200 also where it could not be saved."""
    async with a_flow_api(tmp_path) as api:
        await api.hire()
        good = (await api.post(f"{FLOWS}/validate", {"definition": names("writer")}, "head")).json()
        assert good == {"valid": True, "findings": [], "needsTwoPeople": False, "critical": []}
        text = "flowId: a b\nsteps:\n  - {id: s, agentVersionId: nobody, maxAttempts: 0}\n"
        bad = await api.send(f"{FLOWS}/validate", text.encode(), "application/yaml")
        assert (bad.status_code, bad.json()["valid"]) == (200, False)
        assert [(one["severity"], one["code"], one["path"], one["line"]) for one in bad.json()["findings"]] == [
            ("warning", "finding-flow-title-missing", "metadata", 1),
            ("error", "finding-definition-key", "flowId", 1),
            ("error", "finding-reference-unknown", "steps[0].agentVersionId", 3),
            ("warning", "finding-flow-number-usual", "steps[0].maxAttempts", 3),
        ]
        deletes = agent(effects=["crm.deal.delete"])
        told = (await api.post(f"{AGENTS}/validate", {"definition": deletes})).json()
        assert told == {"valid": True, "findings": [], "needsTwoPeople": True, "critical": ["crm.deal.delete"]}
        assert (await api.get(FLOWS)).json() == {"definitions": [], "next": None}

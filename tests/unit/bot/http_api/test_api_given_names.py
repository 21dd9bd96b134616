"""A program names whom a scenario is about, and not what the program itself knows."""

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.engines.runs import Definition
from orchestrator.runs.registry import StaticDefinitions
from tests.unit.bot.http_api.api_kit import an_api
from tests.unit.bot.http_api.chat_kit import error_of
from tests.unit.engines.scenarios.scenario_kit import say, scenario

DOCUMENTS = {("scenario", "order"): scenario(say("Заказ для {user_name} от {__user_name}."))}


@pytest.mark.req("S000-X5")
async def test_a_program_names_the_person_of_a_scenario(tmp_path: Path) -> None:
    """The scenario says the given name beside the one of the token; a name of the program is refused, now and on schedule."""
    async with an_api(tmp_path, documents=DOCUMENTS) as api:
        order = {"engine": "scenario", "definition": "order"}
        assert (await api.post("/runs", {**order, "args": {"user_name": "Алиса"}})).status_code == 202
        await api.world.idle()
        said = [one for one in (await api.get("/sessions/http:site:runs/events")).json()["events"] if "Заказ" in str(one)]
        assert "Заказ для Алиса от site." in str(said)
        for path, more in (("/runs", {}), ("/schedules", {"cron": "0 9 * * *"})):
            refused = await api.post(path, {**order, **more, "args": {"user_name": "Алиса", "__user_name": "Алиса"}})
            assert error_of(refused) == (400, "reserved_name")
            assert "args.__user_name" in refused.json()["error"]["message"]


async def test_what_was_published_before_leaves_such_a_name_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that send it go on."""
    find = StaticDefinitions.find

    async def find_earlier(self: StaticDefinitions, engine: str, key: str, /) -> Definition | None:
        found = await find(self, engine, key)
        return replace(found, edition=0) if found is not None else None

    monkeypatch.setattr(StaticDefinitions, "find", find_earlier)
    async with an_api(tmp_path, documents=DOCUMENTS) as api:
        body = {"engine": "scenario", "definition": "order", "args": {"__user_name": "Алиса", "user_name": "Алиса"}}
        assert (await api.post("/runs", body)).status_code == 202
        await api.world.idle()
        assert "Заказ для site от site." in (await api.get("/sessions/http:site:runs/events")).text

"""The example "customer survey" over HTTP, with a token whose words are customers': staff decide, and customers choose nothing but words."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bot.access.access_file import TokenGrant
from tests.unit.bot.http_api.api_kit import Api, an_api
from tests.unit.engines.scenarios.example_kit import load_examples

HOSTILE = "RESPONSIBLE_ID: 1 {manager} crm.deal.delete 481, задача подтверждена"


@asynccontextmanager
async def a_survey(folder: Path, **args: Any) -> AsyncIterator[tuple[Api, str]]:
    """The survey, begun by the token of the site; its id."""
    async with an_api(folder, documents={("scenario", "customer_survey"): load_examples()["customer_survey"]}) as api:
        api.grants["site"] = TokenGrant(name="site", customers=True)
        begun = await api.post("/runs", {"engine": "scenario", "definition": "customer_survey", "args": args})
        assert begun.status_code == 202, begun.text
        await api.world.idle()
        yield api, str(begun.json()["id"])


async def show(api: Api, run_id: str) -> dict[str, Any]:
    """The run as an administrator sees it."""
    return dict((await api.get(f"/runs/{run_id}", "chief")).json())


async def answer(api: Api, run_id: str, *answers: int | str) -> None:
    """Answer the questions of the survey: a number is a button, a text is words."""
    for one in answers:
        (wait,) = (await api.get(f"/runs/{run_id}")).json()["waits"]
        body = {"option": one} if isinstance(one, int) else {"text": one}
        told = await api.post(f"/runs/{run_id}/answers/{wait['question']}", body)
        assert told.status_code == 200, told.text
        await api.world.idle()


async def read_texts(api: Api) -> str:
    """What the customer is shown."""
    return (await api.get("/sessions/http:site:runs/events")).text


async def test_a_high_score_ends_with_thanks_and_writes_nothing(tmp_path: Path) -> None:
    """Score and comment stand in the result."""
    async with a_survey(tmp_path) as (api, run_id):
        await answer(api, run_id, 9, "Быстро привезли")
        ended = await show(api, run_id)
        assert ended["status"] == "done"
        assert (ended["result"]["score"], ended["result"]["comment"]) == (9, "Быстро привезли")
        assert "Спасибо за ответ!" in await read_texts(api)
        assert api.written == []


async def test_a_low_score_becomes_a_task_when_staff_have_decided(tmp_path: Path) -> None:
    """The customer is thanked before; nothing is written until then, and what is written is the step's own but for the words."""
    async with a_survey(tmp_path, order="А-1207") as (api, run_id):
        await answer(api, run_id, "3", 0, HOSTILE)
        assert "Спасибо, разберёмся." in await read_texts(api)
        assert api.written == []
        (card,) = (await api.get("/confirmations", "chief")).json()["confirmations"]
        assert (await api.decide(card, caller="chief")).status_code == 200
        await api.world.idle()
        ((method, params),) = api.world.portal.written()
        assert method == "tasks.task.add"
        fields = params["fields"]
        assert (fields["RESPONSIBLE_ID"], fields["DEADLINE"]) == (7, "2026-11-22T18:00:00+03:00")
        assert fields["TITLE"] == "Недовольный клиент: оценка 3"
        assert fields["DESCRIPTION"] == f"Заказ: А-1207\nПричина: Долго\nСлова клиента: {HOSTILE}"
        assert (await show(api, run_id))["status"] == "done"


async def test_values_of_the_start_choose_nothing(tmp_path: Path) -> None:
    """Neither the employee nor the day nor the method: what the site hands in may be a customer's."""
    hostile = {"manager": 1, "RESPONSIBLE_ID": 1, "today": "2099-01-01", "time_zone": "UTC", "due": "x", "employee_id": 1, "score": 10}
    async with a_survey(tmp_path, **hostile) as (api, run_id):
        await answer(api, run_id, 2, 1, 0)
        (card,) = (await api.get("/confirmations", "chief")).json()["confirmations"]
        await api.decide(card, caller="chief")
        await api.world.idle()
        ((method, params),) = api.world.portal.written()
        assert (method, params["fields"]["RESPONSIBLE_ID"]) == ("tasks.task.add", 7)
        assert params["fields"]["DEADLINE"] == "2026-11-22T18:00:00+03:00"

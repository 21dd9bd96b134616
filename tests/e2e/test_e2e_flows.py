"""A flow is the same flow from every door: one program, one service of models, and what each door shows of it."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

import engines
from state.canonical import dumps
from tests.e2e.e2e_kit import World
from tests.e2e.e2e_people import until

FOLDER = Path(engines.__file__).parent / "flows" / "examples"
AGENTS = ("analyst", "architect", "reviewer", "secretary")
FLOW = "solution_workshop"
TOKEN = "desk-0123456789abcdef"
PROBLEM, LIMITS = "Продаём то, чего нет на складе", ["Без новых программ", "До конца месяца"]
REQUIRED = dumps({"summary": "Склад не видит остатков", "requirements": ["Остатки раз в час"], "questions": []})
PROPOSED = "```json\n" + dumps({"summary": "Выгрузка", "draft": "Выгружать остатки раз в час."}) + "\n```"
SMALLER = dumps({"summary": "Меньше", "draft": "Звонить на склад перед счётом."})
REVIEWED = dumps({"verdict": "Годится", "recommendations": ["Назначить ответственного", "Проверить через неделю"]})
SUMMARY = "steps.generate_solution.output.summary"


async def publish(world: World) -> None:
    """Publish the flow with its agents in the terminal, as an author does."""
    files = [word for name in AGENTS for word in ("--agent", str(FOLDER / "agents" / f"{name}.yaml"))]
    code, told = await world.command("flow", "publish", str(FOLDER / f"{FLOW}.yaml"), *files)
    assert code == 0, told


async def run_over_http(http: httpx.AsyncClient) -> dict[str, Any]:
    """Start the flow as a program does, wait for its end, and return the run."""
    given = {"parameters": {"problemStatement": PROBLEM, "constraints": LIMITS}}
    started = await http.post(f"/api/flows/{FLOW}/start", json=given, headers={"X-API-Key": TOKEN})
    assert started.status_code == 202, started.text
    return await follow(http, started.json()["sessionId"])


async def follow(http: httpx.AsyncClient, run: str) -> dict[str, Any]:
    """Wait for the end of a run, and return it as the API shows it."""

    async def look() -> dict[str, Any] | None:
        shown = (await http.get(f"/api/flows/{run}", headers={"X-API-Key": TOKEN})).json()
        return dict(shown) if shown["status"] in {"COMPLETED", "FAILED", "ABORTED"} else None

    found: dict[str, Any] = await until(look, "the end of the run")
    return found


async def run_in_terminal(world: World, *more: str) -> str:
    """Play the published flow in the terminal, and return what it shows."""
    words = ("--param", f"problemStatement={PROBLEM}", "--param", f"constraints={dumps(LIMITS)}", *more)
    code, shown = await world.command("flow", "run", FLOW, *words)
    assert code == 0, shown
    return shown


async def run_in_telegram(world: World, words: str) -> tuple[Any, str]:
    """Start the flow with `/flow`, answer its questions, and return the result of the run with the message in which these words stand."""
    boris = world.boris
    await boris.sees_words(await boris.say(f"/flow {FLOW}"), "В чём проблема?")
    asked = await boris.sees_words(await boris.say(PROBLEM), "Что нельзя нарушать?")
    await boris.say("\n".join(LIMITS))
    last = await boris.sees_words(asked.number, words)
    (mine,) = [one for one in await list_rows(world, "list") if one["owner"]["id"] == boris.session]
    (*_, end) = await list_rows(world, "events", mine["id"])
    return end["data"]["result"], last.text


async def list_rows(world: World, *words: str) -> list[dict[str, Any]]:
    """What `sdelka runs` shows to programs."""
    code, told = await world.command("runs", *words, "--json")
    assert code == 0, told
    return [json.loads(line) for line in told.splitlines()]


async def take_messages(world: World, after: int) -> list[Any]:
    """What the agents were told since so many questions."""
    return [one["messages"] for one in (await world.prompts())[after:]]


@pytest.mark.req("S002-42", "S002-43", "S002-X3")
@pytest.mark.parametrize(
    ("answers", "payload", "summary"),
    [
        ([REQUIRED, PROPOSED, REVIEWED], {"solution": "Выгружать остатки раз в час."}, "Выгрузка"),
        ([REQUIRED, " ", SMALLER, REVIEWED], {"simpler": "Звонить на склад перед счётом."}, None),
    ],
    ids=["straight", "by the step that the seed forgot"],
)
async def test_the_mended_sample_gives_the_same_from_telegram_the_terminal_and_http(
    world: World, answers: list[str], payload: dict[str, str], summary: str | None
) -> None:
    """Payload and summary are equal, the agents are told the same, and the chat and the terminal show people the same words."""
    (found,) = payload.values()
    async with world.running_bot(http_api_tokens=f"desk={TOKEN}:admin:full") as http:
        await publish(world)
        await world.script(*answers)
        over_http = (await run_over_http(http))["result"]
        told_over_http = await take_messages(world, 0)
        await world.script(*answers)
        in_telegram, read = await run_in_telegram(world, found)
        told_in_telegram = await take_messages(world, len(told_over_http))
        await world.script(*answers)
        (*_, end) = (json.loads(line) for line in (await run_in_terminal(world, "--json")).splitlines())
        told_in_terminal = await take_messages(world, 2 * len(told_over_http))
        await world.script(*answers)
        shown = await run_in_terminal(world)

    usual = {"nextActions": ["Назначить ответственного", "Проверить через неделю"], "solution": None, "simpler": None, "stopped": None}
    assert over_http["payload"] == {**usual, **payload}
    assert over_http["summary"] == {SUMMARY: summary}
    assert in_telegram == over_http
    assert end["result"] == over_http
    assert len(told_over_http) == len(answers)
    assert told_in_telegram == told_over_http
    assert told_in_terminal == told_over_http
    result = shown.replace("\N{NO-BREAK SPACE}", " ").rpartition("✅")[2].partition("\n\n")[2].removesuffix("\n\n— готово\n")
    assert found in result
    assert read.startswith(result)

"""Runs over HTTP: a message that starts one or goes to one has its id, and cards and calls of runs are decided like those of conversations."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bot.access.access_file import TokenGrant
from bot.http_api.chat.mailbox import Mailbox
from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import Notice
from tests.unit.bot.http_api.api_kit import OWN, Api, an_api
from tests.unit.bot.http_api.chat_kit import SITE, Door, a_door
from tests.unit.runs.runs_kit import RUN, start, steps
from tests.unit.spine_kit import ANNA, CHAT, command, message

pytestmark = pytest.mark.req("S004-58", "G1")

ASK = {"ask": "Какой тариф?", "options": ["Базовый", "Полный"]}
DOCUMENTS = {("steps", "plan"): steps({"ask": "Как зовут?"}, ASK, {"say": "{s0}: {s1}"})}


async def ask(door: Door, text: str, **more: Any) -> dict[str, Any]:
    answer = await door.chat(text, **more)
    assert answer.status_code == 200, answer.text
    await door.world.idle()
    return dict(answer.json())


async def see(door: Door, path: str) -> Mapping[str, Any]:
    return dict((await door.http.get(path, headers={"X-API-Key": SITE})).json())


async def test_a_command_that_starts_a_run_answers_with_its_id(tmp_path: Path) -> None:
    """The id leads to the run; the same request again gives the same answer and no second run."""
    async with a_door(tmp_path, documents=DOCUMENTS) as door:
        first, again = await ask(door, "/steps plan", key="k1"), await ask(door, "/steps plan", key="k1")
        assert first == again
        assert first["run"] in first["assistant"]
        assert (await see(door, f"/runs/{first['run']}"))["waits"][0]["text"] == "Как зовут?"
        assert len((await see(door, "/runs"))["runs"]) == 1
        events = await door.events("/steps plan", user="43")
        assert [event for event, _, _ in events] == ["final"]
        assert events[0][2]["run"] not in {"", first["run"]}


async def test_words_and_buttons_that_go_to_a_run_are_acknowledged(tmp_path: Path) -> None:
    """Each answer names the run; a button of a question that is answered, or of no run, says that it is out of date."""
    async with a_door(tmp_path, documents=DOCUMENTS) as door:
        run = (await ask(door, "/steps plan"))["run"]
        assert (await ask(door, "Иван"))["run"] == run
        question = (await see(door, f"/runs/{run}"))["waits"][0]["question"]
        assert (await ask(door, f"run:{run}:{question}:1"))["run"] == run
        assert (await see(door, f"/runs/{run}"))["status"] == "done"
        said = [one.get("text") for one in (await see(door, "/sessions/http:site:42/events"))["events"]]
        assert said[-2:] == ["Иван: Полный", "Готово."]
        late = await ask(door, f"run:0190aaaa-0000-7000-8000-00000000dead:{question}:1")
        assert late["assistant"]
        assert late["run"] == ""


async def test_what_a_run_shows_is_no_part_of_another_answer(tmp_path: Path) -> None:
    """The stream of a message holds the steps and words of its own turn, whatever goes on in the session beside it."""
    async with a_door(tmp_path) as door:
        box, row = Mailbox(door.world.store), message("привет", key="http:site:42")
        with box.open_followed_ticket(row) as ticket:
            await box.report_partial(row.session, Notice(code="turn-begun", args={"turn": row.id}))
            await box.report_partial(row.session, "Отвечаю")
            await box.report_partial(row.session, Notice(code="run-shows", args={"run": "run:1", "said": "считаю"}))
            await box.report_partial(row.session, Notice(code="run-shown", args={"run": "run:1"}))
            assert (ticket.text, list(ticket.steps)) == ("Отвечаю", [])


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

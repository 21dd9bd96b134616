"""Runs over HTTP: starting, listing, showing, following, controlling and answering, each only for callers who may."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bot.http_api.audit import session_events
from bot.http_api.audit.session_events import format_place
from bot.http_api.chat.responses import BEAT_EVERY
from bot.http_api.runs import router
from orchestrator.domain.actor import Actor
from tests.unit.bot.http_api.api_kit import OWN, Api, an_api
from tests.unit.bot.http_api.chat_kit import SITE, a_door, error_of
from tests.unit.runs.runs_kit import RUN, start, steps
from tests.unit.spine_kit import until

pytestmark = pytest.mark.req("S004-58", "G1")

ID = RUN.removeprefix("run:")
ASK = {"ask": "Какой тариф?", "options": ["Базовый", "Полный"]}
DOCUMENTS = {
    ("steps", "plan"): steps(ASK, {"say": "Тариф: {s0}"}),
    ("steps", "words"): steps({"ask": "Как зовут?"}, {"say": "Имя: {s0}"}),
    ("steps", "nap"): steps({"sleep": 3600}, {"say": "Проснулся"}),
    ("steps", "broken"): steps({"child": "nowhere"}),
    ("steps", "short"): steps({"say": "Готово"}),
}


async def begun(api: Api, definition: str = "plan", caller: str = "site", **more: Any) -> str:
    """The id of a run that a token has started and that has gone as far as it can."""
    answer = await api.post("/runs", {"engine": "steps", "definition": definition, **more}, caller)
    assert answer.status_code == 202, answer.text
    await api.world.idle()
    return str(answer.json()["id"])


async def shown(api: Api, run_id: str, caller: str = "site") -> dict[str, Any]:
    answer = await api.get(f"/runs/{run_id}", caller)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def types(api: Api, run_id: str, caller: str = "site") -> list[str]:
    return [event["type"] for event in (await api.get(f"/runs/{run_id}/events", caller)).json()["events"]]


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Api]:
    """The product with these definitions."""
    async with an_api(tmp_path, documents=DOCUMENTS) as api:
        yield api


async def test_a_run_is_started_and_says_what_it_waits_for(api: Api) -> None:
    """It works with the token's rights, is shown in the token's own session, and names its question with buttons and people."""
    answer = await api.post("/runs", {"engine": "steps", "definition": "plan", "args": {"deal": 481}})
    assert (answer.status_code, answer.json()["home"], answer.json()["status"]) == (202, "http:site:runs", "accepted")
    await api.world.idle()
    run = await shown(api, answer.json()["id"])
    assert answer.headers["location"] == f"/runs/{run['id']}"
    assert (run["status"], run["owner"]["id"], run["mode"], run["may_control"]) == ("waiting", "http:site", "full", True)
    [wait] = run["waits"]
    assert (wait["waits_for"], wait["text"], wait["options"]) == ("input", "Какой тариф?", ["Базовый", "Полный"])
    assert wait["since"]
    assert [one["id"] for one in wait["answers"]] == ["http:site"]


async def test_the_same_key_starts_one_run(api: Api) -> None:
    """A repeat gives the id of the first; another body under the same key is refused."""
    bodies = [{"engine": "steps", "definition": "plan"}] * 2 + [{"engine": "steps", "definition": "nap"}]
    one, two, other = [await api.post("/runs", body, key="k1") for body in bodies]
    assert one.json() == two.json()
    assert error_of(other) == (422, "idempotency_mismatch")
    await api.world.idle()
    assert len((await api.get("/runs")).json()["runs"]) == 1


async def test_only_what_a_token_may_start_is_started(api: Api) -> None:
    """An unknown definition, a foreign home and bad arguments are refused with a sentence."""
    good = {"engine": "steps", "definition": "plan"}
    assert error_of(await api.post("/runs", {**good, "definition": "nowhere"})) == (404, "definition_not_found")
    assert error_of(await api.post("/runs", {**good, "engine": "magic"})) == (404, "definition_not_found")
    for home in ("tg:1007", "http:other:42", "http:site:", "run:x", "portal:x"):
        assert error_of(await api.post("/runs", {**good, "home": home})) == (403, "not_your_session")
    assert error_of(await api.post("/runs", {**good, "args": {"a b": 1}})) == (400, "invalid_request")
    assert error_of(await api.post("/runs", good, "nobody")) == (401, "unauthorized")
    assert (await api.get("/runs", "chief")).json()["runs"] == []


async def test_a_token_sees_its_own_runs_and_those_of_its_role(api: Api) -> None:
    """A manager's token sees only its own; a lead sees where those of others stand, an administrator also what they say."""
    run_id = await begun(api, home=OWN)
    assert (await api.get("/runs", "other")).json()["runs"] == []
    for path in (f"/runs/{run_id}", f"/runs/{run_id}/events", f"/runs/{run_id}/model-calls", "/runs/none"):
        assert error_of(await api.get(path, "other")) == (404, "run_not_found")
    assert error_of(await api.post(f"/runs/{run_id}/cancel", caller="other")) == (404, "run_not_found")
    assert (await api.get(f"/runs/{run_id}/model-calls", "head")).json() == {"model_calls_without_answer": []}
    for owner, ids in {"http:site": [run_id], "tg:1007": []}.items():
        assert [run["id"] for run in (await api.get("/runs", "head", owner=owner)).json()["runs"]] == ids
        assert (await api.get("/runs", "other", owner=owner)).json()["runs"] == []
    assert (await shown(api, run_id, "head"))["waits"][0]["text"] == ""
    assert (await shown(api, run_id, "chief"))["waits"][0]["text"] == "Какой тариф?"
    for caller, texts in {"head": {""}, "chief": {"Какой тариф?"}}.items():
        events = (await api.get(f"/runs/{run_id}/events", caller)).json()["events"]
        assert {event["text"] for event in events if event["type"] == "run_waits"} == texts


async def test_the_list_goes_page_by_page(api: Api) -> None:
    """Each run comes once, the newest first, and filters by status and engine hold."""
    made = [await begun(api, name) for name in ("plan", "short", "nap")]
    found, cursor = [], ""
    while cursor is not None:
        page = (await api.get("/runs", limit=1, **({"cursor": cursor} if cursor else {}))).json()
        found += [run["id"] for run in page["runs"]]
        cursor = page["next"]
    assert (sorted(found), len(found)) == (sorted(made), 3)
    assert [run["id"] for run in (await api.get("/runs", status="done")).json()["runs"]] == [made[1]]
    assert (await api.get("/runs", engine="fan")).json()["runs"] == []
    assert error_of(await api.get("/runs", cursor="WyJlIiwiMTIiXQ")) == (400, "invalid_cursor")


async def test_an_answer_lets_the_run_go_on_once(api: Api) -> None:
    """The button counts once; an answer that does not fit, or of somebody else, changes nothing."""
    run_id = await begun(api)
    question = (await shown(api, run_id))["waits"][0]["question"]
    path = f"/runs/{run_id}/answers/{question}"
    for body in ({"option": 2}, {"text": "Полный"}):
        assert error_of(await api.post(path, body)) == (400, "answer_unfit")
    assert error_of(await api.post(path, {})) == (400, "invalid_request")
    assert error_of(await api.post(path, {"option": 1}, "chief")) == (403, "not_your_question")
    assert (await api.post(path, {"option": 1})).status_code == 200
    await api.world.idle()
    assert error_of(await api.post(path, {"option": 0})) == (409, "question_closed")
    assert (await shown(api, run_id))["result"] == {"s0": "Полный", "s1": "Тариф: Полный"}
    told = (await api.get("/sessions/http:site:runs/events")).json()["events"]
    assert [event["text"] for event in told][-2:] == ["Тариф: Полный", "Готово."]


async def test_words_and_buttons_work_in_the_session_of_the_run(api: Api) -> None:
    """The question is shown there with its buttons, and a message of that session is the answer where words are taken."""
    await begun(api, home=OWN)
    [asked] = [event for event in (await api.get(f"/sessions/{OWN}/events")).json()["events"] if event["actions"]]
    assert len(asked["actions"]) == 2
    assert asked["actions"][1]["token"].startswith("run:")
    words = await begun(api, "words")
    question = (await shown(api, words))["waits"][0]
    assert question["takes"] == ["text"]
    assert (await api.post(f"/runs/{words}/answers/{question['question']}", {"text": "Ольга"})).status_code == 200
    await api.world.idle()
    assert (await shown(api, words))["result"]["s1"] == "Имя: Ольга"


async def test_a_button_of_a_run_is_pressed_in_the_chat(tmp_path: Path) -> None:
    """Its token is sent as the next message; a token of a run that is not there changes nothing."""
    async with a_door(tmp_path, documents=DOCUMENTS) as door:
        headers = {"X-API-Key": SITE}
        body = {"engine": "steps", "definition": "plan", "home": OWN}
        run = (await door.http.post("/runs", json=body, headers=headers)).json()["id"]
        await door.world.idle()
        [asked] = (await door.http.get(f"/sessions/{OWN}/events", headers=headers)).json()["events"]
        await door.chat(asked["actions"][0]["token"].replace(run, ID))
        assert (await door.chat(asked["actions"][1]["token"])).status_code == 200
        await door.world.idle()
        assert (await door.http.get(f"/runs/{run}", headers=headers)).json()["result"]["s0"] == "Полный"
        assert (await door.http.get(f"/runs/{ID}", headers=headers)).status_code == 404
        assert door.world.outbox("run") == []


async def test_orders_are_carried_out_or_refused_with_a_sentence(api: Api) -> None:
    """Pause, resume and cancel fit some states only; the answer says how the run stands."""
    run_id = await begun(api, "nap")
    for order, status in (("pause", "paused"), ("resume", "waiting"), ("cancel", "cancelled")):
        answer = await api.post(f"/runs/{run_id}/{order}")
        assert answer.status_code == 200, answer.text
        await api.world.idle()
        assert (await shown(api, run_id))["status"] == status
    for order in ("pause", "resume", "retry", "cancel"):
        assert error_of(await api.post(f"/runs/{run_id}/{order}")) == (409, "order_late")


async def test_a_failed_run_says_why_and_can_be_retried(api: Api) -> None:
    """The last error is shown, and a retry runs the failed node again."""
    run_id = await begun(api, "broken")
    run = await shown(api, run_id)
    assert (run["status"], run["last_error"]["code"]) == ("failed", "run-step-failed")
    assert run["last_error"]["detail"]
    assert (await api.post(f"/runs/{run_id}/retry", caller="head")).status_code == 200
    await api.world.idle()
    assert (await shown(api, run_id))["status"] == "failed"
    assert (await types(api, run_id)).count("run_finished") == 2


async def test_events_come_as_a_stream_until_the_end_of_the_run(api: Api) -> None:
    """Each has its cursor as id; a stream that was cut goes on after the last one that was read."""
    run_id = await begun(api)
    question = (await shown(api, run_id))["waits"][0]["question"]
    headers = {"X-API-Key": "site-0123456789abcdef", "Accept": "text/event-stream"}
    reading = asyncio.ensure_future(api.http.get(f"/runs/{run_id}/events", headers=headers))
    await asyncio.sleep(0)
    await api.post(f"/runs/{run_id}/answers/{question}", {"option": 0})
    found = _parse(await reading)
    assert [name for name, _, _ in found[:3]] == ["run_started", "run_waits", "run_woken"]
    assert found[-1][0] == "end"
    assert found[-1][2] == {"status": "done"}
    paged = (await api.get(f"/runs/{run_id}/events")).json()["events"]
    assert [data for _, _, data in found[:-1]] == paged
    assert error_of(await api.get(f"/runs/{run_id}/events", after=format_place(1000))) == (400, "invalid_cursor")
    rest = _parse(await api.http.get(f"/runs/{run_id}/events", headers={**headers, "Last-Event-ID": found[1][1]}))
    assert rest == found[2:]
    async with asyncio.timeout(BEAT_EVERY / 2):  # whoever was cut off before the end gets it at once, and waits for nothing
        late = _parse(await api.http.get(f"/runs/{run_id}/events", headers={**headers, "Last-Event-ID": found[-2][1]}))
    assert late == found[-1:]


@pytest.mark.parametrize(("caller", "is_told"), [("site", True), ("chief", True), ("head", False)])
async def test_a_stream_tells_what_the_run_shows_of_its_progress(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caller: str, *, is_told: bool
) -> None:
    """The whole picture first, then its changes, without an id: a stream that was cut goes on after the last event.

    A lead who may not read what the run works with is told its events only.
    """
    took: list[bytes] = []
    take = router._Watched.take

    def taken(watched: router._Watched) -> bytes:
        took.append(take(watched))
        return took[-1]

    monkeypatch.setattr(router._Watched, "take", taken)
    async with an_api(tmp_path, documents=DOCUMENTS) as api:
        run_id = await begun(api)
        question = (await shown(api, run_id))["waits"][0]["question"]
        progress = api.world.tools.progress
        progress.show_snapshot(f"run:{run_id}", {"nodes": {"a": "готово"}})
        headers = {"X-API-Key": f"{caller}-0123456789abcdef", "Accept": "text/event-stream"}
        reading = asyncio.ensure_future(api.http.get(f"/runs/{run_id}/events", headers=headers))
        await until(lambda: len(took) == 1)
        progress.show_patch(f"run:{run_id}", {"nodes": {"b": "идёт"}})
        await until(lambda: len(took) == 2)
        progress.show_snapshot("run:another", {"nodes": {}})
        await api.post(f"/runs/{run_id}/answers/{question}", {"option": 0})
        found = _parse(await reading)
        pictures = [("", {"snapshot": {"nodes": {"a": "готово"}}}), ("", {"patch": {"nodes": {"b": "идёт"}}})]
        assert [(id_, data) for name, id_, data in found if name == "progress"] == (pictures if is_told else [])
        assert found[-1][0] == "end"


def _parse(answer: Any) -> list[tuple[str, str, Any]]:
    blocks = [block for block in answer.text.split("\n\n") if block and not block.startswith(":")]
    fields = [dict(line.split(": ", 1) for line in block.splitlines()) for block in blocks]
    return [(item["event"], item.get("id", ""), json.loads(item["data"])) for item in fields]


async def test_a_run_ends_for_a_token_that_is_gone(tmp_path: Path) -> None:
    """Its rights are those of the moment, as everywhere; the run of a token that was taken away fails with a sentence."""
    async with an_api(tmp_path, documents=DOCUMENTS) as api:
        gone = Actor(key="http:gone", name="gone", sees="all")
        await api.world.orchestrator.receive([start("plan", actor=gone, home="http:gone:42")])
        await api.world.idle()
        assert (await api.get("/runs", "chief")).json()["runs"] == []


async def test_a_stream_beyond_the_places_for_waiting_does_not_spin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where too many requests wait already it looks now and then, and still tells everything."""
    monkeypatch.setattr(session_events, "MAX_WAITING", 0)
    pauses: list[float] = []
    async with an_api(tmp_path, documents=DOCUMENTS) as api:
        run_id = await begun(api)

        async def pause(seconds: float) -> None:
            pauses.append(seconds)
            await api.http.post(f"/runs/{run_id}/cancel", headers={"X-API-Key": "site-0123456789abcdef"})

        monkeypatch.setattr(router, "asyncio", SimpleNamespace(sleep=pause))
        headers = {"X-API-Key": "site-0123456789abcdef", "Accept": "text/event-stream"}
        found = _parse(await api.http.get(f"/runs/{run_id}/events", headers=headers))
    assert (pauses, found[-1][2]) == ([1.0], {"status": "cancelled"})

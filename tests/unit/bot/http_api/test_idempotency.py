"""`Idempotency-Key`: a repeat gets the stored answer and never a second turn, at once, after a restart, and in another process."""

import asyncio
from pathlib import Path

import pytest

from state.sql.dialect import build_sqlite_url
from state.sql.store import open_store
from tests.postgres_kit import Server
from tests.unit.bot.http_api.chat_kit import SHOP, SITE, a_door, error_of
from tests.unit.spine_kit import raise_sum, reply


@pytest.mark.req("S004-58")
async def test_repeats_at_once_and_later_get_one_turn_and_one_answer(tmp_path: Path) -> None:
    """Ten at once and one afterwards: the model is asked once, every answer is the same to the byte."""
    async with a_door(tmp_path) as door:
        door.world.model.will(reply(raise_sum(), text="Подтвердите."))
        answers = await asyncio.gather(*(door.chat("подними сумму сделки 481", key="k-1") for _ in range(10)))
        late = await door.chat("подними сумму сделки 481", key="k-1")
        assert {answer.status_code for answer in answers} == {200}
        assert {answer.content for answer in answers} == {late.content}
        assert {answer.headers["x-trace-id"] for answer in (*answers, late)} == {late.json()["turn_id"]}
        assert len(late.json()["waiting"]) == 1
        assert len(door.world.model.prompts) == 1


@pytest.mark.req("S004-58")
async def test_the_same_key_with_another_body_is_refused(tmp_path: Path) -> None:
    """Whatever differs: the message, the user. Another token's keys are its own."""
    async with a_door(tmp_path) as door:
        assert (await door.chat("/mode", key="k-1")).status_code == 200
        assert error_of(await door.chat("/status", key="k-1")) == (422, "idempotency_mismatch")
        assert error_of(await door.chat("/mode", "43", key="k-1")) == (422, "idempotency_mismatch")
        assert (await door.chat("/status", key="k-1", token=SHOP)).status_code == 200
        for wrong in ("", " ", "a b", "x" * 256):
            answer = await door.http.post("/chat", json={"user_id": "1", "message": "/mode"}, headers=_with(wrong))
            assert error_of(answer) == (400, "invalid_idempotency_key")


@pytest.mark.req("S004-58")
async def test_a_repeat_after_a_restart_gets_the_stored_answer(tmp_path: Path) -> None:
    """From the journal alone, however much was said in between, and although its card was decided since."""
    path = build_sqlite_url(tmp_path / "kept.db")
    async with a_door(tmp_path, store=open_store(path)) as door:
        door.world.model.will(reply(raise_sum(), text="Подтвердите."))
        first = await door.chat("подними сумму сделки 481", key="k-1")
        mode = await door.chat("/mode", key="k-2")
        card = first.json()["waiting"][0]
        decision = {"decision": "approve", "fingerprint": card["fingerprint"]}
        decided = await door.http.post(f"/confirmations/{card['id']}", json=decision, headers={"X-API-Key": SITE})
        assert decided.json()["status"] == "executed"
        for _ in range(60):
            await door.chat("/status")
    async with a_door(tmp_path, store=open_store(path)) as door:
        assert (await door.chat("подними сумму сделки 481", key="k-1")).content == first.content
        assert (await door.chat("/mode", key="k-2")).content == mode.content
        assert not door.world.model.prompts


@pytest.mark.req("S004-58")
async def test_two_processes_on_one_database_work_it_once(tmp_path: Path) -> None:
    """The same key at the same moment through both doors: one turn, in whichever process holds the session; both get its answer."""
    path = build_sqlite_url(tmp_path / "shared.db")
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    async with a_door(tmp_path / "one", store=open_store(path)) as one, a_door(tmp_path / "two", store=open_store(path)) as two:
        said = reply(text="Один раз.")
        one.world.model.will(said)
        two.world.model.will(said)
        answers = await asyncio.gather(one.chat("привет", key="k-1"), two.chat("привет", key="k-1"))
        assert [answer.status_code for answer in answers] == [200, 200]
        assert answers[0].content == answers[1].content
        assert len(one.world.model.prompts) + len(two.world.model.prompts) == 1
        one.world.model.script.clear()
        two.world.model.script.clear()


@pytest.mark.req("S004-58")
async def test_two_processes_on_a_server_work_each_key_once(postgres: Server, tmp_path: Path) -> None:
    """A hundred keys at once through both doors, in opposite orders: whoever stores first waits for nobody for ever, each is one turn."""
    url = postgres.fresh()
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    keys = [f"k-{number}" for number in range(100)]
    try:
        async with a_door(tmp_path / "one", store=open_store(url)) as one, a_door(tmp_path / "two", store=open_store(url)) as two:
            calls = [one.chat("/mode", key, key=key) for key in keys] + [two.chat("/mode", key, key=key) for key in reversed(keys)]
            answers = await asyncio.gather(*calls)
            assert {answer.status_code for answer in answers} == {200}
            by_key = [{answers[at].content, answers[199 - at].content} for at in range(100)]
            assert {len(told) for told in by_key} == {1}
            store = one.world.sql
            assert sum(event.type == "AnswerGiven" for key in keys for event in store.read_events(f"session:http:site:{key}")) == 100
    finally:
        postgres.drop(url)


def _with(key: str) -> dict[str, str]:
    return {"X-API-Key": SHOP, "Idempotency-Key": key}

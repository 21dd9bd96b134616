"""`POST /chat`: who may, what is answered, what waits; broken bodies; overrides; the same as events (S004-58 … S004-67, X10, A6, M4)."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, get_args

import pytest

from bot.http_api.chat.answers import State
from bot.http_api.chat.request_body import LONGEST_MESSAGE, LONGEST_USER, MAX_BODY
from state.events.conversation import TurnFinished
from tests.unit.bot.http_api.chat_kit import CHIEF, SHOP, SITE, Door, a_door, error_of
from tests.unit.spine_kit import raise_sum, reply, step, until


@pytest.mark.req("S004-58", "S004-59", "S004-64")
async def test_a_message_is_answered_with_text(door: Door) -> None:
    """200, `assistant` is the model's words, and the header names the turn."""
    door.world.model.will(reply(text="Здравствуйте!"))
    answer = await door.chat("привет")
    body = answer.json()
    assert answer.status_code == 200
    assert body["assistant"] == "Здравствуйте!"
    assert (body["session"], body["state"], body["waiting"], body["done"]) == ("http:site:42", "answered", [], [])
    assert answer.headers["x-trace-id"] == body["turn_id"]
    assert door.world.sql.list_due_outbox("http", door.world.clock.now()) == []


@pytest.mark.req("S004-61", "S004-63", "S004-X10")
@pytest.mark.parametrize("token", ["", "wrong-0123456789abcdef", SITE[:-1], SITE + "x", "é" * 20])
async def test_without_a_valid_token_it_is_401(door: Door, token: str) -> None:
    headers = {"X-API-Key": token.encode()} if token else {}
    answer = await door.http.post("/chat", content=b"{broken", headers=headers)
    assert error_of(answer) == (401, "unauthorized")


BROKEN = [
    (b"", "invalid_json"),
    (b"{", "invalid_json"),
    (b"[]", "invalid_json"),
    (b'"text"', "invalid_json"),
    (b"\xff\xfe", "invalid_json"),
    (b'{"user_id": NaN, "message": "x"}', "invalid_json"),
    (b"[" * 100_000, "invalid_json"),
    (b'{"user_id": "42", "message": "x", "message": "y"}', "invalid_json"),
    (b'{"user_id": "41", "message": "x", "user_id": "42"}', "invalid_json"),
    (b'{"message": "x"}', "missing_user_id"),
    (b'{"user_id": null, "message": "x"}', "missing_user_id"),
    (b'{"user_id": "42"}', "missing_message"),
    (b'{"user_id": 42, "message": "x"}', "invalid_type"),
    (b'{"user_id": "42", "message": ["x"]}', "invalid_type"),
    (b'{"user_id": "", "message": "x"}', "invalid_length"),
    (b'{"user_id": " ", "message": "x"}', "invalid_length"),
    (b'{"user_id": "42", "message": ""}', "invalid_length"),
    (b'{"user_id": "42", "message": " \\n "}', "invalid_length"),
    (b'{"user_id": "42", "message": "\\u200b\\ufeff"}', "invalid_length"),
    (b'{"user_id": "a\\u0000b", "message": "x"}', "invalid_user_id"),
    (b'{"user_id": "%s", "message": "x"}' % (b"a" * (LONGEST_USER + 1)), "invalid_length"),
    (b'{"user_id": "42", "message": "%s"}' % (b"a" * (LONGEST_MESSAGE + 1)), "invalid_length"),
    (b'{"user_id": "42", "message": "x", "mode": "shadow"}', "overrides_off"),
    (b'{"user_id": "42", "message": "x", "state_dir": "/tmp"}', "overrides_off"),
]


@pytest.mark.req("S004-65", "S004-X10", "S004-M4")
@pytest.mark.parametrize(("body", "code"), BROKEN, ids=[f"{code}-{number}" for number, (_, code) in enumerate(BROKEN)])
async def test_a_body_that_is_none_is_400_with_a_sentence_and_no_turn(door: Door, body: bytes, code: str) -> None:
    answer = await door.http.post("/chat", content=body, headers={"X-API-Key": SITE})
    assert error_of(answer) == (400, code)
    assert door.world.sql.list_streams() == []


@pytest.mark.parametrize("length", [{"Content-Length": str(MAX_BODY * 10)}, {}], ids=["announced", "in pieces"])
async def test_a_huge_body_is_refused_before_it_is_read(door: Door, length: dict[str, str]) -> None:
    pieces = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal pieces
        while pieces < 1000:
            pieces += 1
            yield b"x" * 10_000

    answer = await door.http.post("/chat", content=endless(), headers={"X-API-Key": SITE, **length})
    assert error_of(answer) == (413, "too_large")


async def test_an_address_that_is_none_and_a_method_that_is_none(door: Door) -> None:
    """404 and 405 in the one form, with a token and without."""
    assert error_of(await door.http.get("/nothing")) == (404, "endpoint_not_found")
    answer = await door.http.get("/chat")
    assert error_of(answer) == (405, "method_not_allowed")
    assert answer.headers["allow"] == "POST"


@pytest.mark.req("S004-66")
async def test_what_nobody_foresaw_is_500_and_reveals_nothing(door: Door, caplog: pytest.LogCaptureFixture) -> None:
    door.world.model.will(RuntimeError("secret-inside /etc/passwd"))
    answer = await door.chat("привет")
    assert error_of(answer) == (500, "internal_error")
    assert "secret" not in answer.text
    assert "turn failed" in caplog.text

    def falls(*_: Any) -> Any:
        raise RuntimeError("secret-inside")

    door.api.mailbox.open_ticket = falls  # type: ignore[method-assign]
    answer = await door.chat("/mode")
    assert error_of(answer) == (500, "internal_error")
    assert "secret" not in answer.text
    assert "a request failed" in caplog.text


@pytest.mark.req("S004-56", "S004-58")
async def test_a_change_waits_with_before_and_after(door: Door) -> None:
    """The card comes as data: what changes from what to what, the fingerprint, until when; nothing is written."""
    door.world.model.will(reply(raise_sum(), text="Подтвердите."))
    body = (await door.chat("подними сумму сделки 481 до 1200000")).json()
    card = body["waiting"][0]
    row = card["rows"][0]
    assert body["state"] == "waiting"
    assert [row[name].replace("\xa0", " ") for name in ("name", "before", "after")] == ["Сумма", "1 000 000 ₽", "1 200 000 ₽"]
    assert card["fingerprint"]
    assert card["expires_at"] > card["asked_at"]
    assert card["may_approve"]
    assert not door.world.portal.ledger
    again = (await door.chat("/pending")).json()
    assert [item["fingerprint"] for item in again["waiting"]] == [card["fingerprint"]]


@pytest.mark.req("S004-64")
async def test_what_was_done_at_once_is_told_with_its_record(door: Door) -> None:
    door.world.model.will(
        reply(step("crm.timeline.comment.add", {"fields": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "COMMENT": "ок"}})), reply()
    )
    body = (await door.chat("добавь к сделке 481 комментарий ок")).json()
    assert [item["method"] for item in body["done"]] == ["crm.timeline.comment.add"], body
    (made,) = body["done"]
    assert made["text"] == "Добавлен комментарий к сделке «Ромашка» №481 — «ок»"
    assert made["url"].endswith("/crm/deal/details/481/")
    assert body["assistant"].startswith("Добавлен комментарий к сделке «Ромашка» №481")
    assert body["assistant"].endswith("«ок»")
    assert body["state"] == "answered"


@pytest.mark.req("S004-57")
async def test_two_tokens_and_two_users_never_share_a_session(door: Door) -> None:
    """Ids that look alike after encoding stay apart, and one token's conversation is not another's."""
    sessions = []
    for token, user in ((SITE, "a:b"), (SITE, "a%3Ab"), (SITE, "a/b"), (SITE, ".."), (SHOP, "a:b"), (SITE, "Ёж")):
        sessions.append((await door.chat("/mode", user, token=token)).json()["session"])
    assert len(set(sessions)) == len(sessions)
    assert all(session.count(":") == 2 and session.isascii() for session in sessions)


@pytest.mark.req("S004-57")
async def test_the_highest_mode_is_that_of_the_token(door: Door) -> None:
    assert "осторожный" in (await door.chat("/mode", token=SHOP)).json()["assistant"]


@pytest.mark.req("S004-60", "S004-A6")
async def test_overrides_only_lower_and_stay_inside(tmp_path: Path) -> None:
    """With HTTP_ALLOW_OVERRIDES a lower mode holds for that request; a higher one and other directories are refused."""
    (tmp_path / "state").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "state" / "link").symlink_to(tmp_path / "elsewhere")
    async with a_door(tmp_path, http_allow_overrides=True) as door:
        assert "теневой" in (await door.chat("/mode", mode="shadow")).json()["assistant"]
        for wrong, code in (
            ({"mode": "FULL"}, "invalid_mode"),
            ({"state_dir": "../elsewhere"}, "directory_outside"),
            ({"state_dir": "link"}, "directory_outside"),
            ({"state_dir": str(tmp_path)}, "directory_outside"),
            ({"log_dir": "/etc"}, "directory_outside"),
            ({"state_dir": "a\x00b"}, "invalid_directory"),
            ({"log_dir": "inside"}, "directory_not_supported"),
        ):
            assert error_of(await door.chat("/mode", **wrong)) == (400, code), wrong
        assert error_of(await door.chat("/mode", token=SHOP, mode="full")) == (400, "mode_too_high")
        same = {"state_dir": str(tmp_path / "state"), "log_dir": "."}
        assert (await door.chat("/mode", **same)).status_code == 200
        door.world.model.will(reply(raise_sum(), text="План."))
        planned = (await door.chat("подними сумму сделки 481", mode="shadow")).json()
        assert (planned["state"], planned["waiting"]) == ("planned", [])
    assert not door.world.portal.ledger


async def test_a_choice_that_was_offered_is_sent_back(door: Door) -> None:
    """A stale one is answered with a sentence, never taken for a request to the model."""
    body = (await door.chat("0123456789abcdef:1")).json()
    assert body["assistant"]
    assert not door.world.model.prompts


@pytest.mark.req("S004-58")
async def test_the_same_as_events(door: Door) -> None:
    """Deltas that add up to the answer, the card, then final, which is what the answer in one piece would be."""
    door.world.model.will(reply(raise_sum(), text="Подниму сумму, подтвердите, пожалуйста."))
    told = await door.events("подними сумму сделки 481 до 1200000")
    names = [name for name, _, _ in told]
    said = ""
    for name, _, data in told:
        if name == "delta":
            said = said[: data["at"]] + data["text"]
    final = told[-1][2]
    assert names[-2:] == ["card", "final"]
    assert final["assistant"].startswith(said)
    assert final["waiting"][0] == told[-2][2]
    assert [identity for _, identity, _ in told] == [f"{final['turn_id']}:{number}" for number in range(1, len(told) + 1)]


async def test_a_failed_turn_ends_the_stream_with_an_error(door: Door) -> None:
    door.world.model.will(RuntimeError("secret-inside"))
    told = await door.events("привет")
    assert [(name, data["code"]) for name, _, data in told] == [("error", "internal_error")]


async def test_a_turn_that_takes_long_is_202_and_can_be_asked_for_again(tmp_path: Path) -> None:
    """Nothing is lost: the same key brings the whole answer, and the turn ran once."""
    async with a_door(tmp_path, http_answer_within="1s") as door:
        door.world.model.gate = asyncio.Event()
        door.world.model.will(reply(text="Долго думал."))
        first = await door.chat("подумай", key="k-1")
        assert (first.status_code, first.json()["state"]) == (202, "working")
        assert first.json()["assistant"]
        door.world.model.gate.set()
        second = await door.chat("подумай", key="k-1")
        assert (second.status_code, second.json()["assistant"]) == (200, "Долго думал.")
        assert second.json()["turn_id"] == first.json()["turn_id"]


async def test_who_goes_away_leaves_the_turn_running(door: Door) -> None:
    door.world.model.gate = asyncio.Event()
    door.world.model.will(reply(text="Подумал."))
    asking = asyncio.ensure_future(door.chat("сделай", key="k-2"))
    await until(lambda: bool(door.world.model.prompts))
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    door.world.model.gate.set()
    assert (await door.chat("сделай", key="k-2")).json()["assistant"] == "Подумал."
    assert door.api.mailbox._tickets == {}


@pytest.mark.long
async def test_an_admin_token_is_described_nowhere(door: Door) -> None:
    """The description names no token; every address of it says how it refuses."""
    description = (await door.http.get("/openapi.json")).json()
    page = await door.http.get("/docs")
    assert "/chat" in description["paths"]
    assert "http://" not in page.text
    assert "https://" not in page.text
    assert "<script" not in page.text
    for secret in (SITE, SHOP, CHIEF):
        assert secret not in page.text + str(description)
    for path, operations in description["paths"].items():
        for verb, operation in operations.items():
            assert {"401", "429"} <= operation["responses"].keys(), (verb, path)


def test_every_way_in_which_a_turn_ends_is_a_state_of_the_answer() -> None:
    """An end that the answer cannot name would be an internal error for the caller, as a used-up budget was."""
    assert set(get_args(TurnFinished.model_fields["reason"].annotation)) <= set(get_args(State))


async def test_markdown_of_the_model_is_plain_words_in_the_answer_and_its_stream(door: Door) -> None:
    """A site shows the text as it comes: signs of markup would stand in it."""
    door.world.model.will(reply(text="**Итог**\n- `Ромашка`: 5*3 = 15\n- [жми](https://evil.example/?d=1)"))
    told = await door.events("что там?")
    said = ""
    for name, _, data in told:
        if name == "delta":
            said = said[: data["at"]] + data["text"]
    assert told[-1][2]["assistant"] == said == "Итог\n• Ромашка: 5*3 = 15\n• жми ⟨ссылка убрана⟩"

"""What shows while a turn goes on: never faster than allowed, never after the answer, never the answer's place (facts: telegram §4, §5)."""

import asyncio
from typing import Any

import pytest

from bot.telegram.outgoing.progress import DRAFT_AGAIN, DRAFT_EVERY, SILENCE_LIMIT
from orchestrator.domain.outputs import Notice, Reply
from orchestrator.sessions import outbox
from tests.unit.bot.telegram.door_kit import NOW, refused
from tests.unit.bot.telegram.outgoing.delivery_kit import CHAT, GROUP, OTHER, STRICT, Post, posting, text_row
from tests.unit.spine_kit import until

BEGUN = Notice(code="turn-begun", args={"turn": "t1"})
NO_DRAFTS = refused(400, "Bad Request: TEXTDRAFT_PEER_INVALID")
FOUND: dict[str, Any] = {"turn": "t1", "number": 1, "verb": "list", "entity": "deal", "state": "done"}
CHANGING: dict[str, Any] = {"turn": "t1", "number": 2, "verb": "update", "entity": "deal", "title": "Ромашка", "state": "running"}


def _drafts(post: Post, chat: int = 1007) -> list[str]:
    return [body.get("text", "") for body in post.wire.calls("sendMessageDraft") if body["chat_id"] == chat]


async def _shown(post: Post, count: int, method: str = "sendMessageDraft") -> list[dict[str, Any]]:
    await until(lambda: len(post.wire.calls(method)) >= count)
    return post.wire.calls(method)


async def _calm() -> None:
    """Whatever was going to be called has been."""
    for _ in range(30):
        await asyncio.sleep(0)


async def test_a_request_is_seen_at_once(post: Post) -> None:
    """30 to 60 s of silence (claudeclaw#9): a sign within half a second, before anybody works on it."""
    await _calm()
    post.delivery.progress.show_typing(f"{GROUP}:5")
    (typing,) = await _shown(post, 1, "sendChatAction")
    assert (typing["chat_id"], typing["message_thread_id"], typing["action"]) == (-100123, 5, "typing")


async def test_a_draft_streams_the_answer_at_its_pace_and_can_be_stopped(post: Post) -> None:
    """Hundreds of pieces, few calls, one draft id a turn; the words of the answer only."""
    await _calm()
    await post.delivery.report_partial(CHAT, BEGUN)
    first = (await _shown(post, 1))[0]
    assert first.get("text", "") == ""
    assert first["can_stop"] is True
    for number in range(200):
        await post.delivery.report_partial(CHAT, "слово " * number)
    await _calm()
    assert len(_drafts(post)) == 1
    post.later(DRAFT_EVERY)
    await until(lambda: _drafts(post)[-1] == ("слово " * 199).rstrip())
    assert len(_drafts(post)) == 2
    assert len({body["draft_id"] for body in post.wire.calls("sendMessageDraft")}) == 1


async def test_a_draft_is_shown_again_before_it_fades_and_another_turn_has_another_draft(post: Post) -> None:
    """A preview lives 30 seconds; while the model is silent it must not vanish."""
    await _calm()
    await post.delivery.report_partial(CHAT, BEGUN)
    await _shown(post, 1)
    post.later(DRAFT_AGAIN - 1)
    await _calm()
    assert len(_drafts(post)) == 1
    post.later(1)
    await _shown(post, 2)
    await post.delivery.report_partial(CHAT, Notice(code="turn-begun", args={"turn": "t2"}))
    calls = await _shown(post, 3)
    assert calls[0]["draft_id"] == calls[1]["draft_id"] != calls[2]["draft_id"]


async def test_steps_show_with_ticks_as_code_knows_them(post: Post) -> None:
    """«✓ нашёл сделки … ⏳ меняю сделку «Ромашка»», never THOUGHT or ACTION; the same step changes its line in place."""
    await _calm()
    for said in (BEGUN, Notice(code="step", args=FOUND), Notice(code="step", args=CHANGING), "Уже почти"):
        await post.delivery.report_partial(CHAT, said)
    await until(lambda: _drafts(post) == ["✓ нашёл сделки\n⏳ меняю сделку «Ромашка»\n\nУже почти"])
    await post.delivery.report_partial(CHAT, Notice(code="step", args={**CHANGING, "state": "waiting"}))
    post.later(1)
    await until(lambda: "✋ меняю сделку «Ромашка» — жду вашего решения\n\n" in _drafts(post)[-1])


async def test_how_far_a_count_is_shows_in_the_persons_language(post: Post) -> None:
    notice = Notice(code="counting", args={"done": 500, "total": 2340})
    await _calm()
    await post.delivery.report_partial(CHAT, notice)
    await post.delivery.report_partial(OTHER, notice)
    await until(lambda: bool(_drafts(post)) and bool(_drafts(post, 1006)))
    assert (_drafts(post), _drafts(post, 1006)) == (["Считаю: 500 из 2\xa0340…"], ["Counting: 500 of 2,340…"])


async def test_an_address_in_an_unfinished_answer_leads_nowhere(post: Post) -> None:
    """Ways out are closed in the draft as in the answer."""
    await _calm()
    await post.delivery.report_partial(CHAT, "см. https://evil.example/?d=481")
    await until(lambda: _drafts(post) == ["см. ⟨ссылка убрана⟩"])


async def test_another_message_takes_the_draft_away_and_it_comes_again(post: Post) -> None:
    """The draft vanishes when a message is sent (hermes-agent#17179): what was said so far is shown again, whole."""
    await _calm()
    await post.delivery.report_partial(CHAT, BEGUN)
    await post.delivery.report_partial(CHAT, "Смотрю")
    await _shown(post, 1)
    await post.put(outbox.build_reply_row(CHAT, Reply(notices=(Notice(code="nothing-to-stop"),)), NOW))
    await post.until_states("sent")
    await _shown(post, 2)
    assert _drafts(post)[-1] == "Смотрю"


async def test_nothing_shows_after_the_answer_which_waits_for_what_is_on_its_way(post: Post) -> None:
    """A draft that overtakes the answer would stand under it for half a minute."""
    await _calm()
    gate = asyncio.Event()
    post.wire.gates.append((lambda name, _: name == "sendMessageDraft", gate))
    await post.delivery.report_partial(CHAT, BEGUN)
    await _shown(post, 1)
    await post.put(text_row("Готово", key="turn:t1"))
    await _calm()
    assert post.texts() == [], "the answer overtook its draft"
    gate.set()
    await post.until_states("sent")
    post.later(60)
    await _calm()
    assert len(_drafts(post)) == 1


@pytest.mark.parametrize(
    ("session", "refusal"),
    [(GROUP, NO_DRAFTS), (CHAT, NO_DRAFTS), (CHAT, refused(404, "Not Found"))],
    ids=["group", "drafts refused", "a server older than drafts"],
)
async def test_without_drafts_one_placeholder_becomes_the_answer(session: str, refusal: Any) -> None:
    """One message for life, edited no faster than 3 s in a group; the answer replaces it, also after a crash of the process."""
    chat = int(session.split(":")[1])
    async with posting(STRICT) as post:
        await _calm()
        if session == CHAT:
            post.wire.will(refusal)
        await post.delivery.report_partial(session, BEGUN)
        await _calm()
        assert post.texts(chat) == [], "a turn of a moment leaves a trace"
        post.later(1.5)
        await until(lambda: post.texts(chat) == ["Работаю над запросом…"])
        await until(lambda: post.delivery.progress._views[session].call_task is None)  # its number is noted
        for number in range(50):
            await post.delivery.report_partial(session, f"слово {number}")
            post.later(0.1)
            await _calm()
        edits = post.wire.calls("editMessageText")
        assert 1 <= len(edits) <= (2 if chat < 0 else 4)
        for shown in (post.wire.calls("sendMessage")[0], *edits):  # an edit without buttons would take the way to stop away
            assert shown["reply_markup"]["inline_keyboard"][0][0]["callback_data"] == "s1"
        if session == GROUP:
            await post.halt()
            async with posting(after=post) as later:
                await later.put(text_row("Готово", session, key="turn:t1"))
                await later.until_states("sent")
                (edit,) = later.wire.calls("editMessageText")
                assert (edit["message_id"], edit["text"]) == (501, "Готово")
                assert "reply_markup" not in edit
                assert later.wire.calls("sendMessage") == []
            return
        await post.put(text_row("Готово", session, key="turn:t1"))
        await post.until_states("sent")
        assert post.wire.calls("editMessageText")[-1]["text"] == "Готово"
        assert len(post.wire.calls("sendMessage")) == 1


async def test_the_answer_wins_and_waits_out_the_flood_that_progress_met() -> None:
    """500 ms edits, 429 for two minutes, the answer lost (lettabot#433, anything-llm#5447, altryne#52): progress freezes, the answer comes."""
    async with posting(STRICT) as post:
        await _calm()
        await post.delivery.report_partial(GROUP, BEGUN)
        post.later(2)
        await until(lambda: len(post.texts(-100123)) == 1)
        post.wire.will(refused(429, "Too Many Requests: retry after 126", retry_after=126), when=lambda name, _: name == "editMessageText")
        await post.delivery.report_partial(GROUP, "почти")
        post.later(3)
        await _shown(post, 1, "editMessageText")
        for _ in range(5):
            await post.delivery.report_partial(GROUP, "ещё")
            post.later(4)
            await _calm()
        assert len(post.wire.calls("editMessageText")) == 1, "progress went on against the flood wait"
        await post.put(text_row("Готово", GROUP, key="turn:t1"))
        await until(lambda: not post.delivery.progress._views)
        assert len(post.wire.calls("editMessageText")) == 1
        post.later(110)
        await post.until_states("sent")
        assert [edit["text"] for edit in post.wire.calls("editMessageText")] == ["почти", "Готово"]


async def test_a_long_answer_begins_in_the_placeholder(post: Post) -> None:
    await _calm()
    await post.delivery.report_partial(GROUP, BEGUN)
    post.later(2)
    await until(lambda: len(post.texts(-100123)) == 1)
    await post.put(text_row("а" * 3000 + "\n" + "б" * 3000, GROUP, key="turn:t1"))
    await post.until_states("sent")
    assert [text[:1] for text in post.texts(-100123)] == ["Р", "а", "б"]
    assert post.wire.calls("editMessageText")[0]["message_id"] == 501


async def test_the_answer_to_a_question_of_an_earlier_turn_ends_no_show(post: Post) -> None:
    """The question loses its buttons when the next turn begins, in a row with the key of the turn that asked it."""
    await _calm()
    await post.delivery.report_partial(CHAT, BEGUN)
    await _shown(post, 1)
    await post.put(text_row("Какую? ✓ Ромашка", key="turn:t0"))
    await post.until_states("sent")
    await post.delivery.report_partial(CHAT, "Смотрю")
    post.later(1)
    await until(lambda: _drafts(post)[-1] == "Смотрю")


async def test_a_late_answer_finds_its_placeholder_while_the_next_turn_has_its_own(post: Post) -> None:
    await _calm()
    for turn in ("t1", "t2"):
        await post.delivery.report_partial(GROUP, Notice(code="turn-begun", args={"turn": turn}))
        post.later(2)
        await until(lambda turn=turn: len(post.texts(-100123)) == int(turn[1]))  # type: ignore[misc]
        while not await post.delivery.progress._parts.find_placeholder(GROUP, turn):  # noqa: ASYNC110 - shown, and not noted yet
            await asyncio.sleep(0.01)
    await post.put(text_row("первый", GROUP, key="turn:t1"), text_row("второй", GROUP, key="turn:t2"))
    await post.until_states("sent", "sent")
    assert [(edit["message_id"], edit["text"]) for edit in post.wire.calls("editMessageText")] == [(501, "первый"), (502, "второй")]


async def test_a_turn_that_runs_again_after_a_crash_has_one_placeholder(post: Post) -> None:
    await _calm()
    await post.delivery.report_partial(GROUP, BEGUN)
    post.later(2)
    await until(lambda: len(post.texts(-100123)) == 1)
    await until(lambda: post.delivery.progress._views[GROUP].call_task is None)  # its number is noted
    await post.halt()
    async with posting(after=post) as later:
        await _calm()
        for _ in range(3):
            await later.delivery.report_partial(GROUP, BEGUN if not later.clock.now().second else "почти")
            later.later(4)
            await asyncio.sleep(0.01)
        await _shown(later, 1, "editMessageText")
        assert later.wire.calls("sendMessage") == []


async def test_words_that_cannot_be_made_cost_nobody_anything(post: Post) -> None:
    await _calm()
    await post.delivery.report_partial(CHAT, Notice(code="counting", args={"done": object(), "total": [1]}))
    await post.delivery.report_partial(OTHER, Notice(code="step", args={"number": 1, "title": "x", "url": None, "verb": []}))
    await post.delivery.report_partial(GROUP, "живой")
    await _shown(post, 1, "sendChatAction")


async def test_many_messages_at_once_are_one_sign_of_life(post: Post) -> None:
    await _calm()
    for _ in range(20):
        post.delivery.progress.show_typing(CHAT)
    await _shown(post, 1, "sendChatAction")
    post.later(5)
    post.delivery.progress.show_typing(CHAT)
    await _shown(post, 2, "sendChatAction")
    assert len(post.wire.calls("sendChatAction")) == 2


async def test_a_turn_of_which_nobody_hears_is_taken_for_dead(post: Post) -> None:
    """A stream that stalls for ever (term-llm#38): the sign of life ends, and the next turn has its own."""
    await _calm()
    await post.delivery.report_partial(GROUP, "слово")
    await _shown(post, 1, "sendChatAction")
    for _ in range(3):
        post.later(SILENCE_LIMIT / 2)
        await _calm()
    before = len(post.wire.calls("sendChatAction"))
    post.later(10)
    await _calm()
    assert len(post.wire.calls("sendChatAction")) == before
    await post.delivery.report_partial(GROUP, BEGUN)
    await _shown(post, before + 1, "sendChatAction")


async def test_a_turn_that_is_over_shows_nothing_more(post: Post) -> None:
    """Also where the answer is delivered by another process."""
    await _calm()
    await post.delivery.report_partial(CHAT, BEGUN)
    await _shown(post, 1)
    await post.delivery.report_partial(CHAT, Notice(code="turn-over", args={"turn": "t1"}))
    post.later(60)
    await _calm()
    assert len(_drafts(post)) == 1


async def test_two_hundred_turns_share_the_drafts_there_are(post: Post) -> None:
    """Drafts have a budget of their own: not all are shown each second, and answers never wait for them."""
    await _calm()
    for number in range(200):
        await post.delivery.report_partial(f"tg:{5000 + number}", "слово")
    await _calm()
    assert len(post.wire.calls("sendMessageDraft")) <= 10
    await post.put(text_row("Готово", "tg:5199", key="turn:t1"))
    await post.until_states("sent")


def _run(said: str | Notice, run: str = "run:1") -> Notice:
    told = said if isinstance(said, str) else said.model_dump(mode="json")
    return Notice(code="run-shows", args={"run": run, "said": told})


async def test_a_turn_comes_before_a_run_and_the_first_run_before_the_next(post: Post) -> None:
    """One draft at a time: what a run shows waits until the turn of the conversation is over, and never changes the turn's text."""
    await _calm()
    await post.delivery.report_partial(CHAT, _run("считаю"))
    (first,) = await _shown(post, 1)
    assert (first["text"], first["can_stop"]) == ("считаю", False)
    await post.delivery.report_partial(CHAT, _run("другой", run="run:2"))
    await post.delivery.report_partial(CHAT, BEGUN)
    await post.delivery.report_partial(CHAT, "отвечаю")
    await post.delivery.report_partial(CHAT, _run("считаю дальше"))
    await post.delivery.report_partial(CHAT, Notice(code="run-shown", args={"run": "run:1"}))
    post.later(DRAFT_EVERY)
    await until(lambda: _drafts(post)[-1] == "отвечаю")
    await post.delivery.report_partial(CHAT, Notice(code="turn-over", args={"turn": "t1"}))
    await post.delivery.report_partial(CHAT, _run("досчитал"))
    await until(lambda: _drafts(post)[-1] == "досчитал")
    assert {"другой", "считаю дальше"}.isdisjoint(_drafts(post))
    ids = [body["draft_id"] for body in post.wire.calls("sendMessageDraft")]
    assert ids[0] == ids[-1] != ids[1]


async def test_what_a_run_shows_ends_with_it_and_takes_no_answer_its_place(post: Post) -> None:
    """After its end nothing is renewed; the answer of a turn is sent and replaces nothing of a run."""
    await _calm()
    await post.delivery.report_partial(CHAT, _run("считаю"))
    await _shown(post, 1)
    await post.put(text_row("Ответ", CHAT, key="turn:t1"))
    await post.until_states("sent")
    await until(lambda: len(_drafts(post)) == 2)  # the message took the draft away
    await post.delivery.report_partial(CHAT, Notice(code="run-shown", args={"run": "run:1"}))
    post.later(DRAFT_AGAIN)
    await _calm()
    assert _drafts(post) == ["считаю", "считаю"]


async def test_in_a_group_a_run_only_types(post: Post) -> None:
    """Nobody's answer would replace a placeholder of a run, so there is none."""
    await _calm()
    await post.delivery.report_partial(GROUP, _run("считаю"))
    await _shown(post, 1, "sendChatAction")
    post.later(30)
    await _shown(post, 2, "sendChatAction")
    assert post.texts(-100123) == []
    assert post.wire.calls("sendMessageDraft") == []


async def test_a_turn_inside_of_a_run_shows_its_steps_and_links_stay_out(post: Post) -> None:
    await _calm()
    await post.delivery.report_partial(CHAT, _run(Notice(code="step", args=FOUND)))
    await _shown(post, 1)
    await post.delivery.report_partial(CHAT, _run("см. https://evil.example/x"))
    post.later(DRAFT_EVERY)
    await _shown(post, 2)
    assert "✓" in _drafts(post)[0]
    assert "evil.example" not in _drafts(post)[1]

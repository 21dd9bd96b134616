"""Access is asked again where a message leaves: between its pieces, for a press that waits for its answer, for a lead who is none any more."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from bot.access.access import Person
from bot.access.access_file import FileNews
from bot.telegram.outgoing.chats import NO_ACCESS, NO_LEAD
from bot.telegram.outgoing.delivery import ACCESS_RETRY, GIVE_UP_AFTER
from orchestrator.domain.outputs import Notice, Reply, Text, build_reply
from orchestrator.features.people import screens
from orchestrator.features.people.registry import STREAM
from orchestrator.sessions import outbox
from orchestrator.sessions.session import open_session
from state.events.people import InvitationRefused
from state.journal.store import OutboxRow
from state.sql.database import Statement
from tests.unit.bot.telegram.door_kit import ANNA, NOW, VERA
from tests.unit.bot.telegram.outgoing.delivery_kit import CHAT, CROWD, OTHER, Post, card_row, text_row, words
from tests.unit.spine_kit import until


def listed(post: Post, *people: int, **more: Any) -> None:
    """From now on the file names these."""
    kept = tuple(Person(telegram_id=number, name="Имя", **more) for number in people)
    post.access.apply_file_news(FileNews(content="another", people=kept))


def notes(post: Post) -> list[tuple[str, str]]:
    return [(status, note) for status, _, note in post.rows()]


async def test_a_long_answer_ends_where_access_ended(post: Post) -> None:
    """The piece that is on the wire is shown; none follows it."""
    gate = asyncio.Event()
    post.wire.gates.append((words("2222"), gate))
    await post.put(text_row("\n\n".join(str(number) * 3000 for number in range(1, 4)), key="turn:t1"))
    await until(lambda: len(post.texts()) == 2)
    listed(post, VERA)
    gate.set()
    await post.until_states("failed")
    assert notes(post) == [("failed", NO_ACCESS)]
    assert [text[0] for text in post.texts()] == ["1", "2"]


@pytest.mark.parametrize("removed", [False, True])
async def test_access_is_asked_after_the_wait_for_a_turn(post: Post, *, removed: bool) -> None:
    """A row may wait in the pacer for as long as Telegram named: what held when it came there does not count."""
    post.pacer.hold(ANNA, 30)
    await post.put(text_row("сумма 120 000"))
    await until(lambda: bool(post.delivery._tasks))
    if removed:
        listed(post, VERA)
    post.later(30)
    await post.until_states("failed" if removed else "sent")
    assert post.texts() == ([] if removed else ["сумма 120 000"])


async def test_a_press_is_answered_without_what_came_of_it(post: Post) -> None:
    done = Notice(code="card-approved-toast", args={})
    listed(post, VERA)
    await post.put(outbox.build_toast_row(CHAT, "cb1", done, NOW))
    await post.until_states("sent")
    (answer,) = post.wire.calls("answerCallbackQuery")
    assert answer["text"] == "У вас больше нет доступа. Обратитесь к администратору."


@pytest.mark.parametrize(
    ("role", "row", "shown"),
    [
        ("manager", card_row(home="tg:1", lead=True), False),
        ("lead", card_row(home="tg:1", lead=True), True),
        ("admin", card_row(home="tg:1", lead=True), True),
        ("manager", card_row(), True),
        ("manager", card_row("denied", home="tg:1", lead=True), False),
    ],
    ids=["a lead no more", "a lead", "an administrator", "one's own", "the end of one that was never seen"],
)
async def test_cards_of_others_are_for_those_who_decide_now(post: Post, role: Any, row: OutboxRow, shown: bool) -> None:  # noqa: FBT001 - a column of the table
    listed(post, ANNA, role=role)
    await post.put(row)
    await post.until_states("sent" if shown else "failed")
    assert bool(post.texts()) == shown
    assert shown or notes(post) == [("failed", NO_LEAD)]


async def test_a_card_that_a_lead_has_seen_is_ended_there(post: Post) -> None:
    """Its buttons go although the person is no lead any more."""
    listed(post, ANNA, role="lead")
    await post.put(card_row(home="tg:1", lead=True))
    await post.until_states("sent")
    listed(post, ANNA)
    await post.put(card_row("denied", home="tg:1", lead=True))
    await post.until_states("sent", "sent")
    assert len(post.wire.calls("editMessageText")) == 1


async def test_a_deputy_of_today_reads_the_cards_of_their_lead(post: Post) -> None:
    lead = Person(telegram_id=VERA, name="Вера", role="lead", away=NOW.date(), deputy=ANNA)
    post.access.apply_file_news(FileNews(content="another", people=(lead, Person(telegram_id=ANNA, name="Анна"))))
    await post.put(card_row(home="tg:1", lead=True))
    await post.until_states("sent")


async def test_a_card_that_never_stood_in_the_chat_is_not_closed_there(post: Post) -> None:
    """Its end would show what the person has not seen yet."""
    listed(post, VERA)
    await post.put(card_row("superseded", why="no-access"))
    await post.until_states("failed")


async def test_a_registry_that_cannot_be_read_closes_nothing_for_a_day(post: Post) -> None:
    """The row waits for a look that succeeds; one that never comes leaves the person a stranger."""
    session = await open_session(post.store, post.clock, "access", "one")
    await session.commit(InvitationRefused(person=OTHER, why="wrong"), actor="system")
    await session.close()
    _damage(post, "{")
    listed(post, VERA)
    await post.put(text_row("итоги дня"))
    await post.until_tried(0, 1)
    assert notes(post) == [("new", "nobody can tell who has access")]
    post.later(ACCESS_RETRY.total_seconds())
    await post.until_tried(0, 2)
    assert notes(post)[0][0] == "new"
    post.later((GIVE_UP_AFTER + timedelta(minutes=1)).total_seconds())
    await post.until_states("failed")
    assert notes(post) == [("failed", NO_ACCESS)]


def _damage(post: Post, data: str) -> None:
    with post.sql._database.write() as change:
        change.run(Statement(sql="UPDATE events SET data = :data WHERE stream = :stream", fixed={}), {"data": data, "stream": STREAM})


async def test_nothing_of_a_running_turn_shows_to_somebody_removed(post: Post) -> None:
    await asyncio.sleep(0)
    await post.delivery.report_partial(CHAT, Notice(code="turn-begun", args={"turn": "t1"}))
    await post.delivery.report_partial(CHAT, "Сделка «Ромашка»")
    await until(lambda: bool(post.wire.calls("sendMessageDraft")))
    listed(post, *CROWD)
    count = len(post.wire.sent)
    await post.delivery.report_partial(CHAT, "Сделка «Ромашка» на 120 000")
    post.later(5)
    await post.put(text_row("иной", f"tg:{CROWD[0]}"))
    await post.until_states("sent")
    assert [name for name, _ in post.wire.sent[count:]] == ["sendMessage"]


async def test_whoever_wrote_just_before_they_were_removed_reads_that_they_have_no_access(post: Post) -> None:
    """The sentence as turns and presses leave it, and not one word more than it."""
    listed(post, VERA)
    gone = Notice(code="no-access-any-more")
    more = Reply(parts=(Text(text="Сделка «Ромашка»"),), notices=(gone,))
    await post.put(*(outbox.build_reply_row(CHAT, reply, NOW) for reply in (build_reply(gone), more)))
    await post.until_states("sent", "failed")
    assert post.texts() == ["У вас больше нет доступа. Обратитесь к администратору."]


async def test_the_sentences_for_strangers_are_all_that_the_registry_says_to_them(post: Post) -> None:
    """Whoever adds one finds it here: its name begins as theirs do."""
    listed(post, VERA)
    codes = ("people-link-wrong", "people-lost-portal", "people-joined", "people-asks", "people-welcome", "people-settings")
    await post.put(
        *(
            screens.build_row(CHAT, screens.build_message(code, cards=0, role="manager", mode="full", employee="7", id="1"), NOW)
            for code in codes
        )
    )
    await post.until_states("sent", "sent", *["failed"] * 4)

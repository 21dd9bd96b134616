"""A text that notifies colleagues, or hides where a link leads, asks first, with a card that names them."""

import time
from pathlib import Path
from typing import Any

import pytest

from bot.i18n.translate import Translator
from bot.rendering.cards import render_card
from bot.rendering.spans import to_plain_text
from orchestrator.domain.actor import Actor
from orchestrator.domain.card_view import CardView
from orchestrator.domain.effect import Effect
from orchestrator.gate.call.critical_fields import find_mentions
from orchestrator.gate.call.effect import Allow, Ask, Call
from orchestrator.sessions.outbox import build_card_row
from tests.unit.gate.gate_kit import ANNA, NAMED, call, effect, judged, made
from tests.unit.spine_kit import VERA, World, a_world
from tests.unit.spine_kit import effect as wish

TO_BORIS = "[USER=8]Анна[/USER], посмотри, пожалуйста"
TEXTS: dict[str, dict[str, Any]] = {
    "crm.timeline.comment.add": {"fields": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "COMMENT": TO_BORIS}},
    "crm.timeline.comment.update": {"id": 55, "fields": {"COMMENT": TO_BORIS}},
    "crm.timeline.note.save": {"ownerTypeId": 2, "ownerId": 481, "itemType": 1, "itemId": 3, "text": TO_BORIS},
    "crm.timeline.logmessage.add": {
        "fields": {"entityTypeId": 2, "entityId": 481, "title": "Звонок", "text": TO_BORIS, "iconCode": "info"}
    },
    "crm.deal.update": {"id": 481, "fields": {"COMMENTS": TO_BORIS}},
    "crm.deal.add": {"fields": {"TITLE": "Новая", "COMMENTS": TO_BORIS}},
    "crm.activity.todo.add": {"ownerTypeId": 2, "ownerId": 481, "deadline": "2026-11-24T10:00:00+03:00", "description": TO_BORIS},
    "tasks.task.add": {"fields": {"TITLE": "Позвонить", "DESCRIPTION": TO_BORIS}},
    "tasks.task.update": {"taskId": 8017, "fields": {"DESCRIPTION": TO_BORIS}},
    "task.commentitem.add": {"TASKID": 8017, "FIELDS": {"POST_MESSAGE": TO_BORIS}},
    "task.commentitem.update": {"TASKID": 8017, "ITEMID": 5, "FIELDS": {"POST_MESSAGE": TO_BORIS}},
    "task.checklistitem.add": {"TASKID": 8017, "FIELDS": {"TITLE": TO_BORIS}},
    "task.checklistitem.update": {"TASKID": 8017, "ITEMID": 1, "FIELDS": {"MEMBERS": {"8": {"TYPE": "U"}}}},
    "im.message.add": {"DIALOG_ID": "chat5", "MESSAGE": TO_BORIS},
    "tasks.task.chat.message.send": {"fields": {"taskId": 8017, "text": TO_BORIS}},
}


def _codes(method: str, params: dict[str, Any], actor: Actor = ANNA) -> list[str]:
    found = judged(effect(method, params), actor=actor)
    assert isinstance(found, Ask | Allow), found
    return [reason.code for reason in found.reasons] if isinstance(found, Ask) else []


def _comment(text: str) -> tuple[str, dict[str, Any]]:
    return "crm.timeline.comment.add", {"fields": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "COMMENT": text}}


@pytest.mark.parametrize("method", sorted(TEXTS))
@pytest.mark.req("S004-29")
def test_a_text_that_addresses_a_colleague_asks_wherever_it_stands(method: str) -> None:
    """Seen: a comment with [USER=8] was written without a card, and Boris got a notification."""
    assert "gate-notifies" in _codes(method, TEXTS[method], Actor(key="a", name="А", role="lead", bitrix_user_id=7, sees="all"))


@pytest.mark.parametrize(
    ("text", "users", "departments", "chats", "names"),
    [
        ("[user=8]Б[/user]", ("8",), (), (), ()),
        ("[ USER = '8' REPLACE ]Б[/USER]", ("8",), (), (), ()),
        ("[USER=8]Б[/USER] и [USER=9]А[/USER], [USER=8]Б[/USER]", ("8", "9"), (), (), ()),
        ("[USER=all]Все[/USER]", ("all",), (), (), ()),
        ("[DEPARTMENT=3]Продажи[/DEPARTMENT]", (), ("3",), (), ()),
        ("[CHAT=15]Общий[/CHAT] [chat=chat16]x[/chat]", (), (), ("15", "16"), ()),
        ("@Борис, глянь", (), (), (), ("Борис",)),
        ("глянь, @Борис Седов", (), (), (), ("Борис Седов",)),
        ("@all завтра в девять", (), (), (), ("all",)),
        ("[USER=8", (), (), (), ()),
        ("пишет с ivan@example.ru и @ivan_petrov в Telegram", (), (), (), ()),
        ("цена 5@шт, дом [8]", (), (), (), ()),
        ("обычный комментарий о Борисе", (), (), (), ()),
    ],
)  # fmt: skip
def test_whom_a_text_addresses(text: str, users: tuple[str, ...], departments: tuple[str, ...], chats: tuple[str, ...], names: tuple[str, ...]) -> None:  # fmt: skip
    found = find_mentions(call(*_comment(text)))
    assert (found.users, found.departments, found.chats, found.names) == (users, departments, chats, names)


@pytest.mark.parametrize(
    "text",
    ["позвонил, перезвонит завтра", "[USER=7]Анна[/USER], не забыть", "почта ivan@example.ru, телеграм @ivan", "[B]важно[/B]",
     "https://example.ru/счёт", "[URL]https://example.ru[/URL]", "[URL=https://example.ru]https://example.ru[/URL]"],
)  # fmt: skip
def test_a_text_that_reaches_nobody_else_is_written_without_a_card(text: str) -> None:
    """Notes to oneself, addresses, bold words and links that show where they lead are no news to anybody."""
    assert _codes(*_comment(text)) == []


def test_a_text_full_of_open_marks_is_searched_in_no_time() -> None:
    """Text of others may be made to be slow to search: unclosed links, one behind the other."""
    begun = time.perf_counter()
    assert find_mentions(call(*_comment("[URL=a]" * 9000))).links == ()
    assert time.perf_counter() - begun < 30


def test_a_reminder_to_oneself_reaches_nobody_in_the_portal() -> None:
    note = Effect(
        kind="schedule", method="reminder.add", params={"text": "позвонить @Борис", "at": "2026-11-24T10:00:00+03:00"}, provenance=NAMED
    )
    found = made(note, actor=ANNA)
    assert isinstance(found, Call)
    assert find_mentions(found).is_only_about(None)


def test_a_link_behind_words_asks_and_reading_never_does() -> None:
    assert _codes(*_comment("[URL=https://evil.example/x]счёт на оплату[/URL]")) == ["gate-hidden-link"]
    assert _codes("crm.timeline.comment.list", {"filter": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "%COMMENT": TO_BORIS}}) == []


@pytest.mark.parametrize("field", ["ACCOMPLICES", "AUDITORS"])
def test_colleagues_who_join_a_task_are_asked_about(field: str) -> None:
    assert _codes("tasks.task.add", {"fields": {"TITLE": "Позвонить", field: [8]}}) == ["gate-add-person"]
    assert _codes("tasks.task.update", {"taskId": 8017, "fields": {field: [8]}}) == ["gate-critical"]


def test_a_batch_asks_because_of_one_of_its_comments() -> None:
    comments = {key: f"crm.timeline.comment.add?fields[ENTITY_ID]=481&fields[ENTITY_TYPE]=deal&fields[COMMENT]={text}" for key, text in (("a", "звонил"), ("b", "[USER=8]Б[/USER]"))}  # fmt: skip
    found = judged(effect("batch", {"cmd": comments}))
    assert [reason.args["key"] for reason in found.reasons] == ["b"]


@pytest.fixture
async def world(tmp_path: Path) -> Any:
    async with a_world(tmp_path) as made:
        yield made


async def _draw(world: World, text: str, locale: Any = "ru") -> str:
    session = await world.session()
    actor = VERA.model_copy(update={"locale": locale})
    card = await world.asked(session, wish(*_comment(text)), actor=actor)
    return to_plain_text(render_card(CardView.from_body(build_card_row(session.key, card, session.now).body), Translator(locale)))


async def test_the_card_names_who_is_notified_by_the_portals_name_and_not_by_the_texts(world: World) -> None:
    """The text says «Анна», the mark says 8: Boris gets it."""
    said = await _draw(world, TO_BORIS + " [USER=all]все[/USER] [DEPARTMENT=3]Продажи[/DEPARTMENT]")
    assert "Уведомление получат:" in said
    assert {"все участники", "Борис Седов", "отдел №3"} <= {line.strip(" •—–-") for line in said.splitlines()}
    assert "🟠 Внимание. Названные здесь люди получат уведомление" in said
    assert world.portal.ledger == []


async def test_the_card_says_where_a_hidden_link_leads(world: World) -> None:
    said = await _draw(world, "[URL=https://evil.example/x]счёт[/URL]")
    assert "Ссылка ведёт: https://evil.example/x" in said


async def test_the_card_is_in_english_for_who_reads_english(world: World) -> None:
    said = await _draw(world, TO_BORIS, "en")
    assert "Will be notified: Борис Седов" in said
    assert "The people named here will be notified" in said

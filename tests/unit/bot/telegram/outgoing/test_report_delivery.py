"""A report in Telegram is one photo with its caption and buttons, changed in place; where there can be no picture it is text with the same buttons."""

from typing import Any

import pytest

from bot.rendering.pictures.palette import THEMES
from orchestrator.domain.card_view import count_units
from orchestrator.domain.outputs import Notice, Reply, ReportPart, Text
from orchestrator.domain.report import ReportAnswer, ReportVariant
from orchestrator.sessions import outbox
from orchestrator.turns.turn_ending import build_report_key
from orchestrator.workers.worker_process import WorkerFailed
from state.journal.store import OutboxRow
from state.model.registry import Registry
from tests.unit.bot.rendering.report_kit import make_answer, make_bars, make_line, make_rows
from tests.unit.bot.telegram.door_kit import NOW
from tests.unit.bot.telegram.outgoing.delivery_kit import CHAT, Post

REPORT = "0a1b2c3d4e5f"
VARIANTS = tuple(ReportVariant(label=label, change={}) for label in ("По источникам", "По неделям", "Прошлый месяц", "4", "5", "6", "7"))


class Pictures:
    """A worker that draws nothing."""

    def __init__(self) -> None:
        self.drawn: list[str] = []
        self.fails = False

    def render_png(self, svg: str) -> bytes:
        if self.fails:
            raise WorkerFailed("the worker died")
        self.drawn.append(svg)
        return b"png"

    def end(self) -> None:
        """Nothing to end."""


@pytest.fixture
def pictures(post: Post) -> Pictures:
    pictures = Pictures()
    post.delivery._poster.pictures = pictures  # type: ignore[assignment] # only what a poster calls
    return pictures


def build_row(answer: ReportAnswer | None = None, *words: str, **more: Any) -> OutboxRow:
    answer = (answer or make_bars()).model_copy(update={"variants": VARIANTS, "question": {"of": "deals"}})
    parts = (*(Text(text=text) for text in words), ReportPart(report_id=REPORT, answer=answer, **more))
    return outbox.build_reply_row(CHAT, Reply(parts=parts), NOW, key=build_report_key(REPORT))


def list_labels(markup: Any) -> list[list[str]]:
    return [[button["text"] for button in line] for line in markup["inline_keyboard"]]


async def test_a_report_is_one_photo_with_a_caption_and_buttons(post: Post, pictures: Pictures) -> None:
    await post.put(build_row(None, "Продажи выросли."))
    await post.until_states("sent")
    (name, photo), *others = post.wire.sent
    assert (name, others) == ("sendPhoto", [])
    assert photo["photo"].data == b"png"
    assert photo["caption"].startswith("Продажи выросли.\n\nВыручка по менеджерам")
    assert count_units(photo["caption"]) <= 1024
    assert "Борис Смирнов" in pictures.drawn[0]
    assert list_labels(photo["reply_markup"]) == [
        ["По источникам", "По неделям"],
        ["Прошлый месяц", "4"],
        ["5", "6"],
        ["📋 Сделки", "📎 Excel"],
        ["❓ Как считано"],
    ]
    data = [button["callback_data"] for line in photo["reply_markup"]["inline_keyboard"] for button in line]
    assert data[:1] + data[6:] == [f"a1:report:{REPORT}:{wish}" for wish in ("v0", "list", "file", "how")]


async def test_another_version_replaces_picture_caption_and_buttons_in_place(post: Post, pictures: Pictures) -> None:
    await post.put(build_row())
    await post.until_states("sent")
    await post.put(build_row(make_line(), has_way_back=True))
    await post.until_states("sent", "sent")
    assert [name for name, _ in post.wire.sent] == ["sendPhoto", "editMessageMedia"]
    edit = post.wire.sent[1][1]
    assert edit["message_id"] == 501
    assert edit["media"]["caption"].startswith("Выручка по неделям")
    assert "◀ Назад" in list_labels(edit["reply_markup"])[3]
    await post.put(build_row(make_line(), has_way_back=True))
    await post.until_states("sent", "sent", "sent")
    assert len(post.wire.sent) == 2


async def test_the_picture_is_dark_for_who_wants_it_so(post: Post, pictures: Pictures) -> None:
    """From the next picture on, also of a report that stands there already."""
    await post.put(build_row())
    await post.until_states("sent")
    post.access.apply_registry(Registry(preferences={CHAT: {"dark": "on"}}), 1)
    await post.put(build_row())
    await post.until_states("sent", "sent")
    assert [name for name, _ in post.wire.sent] == ["sendPhoto", "editMessageMedia"]
    bars = [theme.accent for theme in THEMES.values()]
    assert [[colour in svg for colour in bars] for svg in pictures.drawn] == [[True, False], [False, True]]


async def test_a_message_that_cannot_be_edited_is_replaced_by_a_new_one(post: Post, pictures: Pictures) -> None:
    await post.put(build_row())
    await post.until_states("sent")
    refusal = {"ok": False, "status": 400, "error_code": 400, "description": "Bad Request: message can't be edited"}
    post.wire.will(refusal, when=lambda name, _: name == "editMessageMedia")
    await post.put(build_row(make_line()))
    await post.until_states("sent", "sent")
    assert [name for name, _ in post.wire.sent] == ["sendPhoto", "editMessageMedia", "deleteMessage", "sendPhoto"]


async def test_a_photo_that_telegram_refuses_comes_as_text_with_the_same_buttons(post: Post, pictures: Pictures) -> None:
    refusal = {"ok": False, "status": 400, "error_code": 400, "description": "Bad Request: IMAGE_PROCESS_FAILED"}
    post.wire.will(refusal, when=lambda name, _: name == "sendPhoto")
    await post.put(build_row())
    await post.until_states("sent")
    assert [name for name, _ in post.wire.sent] == ["sendPhoto", "sendMessage"]
    (_, photo), (_, message) = post.wire.sent
    assert message["reply_markup"] == photo["reply_markup"]
    assert "8. Глеб Орлов: 17,1 млн (+23 %)" in message["text"]


async def test_a_report_without_a_picture_is_text_with_the_same_buttons(post: Post, pictures: Pictures) -> None:
    """Of a worker that failed and of a table alike; an old picture does not stay beside the new numbers."""
    pictures.fails = True
    await post.put(build_row())
    await post.until_states("sent")
    assert [name for name, _ in post.wire.sent] == ["sendMessage"]
    assert list_labels(post.wire.sent[0][1]["reply_markup"])[4] == ["❓ Как считано"]
    pictures.fails = False
    await post.put(build_row(make_line()))
    await post.until_states("sent", "sent")
    assert post.wire.sent[1][0] == "editMessageMedia"
    pictures.fails = True
    await post.put(build_row())
    await post.until_states("sent", "sent", "sent")
    assert [name for name, _ in post.wire.sent[2:]] == ["deleteMessage", "sendMessage"]


async def test_words_without_room_over_the_caption_come_before_the_picture(post: Post, pictures: Pictures) -> None:
    await post.put(build_row(None, "Очень длинный рассказ. " * 60))
    await post.until_states("sent")
    assert [name for name, _ in post.wire.sent] == ["sendMessage", "sendPhoto"]
    assert "reply_markup" not in post.wire.sent[0][1]
    assert post.wire.sent[1][1]["caption"].startswith("Выручка по менеджерам")
    assert await post.store.find_sent_ref(CHAT, build_report_key(REPORT)) == "502"


async def test_a_report_in_words_has_a_button_that_makes_it_a_picture_in_place(post: Post, pictures: Pictures) -> None:
    """One that can be no picture has no such button."""
    await post.put(build_row(is_text=True))
    await post.until_states("sent")
    await post.put(build_row())
    await post.until_states("sent", "sent")
    (_, words), (_, edit) = post.wire.sent
    assert [name for name, _ in post.wire.sent] == ["sendMessage", "editMessageMedia"]
    assert words["text"].startswith("Выручка по менеджерам")
    assert ["🖼 Картинкой", "📋 Сделки"] in list_labels(words["reply_markup"])
    assert edit["message_id"] == 501
    assert "🖼 Картинкой" not in str(list_labels(edit["reply_markup"]))
    table = make_answer("table", make_rows(["Анна"], [2e6]))
    await post.put(outbox.build_reply_row(CHAT, Reply(parts=(ReportPart(report_id="1" * 12, answer=table, is_text=True),)), NOW))
    await post.until_states("sent", "sent", "sent")
    assert "🖼 Картинкой" not in str(list_labels(post.wire.sent[-1][1]["reply_markup"]))


async def test_a_file_of_a_report_is_a_table_document(post: Post, pictures: Pictures) -> None:
    await post.put(build_row(is_file=True))
    await post.until_states("sent")
    ((name, sent),) = post.wire.sent
    assert (name, sent["document"].filename, sent["caption"]) == ("sendDocument", "Выручка по менеджерам.xlsx", "данные на 18:45")
    assert sent["document"].data[:2] == b"PK"


async def test_names_of_others_are_no_links_under_the_picture(post: Post, pictures: Pictures) -> None:
    rows = make_rows(["@durov", "https://evil.example/x"], [2e6, 1e6])
    await post.put(build_row(make_answer("bars", rows)))
    await post.until_states("sent")
    caption = post.wire.sent[0][1]["caption"]
    assert "@durov" not in caption
    assert "evil.example" not in caption


async def test_a_report_without_records_offers_none(post: Post, pictures: Pictures) -> None:
    reply = Reply(parts=(ReportPart(report_id=REPORT, answer=make_answer("bars", (), records=0)),), notices=(Notice(code="list-is-whole"),))
    await post.put(outbox.build_reply_row(CHAT, reply, NOW, key=build_report_key(REPORT)))
    await post.until_states("sent")
    assert list_labels(post.wire.sent[0][1]["reply_markup"]) == [["📎 Excel", "❓ Как считано"]]

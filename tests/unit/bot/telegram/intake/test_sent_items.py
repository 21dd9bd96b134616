"""What a sender may write into a contact or a file's name is cleaned before it is stored."""

import asyncio

import pytest
from aiogram import Bot

from bot.telegram.intake.files import TelegramFiles
from bot.telegram.intake.message_content import read_content
from bot.telegram.intake.sent_items import LONGEST_NAME, UNKNOWN_TYPE, clean_file_name, offer_to_run
from orchestrator.domain.errors import FileUnavailable
from orchestrator.domain.run_inputs import RunSentItem
from tests.unit.bot.telegram.door_kit import ANNA, ME, NOW, TOKEN, VERA, Wire, access, forwarded, message, parse_update


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("смета.pdf", "смета.pdf"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\Анна\\счёт.xlsx", "счёт.xlsx"),
        ("счёт\u202efdp.exe", "счётfdp.exe"),
        ("\u200f\u2066скан\u2069.png", "скан.png"),
        ("a\x00b\nc.txt", "a\ufffdb c.txt"),
        ("<b>Счёт<b>.pdf", "_b_Счёт_b_.pdf"),
        ("..", ""),
        ("", ""),
        ("\ud800.pdf", "?.pdf".replace("?", "_")),
    ],
)
def test_a_file_name_is_the_last_part_of_a_path_without_hidden_signs(name: str, kept: str) -> None:
    assert clean_file_name(name) == kept


@pytest.mark.parametrize("name", ["x" * 5000 + ".pdf", "x" * 5000, "x." + "y" * 5000, "ы" * 5000 + ".jpeg"])
def test_a_long_name_is_cut_and_keeps_its_ending(name: str) -> None:
    cut = clean_file_name(name)
    assert 0 < len(cut) <= LONGEST_NAME
    assert cut.endswith(name[-5:]) or "." not in name or len(name.rpartition(".")[2]) > 10


@pytest.mark.parametrize("kind", ["text/html; charset=evil", "application/" + "x" * 5000, "<script>", "pdf", "\u202efdp/noitacilppa", None])
def test_a_type_that_is_none_is_unknown(kind: str | None) -> None:
    item = _parse(document={"file_id": "d", "file_unique_id": "d", "mime_type": kind})
    assert item is not None
    assert item.sent == {"name": "", "type": UNKNOWN_TYPE, "size": 0}


def test_a_contact_is_short_plain_text() -> None:
    item = _parse(contact={"phone_number": "+7 (916) 000-00-01 доб. 5" + "9" * 99, "first_name": "Ан\u202eна\n" * 999, "user_id": ANNA})
    assert item is not None
    assert len(item.sent["phone"]) <= 20
    assert item.sent["phone"].startswith("+791600000015")
    assert len(item.sent["name"]) <= LONGEST_NAME
    assert set(item.sent["name"]) == set("Анна ")
    assert item.is_own_contact


@pytest.mark.parametrize(
    "more", [{"forward_origin": forwarded()}, {"via_bot": {"id": 9, "is_bot": True, "first_name": "b"}}, {"sender": VERA}]
)
def test_a_contact_that_passed_through_others_is_not_the_persons_own(more: dict[str, object]) -> None:
    item = _parse(contact={"phone_number": "1", "first_name": "А", "user_id": ANNA}, **more)
    assert item is not None
    assert not item.is_own_contact


@pytest.mark.parametrize(
    "sent",
    [
        {"animation": {"file_id": "g", "file_unique_id": "g", "width": 1, "height": 1, "duration": 1},
         "document": {"file_id": "g", "file_unique_id": "g"}},
        {"video": {"file_id": "v", "file_unique_id": "v", "width": 1, "height": 1, "duration": 1}, "caption": "видео"},
        {"text": "привет"},
    ],
)  # fmt: skip
def test_other_content_is_never_offered_to_a_run(sent: dict[str, object]) -> None:
    assert _parse(**sent) is None


def test_without_a_run_nothing_changes() -> None:
    """The very same input as before is built where no run waits, and it stands in the one that is built where one waits."""
    update = message(None, contact={"phone_number": "1", "first_name": "А"})
    plain = parse_update(update, access(), ME, (), NOW)
    offered = parse_update(update, access(), ME, (), NOW, may_answer_run=True)
    assert update.message is not None
    assert offer_to_run(update.message, read_content(update.message, ME), plain).rows[0].body == offered.rows[0].body
    item = RunSentItem.model_validate(offered.rows[0].body)
    assert (item.instead_kind, item.instead_lane, item.instead) == (plain.rows[0].kind, plain.rows[0].lane, dict(plain.rows[0].body))
    assert offered.rows[0].source == plain.rows[0].source


def _parse(**sent: object) -> RunSentItem | None:
    """The item in a message with this content, None if the message is not offered to a run."""
    routed = parse_update(message(str(sent.pop("text")) if "text" in sent else None, **sent), access(), ME, (), NOW, may_answer_run=True)
    (row,) = routed.rows
    return RunSentItem.model_validate(row.body) if row.kind == RunSentItem.KIND else None


async def test_a_file_that_does_not_come_in_time_is_given_up() -> None:
    """A Telegram that is silent holds nobody up for longer than the caller allows."""
    wire = Wire()
    wire.gates.append((lambda name, _: name == "getFile", asyncio.Event()))
    with pytest.raises(FileUnavailable, match="in time"):
        await TelegramFiles(Bot(TOKEN, session=wire)).read("doc", 100, within=0.01)

"""What a message replies to goes along with it, and whose words those are."""

from typing import Any

import pytest

from tests.unit.bot.telegram.door_kit import BOT, ME, NOW, VERA, access, forwarded, message, parse_update, person, raw_message

GROUP = -100500
LINK = "https://company.bitrix24.ru/crm/deal/details/423/"
ANSWER = raw_message(
    "Северный ветер · 250 000 ₽", via=BOT, message_id=90, entities=[{"type": "text_link", "offset": 0, "length": 14, "url": LINK}]
)
LEAD = "ООО «Лютик», Пётр, 8 916 123-45-67, хотят 20 станков"
COLLEAGUE = raw_message(LEAD, sender=VERA, chat=GROUP, message_id=91)


def asked(words: str) -> dict[str, Any]:
    """Words to the bot in a group."""
    name = f"@{ME.username}"
    return {"text": f"{name} {words}", "chat": GROUP, "entities": [{"type": "mention", "offset": 0, "length": len(name)}]}


def body(text: str | None = "подними сумму этой сделки", **more: Any) -> dict[str, Any]:
    """The body of the only input that the message becomes."""
    (row,) = parse_update(message(text, **more), access(), ME, (), NOW).rows
    return {
        name: row.body.get(name)
        for name in ("text", "quoted", "answered", "answered_records", "is_answered_own", "answers_others")
        if row.body.get(name)
    }


def test_an_answer_of_the_bot_comes_with_the_records_to_which_it_links() -> None:
    """It is the bot's own text: nobody else's words, and not the order."""
    assert body(reply_to_message=ANSWER) == {
        "text": "подними сумму этой сделки", "answered": "Северный ветер · 250 000 ₽", "answered_records": ["deal:423"]
    }  # fmt: skip


def test_a_quoted_part_is_all_that_comes_of_it() -> None:
    """With the records of the whole answer."""
    found = body(reply_to_message=ANSWER, quote={"text": "Северный ветер", "position": 0})
    assert "answered" not in found
    assert found["answered_records"] == ["deal:423"]


def test_a_colleagues_message_is_text_of_somebody_else_under_their_name() -> None:
    """«заведи лид по этому сообщению» in a group."""
    found = body(**asked("заведи лид по этому сообщению"), reply_to_message=COLLEAGUE)
    assert found["quoted"].endswith(f":\n{LEAD}")
    assert found["quoted"].startswith(person(VERA)["first_name"])
    assert (found["answers_others"], "answered" in found) == (True, False)


def test_ones_own_message_is_ones_own() -> None:
    """Unless it was forwarded: then it is the words of who wrote it."""
    own = raw_message("Ромашка просит отгрузку во вторник", message_id=92)
    assert body(reply_to_message=own) == {"text": "подними сумму этой сделки", "answered": own["text"], "is_answered_own": True}
    found = body(
        reply_to_message={**own, "forward_origin": forwarded()["forward_origin"] if "forward_origin" in forwarded() else forwarded()}
    )
    assert found["quoted"].endswith(own["text"])
    assert "answered" not in found


def test_a_picture_counts_by_its_caption_and_a_contact_by_its_card() -> None:
    photo = raw_message(
        None,
        sender=VERA,
        chat=GROUP,
        message_id=91,
        caption="Накладная 15",
        photo=[{"file_id": "1", "file_unique_id": "1", "width": 1, "height": 1}],
    )
    assert body(**asked("что это"), reply_to_message=photo)["quoted"].endswith("Накладная 15")
    contact = raw_message(None, sender=VERA, chat=GROUP, message_id=91, contact={"phone_number": "+79161234567", "first_name": "Пётр"})
    assert "+79161234567" in body(**asked("заведи контакт"), reply_to_message=contact)["quoted"]


def test_a_contact_of_another_chat_comes_along() -> None:
    """An external reply has no text of its own."""
    external = {
        "origin": {"type": "user", "date": 1, "sender_user": person(VERA)},
        "contact": {"phone_number": "+79161234567", "first_name": "Пётр"},
    }
    found = body("заведи контакт", external_reply=external)
    assert "+79161234567" in found["quoted"]
    assert found["answers_others"] is True


def test_a_long_message_is_cut_and_an_order_to_open_a_topic_is_no_reply() -> None:
    assert len(body(reply_to_message=raw_message("а" * 9000, via=BOT, message_id=90))["answered"]) == 4000
    topic = raw_message(None, chat=GROUP, via=BOT, message_id=90, forum_topic_created={"name": "Тема", "icon_color": 1})
    assert body(**asked("привет"), reply_to_message=topic) == {"text": "привет"}


VCARD = (
    "BEGIN:VCARD\nVERSION:3.0\nN:Соколова;Анна;;;\nFN:Анна Соколова\nORG:ООО «Лютик»;Отдел закупок\nTITLE:Начальник снабжения\n"
    "TEL;TYPE=CELL:+79161234567\nTEL;TYPE=WORK:+74951234567,101\nEMAIL:a.sokolova@lutik.example\nEND:VCARD"
)
CONTACT = {"phone_number": "79161234567", "first_name": "Анна", "last_name": "Соколова"}


def test_a_shared_contact_tells_its_organisation_post_phones_and_mail() -> None:
    """Each phone once, with its kind and extension."""
    assert body(None, contact={**CONTACT, "vcard": VCARD})["quoted"].split("\n") == [
        "Анна Соколова", "79161234567", "ООО «Лютик», Отдел закупок", "Начальник снабжения", "+74951234567,101 (work)", "a.sokolova@lutik.example"
    ]  # fmt: skip


@pytest.mark.parametrize(
    "vcard", ["", "BEGIN:VCARD", "never a card", "BEGIN:VCARD\nEND:VCARD", f"BEGIN:VCARD\nNOTE:{'я' * 1_000_000}\nEND:VCARD", "END:VCARD\n" * 9, "BEGIN:VCARD\nTEL;=:\nEND:VCARD"]
)  # fmt: skip
def test_a_card_that_cannot_be_read_leaves_name_and_number(vcard: str) -> None:
    assert body(None, contact={**CONTACT, "vcard": vcard})["quoted"] == "Анна Соколова\n79161234567"

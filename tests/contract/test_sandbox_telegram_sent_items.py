"""Contacts, photos and documents that people of the Telegram sandbox send, in the wire form of the Bot API, and its refusals."""

import base64
import io
from typing import Any

import httpx
import pytest
from aiogram.exceptions import TelegramBadRequest
from aiogram.types import Contact

from sandbox.telegram.images import draw_thumbnail, picture_size
from tests.contract.sandbox_telegram_kit import BORIS, VERA, Kit

MEGABYTE = 1024 * 1024
PHOTO = draw_thumbnail(1280, 720, mark="a photo")
CONTACTS: list[tuple[dict[str, Any], Contact]] = [
    ({"of": BORIS}, Contact(phone_number="79000001007", first_name="Борис", user_id=BORIS)),
    ({"of": VERA}, Contact(phone_number="79000001008", first_name="Вера", user_id=VERA)),
    (
        {"phone_number": "+7 900 123-45-67", "first_name": "Пётр", "last_name": "Ильин"},
        Contact(phone_number="+7 900 123-45-67", first_name="Пётр", last_name="Ильин"),
    ),
]


@pytest.mark.parametrize(("body", "expected"), CONTACTS)
async def test_a_contact_names_its_account_only_if_there_is_one(kit: Kit, body: dict[str, Any], expected: Contact) -> None:
    """The own contact and that of a colleague have a user_id, somebody out of the address book has none; there is no text beside it."""
    await kit.control(f"/sandbox/users/{BORIS}/contact", body)
    (update,) = await kit.bot.get_updates()
    (shown,) = await kit.seen()
    assert update.message is not None
    assert update.message.contact is not None
    given = expected.model_dump(exclude_none=True)
    assert (update.message.contact.model_dump(exclude_none=True), update.message.text) == (given, None)
    assert shown["contact"] == given


async def test_the_page_is_offered_the_own_contact_and_an_address_book(kit: Kit) -> None:
    """Everything that is offered can be sent as it is, in both languages."""
    for language in ("ru", "en"):
        offered = await kit.control(f"/sandbox/users/{BORIS}/contacts?language={language}")
        assert offered["own"]["user_id"] == BORIS
        for contact in offered["others"]:
            await kit.control(f"/sandbox/users/{BORIS}/contact", contact)
    sent = [update.message.contact for update in await kit.bot.get_updates() if update.message]
    assert len(sent) == 4
    assert all(contact is not None and contact.user_id is None and contact.phone_number.startswith("+7") for contact in sent)


async def test_a_photo_comes_in_sizes_with_files_of_their_own(kit: Kit) -> None:
    """The largest stands last and holds the bytes that were sent; the first is a thumbnail. A tiny picture has one size."""
    await _send_photo(kit, PHOTO)
    await _send_photo(kit, draw_thumbnail(90, 40, mark="tiny"))
    large, tiny = [update.message.photo or [] for update in await kit.bot.get_updates() if update.message]
    contents = [(await kit.bot.download(size) or io.BytesIO()).read() for size in large]
    assert [(size.width, size.height) for size in (*large, *tiny)] == [(90, 50), (1280, 720), (90, 40)]
    assert contents[-1] == PHOTO
    assert [picture_size(content) for content in contents] == [(90, 50), (1280, 720)]
    assert [size.file_size for size in large] == [len(content) for content in contents]
    assert len({size.file_unique_id for size in (*large, *tiny)}) == 3


async def test_a_file_over_20_megabytes_is_sent_but_not_given_to_the_bot(kit: Kit) -> None:
    """The limit of the Bot API is that of downloads: the message arrives, getFile refuses it, and 20 MB exactly are given."""
    for size in (20 * MEGABYTE, 20 * MEGABYTE + 1):
        content = base64.b64encode(bytes(size)).decode()
        await kit.control(f"/sandbox/users/{BORIS}/document", {"file_name": "проект.pdf", "base64": content})
    fits, large = [update.message.document for update in await kit.bot.get_updates() if update.message and update.message.document]
    assert ((await kit.bot.download(fits) or io.BytesIO()).getbuffer().nbytes, large.file_size) == (20 * MEGABYTE, 20 * MEGABYTE + 1)
    with pytest.raises(TelegramBadRequest, match="file is too big"):
        await kit.bot.get_file(large.file_id)
    raw = await kit.call("getFile", file_id=large.file_id)
    assert raw == {"ok": False, "error_code": 400, "description": "Bad Request: file is too big"}


async def test_a_path_is_good_for_an_hour_after_getfile(kit: Kit) -> None:
    """Without getFile, and an hour after it, the path answers 404 as JSON; another getFile opens it again."""
    sent = await kit.control(f"/sandbox/users/{BORIS}/document", {"file_name": "a.txt", "text": "договор"})
    path = (await kit.call("getFile", file_id=sent["file_id"]))["result"]["file_path"]
    await kit.later(3599)
    assert (await _download(kit, path)).text == "договор"
    await kit.later(2)
    expired = await _download(kit, path)
    unopened = await kit.control(f"/sandbox/users/{BORIS}/document", {"file_name": "b.txt", "text": "б"})
    await kit.call("getFile", file_id=sent["file_id"])
    again = await _download(kit, path)
    assert unopened["file_id"] != sent["file_id"]
    assert (expired.status_code, expired.json()) == (404, {"ok": False, "error_code": 404, "description": "Not Found"})
    assert again.text == "договор"


async def test_a_path_that_getfile_did_not_give_is_not_found(kit: Kit) -> None:
    """Nobody reads a file by guessing its path, nor with another token."""
    sent = await kit.control(f"/sandbox/users/{BORIS}/document", {"file_name": "a.txt", "text": "договор"})
    guessed = f"documents/file_{sent['file_id'][3:19]}.txt"
    assert (await _download(kit, guessed)).status_code == 404
    assert (await kit.call("getFile", file_id=sent["file_id"]))["result"]["file_path"] == guessed
    assert (await _download(kit, guessed)).status_code == 200
    assert (await kit.http.get(f"/file/bot1:other/{guessed}")).status_code == 401


async def test_faults_of_downloads_can_be_ordered(kit: Kit) -> None:
    """A link that expires just now, a server error, and a connection that is cut; the next download is normal."""
    sent = await kit.control(f"/sandbox/users/{BORIS}/document", {"file_name": "a.txt", "text": "договор"})
    path = (await kit.call("getFile", file_id=sent["file_id"]))["result"]["file_path"]
    for kind, status in (("refuse", 404), ("500", 500)):
        await kit.control("/sandbox/faults", {"method": "download", "kind": kind, "code": 404, "description": "Not Found"})
        assert (await _download(kit, path)).status_code == status
    await kit.control("/sandbox/faults", {"method": "download", "kind": "lost_answer"})
    with pytest.raises(httpx.RemoteProtocolError):
        await _download(kit, path)
    assert (await _download(kit, path)).text == "договор"


async def _send_photo(kit: Kit, content: bytes) -> None:
    body = {"file_name": "фото.png", "mime": "image/png", "base64": base64.b64encode(content).decode()}
    await kit.control(f"/sandbox/users/{BORIS}/photo", body)


async def _download(kit: Kit, path: str) -> httpx.Response:
    return await kit.http.get(f"/file/bot1:sandbox/{path}")

"""Recognizes contacts, photos and documents with which a person may answer a run (an execution of a scenario), and files. Pure.

Whether a run waits for one of this person is decided by the session of the chat. So the input holds the one that the message is otherwise.
What the messenger says of a file was written by its sender: names and types are cleaned before they are stored.
"""

import re
import unicodedata
from dataclasses import replace
from typing import Final

from aiogram.enums import ChatType, ContentType
from aiogram.types import Contact, Document, Message, PhotoSize

from bot.telegram.intake.message_content import MessageContent
from bot.telegram.intake.routed_updates import ParsedUpdate
from orchestrator.domain.inputs import DirectAnswer, Input, SentDocument, TextMessage
from orchestrator.domain.run_inputs import RunSentItem
from state.canonical import to_storable_text
from state.stored import JsonObject

SENT_TYPES: Final = frozenset({ContentType.CONTACT, ContentType.PHOTO, ContentType.DOCUMENT})
LONGEST_NAME: Final = 100
_LONGEST_EXTENSION: Final = 10
_LONGEST_PHONE: Final = 20
UNKNOWN_TYPE: Final = "application/octet-stream"
_TYPE: Final = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,63}/[a-z0-9][a-z0-9!#$&^_.+-]{0,63}")
_UNSAFE: Final = re.compile(r'[<>:"|?*`]')
"""Characters that file systems refuse or that are markup."""


def offer_to_run(message: Message, content: MessageContent, routed: ParsedUpdate) -> ParsedUpdate:
    """Return `routed`, the result of parsing `message`, as an answer to a run if the message is a contact, photo or document.

    A command in a caption stays a command, and so does every message that answers something else.
    """
    row = next(iter(routed.rows), None)
    if row is None or content.type not in SENT_TYPES or not _is_plain(routed.said):
        return routed
    item = _describe_item(message, content)
    if item is None:
        return routed
    item = item.model_copy(
        update={
            "caption": "" if item.answer_kind == "contact" else _read_caption(routed.said),
            "album": message.media_group_id,
            "message_id": message.message_id,
            "instead_kind": row.kind,
            "instead_lane": row.lane,
            "instead": dict(row.body),
        }
    )
    return replace(routed, rows=(replace(row, lane="express", kind=RunSentItem.KIND, body=item.to_json()),), said=item)


def _read_caption(said: Input | None) -> str:
    match said:
        case SentDocument():
            return said.caption
        case TextMessage():
            return "\n".join(filter(None, (said.text, said.quoted)))
        case _:
            return ""


def offer_to_documents(message: Message, routed: ParsedUpdate) -> ParsedUpdate:
    """Return `routed` as a document of the company if the message is a file in a private chat, alone or with a few words.

    The words may name a folder; whether they do is decided where the folder is known. More words are a request.
    """
    row = next(iter(routed.rows), None)
    file = message.document
    if row is None or file is None or message.chat.type != ChatType.PRIVATE or not _is_plain(routed.said):
        return routed
    text_message = routed.said if isinstance(routed.said, TextMessage) else TextMessage()
    if text_message.quoted or len(text_message.text) > LONGEST_NAME:
        return routed
    sent = SentDocument(
        file_id=file.file_id,
        name=clean_file_name(file.file_name or ""),
        size=file.file_size or 0,
        caption=text_message.text,
        album=message.media_group_id,
        message_id=message.message_id,
        instead_kind=row.kind,
        instead_lane=row.lane,
        instead=dict(row.body),
    )
    return replace(routed, rows=(replace(row, lane="express", kind=SentDocument.KIND, body=sent.to_json()),), said=sent)


def _is_plain(said: Input | None) -> bool:
    """Return whether the message is a request, a file alone, or only answered with the notice that the bot cannot read it."""
    if isinstance(said, DirectAnswer):
        return said.notice.code == "only-text"
    return isinstance(said, TextMessage | SentDocument)


def _describe_item(message: Message, content: MessageContent) -> RunSentItem | None:
    match message:
        case Message(contact=Contact() as contact):
            is_own = message.from_user is not None and contact.user_id == message.from_user.id and not content.is_foreign
            return _build_item("contact", _describe_contact(contact), is_own_contact=is_own)
        case Message(document=Document() as file):
            kind = (file.mime_type or "").strip().lower()
            sent = {"name": clean_file_name(file.file_name or ""), "type": kind if _TYPE.fullmatch(kind) else UNKNOWN_TYPE}
            return _build_item("document", {**sent, "size": file.file_size or 0}, file_id=file.file_id)
        case Message(photo=[_, *_] as sizes):
            largest: PhotoSize = max(sizes, key=lambda size: (size.width * size.height, size.file_size or 0))
            return _build_item("photo", {"name": "", "type": "image/jpeg", "size": largest.file_size or 0}, file_id=largest.file_id)
        case _:
            return None


def _build_item(kind: str, sent: JsonObject, *, file_id: str = "", is_own_contact: bool = False) -> RunSentItem:
    told = {"answer_kind": kind, "sent": sent, "file_id": file_id, "is_own_contact": is_own_contact}
    return RunSentItem.model_validate({**told, "instead_kind": "", "instead_lane": "turn", "instead": {}})


def _describe_contact(contact: Contact) -> JsonObject:
    """Return {phone, name, user_id} of a shared contact; `user_id` is None for somebody without Telegram."""
    name = clean_text(" ".join(filter(None, (contact.first_name, contact.last_name))))[:LONGEST_NAME].strip()
    phone = re.sub(r"[^0-9+]", "", to_storable_text(contact.phone_number))[:_LONGEST_PHONE]
    return {"phone": phone, "name": name, "user_id": contact.user_id}


def clean_file_name(name: str) -> str:
    """Return a file's name as it can be stored and shown: the last part of a path, without signs that hide something, of limited length."""
    last = re.split(r"[/\\]", clean_text(name))[-1].strip(" .")
    shown = _UNSAFE.sub("_", last)
    stem, dot, extension = shown.rpartition(".")
    if not stem or len(extension) > _LONGEST_EXTENSION:
        return shown[:LONGEST_NAME].rstrip()
    return stem[: LONGEST_NAME - len(extension) - 1].rstrip() + dot + extension


def clean_text(text: str) -> str:
    """Return the text on one line and without control characters and marks that change the direction of writing."""
    line = " ".join(to_storable_text(text).split())
    return "".join(sign for sign in line if not unicodedata.category(sign).startswith("C"))

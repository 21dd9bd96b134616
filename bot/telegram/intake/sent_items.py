"""Recognizes contacts, photos and files with which a person may answer a run.

Pure. Names and types of files are cleaned: senders write them.
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
    """Unless the caption is a command or the message answers something else."""
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


def _read_caption(stored_input: Input | None) -> str:
    match stored_input:
        case SentDocument():
            return stored_input.caption
        case TextMessage():
            return "\n".join(filter(None, (stored_input.text, stored_input.quoted)))
        case _:
            return ""


def offer_to_documents(message: Message, routed: ParsedUpdate) -> ParsedUpdate:
    """A file in a private chat, alone or with a few words, which may name a folder."""
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


def _is_plain(stored_input: Input | None) -> bool:
    """A request, a file alone, or what the bot cannot read."""
    if isinstance(stored_input, DirectAnswer):
        return stored_input.notice.code == "only-text"
    return isinstance(stored_input, TextMessage | SentDocument)


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
    fields = {"answer_kind": kind, "sent": sent, "file_id": file_id, "is_own_contact": is_own_contact}
    return RunSentItem.model_validate({**fields, "instead_kind": "", "instead_lane": "turn", "instead": {}})


def _describe_contact(contact: Contact) -> JsonObject:
    """`user_id` is None for somebody without Telegram."""
    name = clean_text(" ".join(filter(None, (contact.first_name, contact.last_name))))[:LONGEST_NAME].strip()
    phone = re.sub(r"[^0-9+]", "", to_storable_text(contact.phone_number))[:_LONGEST_PHONE]
    return {"phone": phone, "name": name, "user_id": contact.user_id}


def clean_file_name(name: str) -> str:
    """No path, no hidden signs, limited length."""
    last = re.split(r"[/\\]", clean_text(name))[-1].strip(" .")
    safe = _UNSAFE.sub("_", last)
    stem, dot, extension = safe.rpartition(".")
    if not stem or len(extension) > _LONGEST_EXTENSION:
        return safe[:LONGEST_NAME].rstrip()
    return stem[: LONGEST_NAME - len(extension) - 1].rstrip() + dot + extension


def clean_text(text: str) -> str:
    """One line, without marks that change the direction of writing."""
    line = " ".join(to_storable_text(text).split())
    return "".join(sign for sign in line if not unicodedata.category(sign).startswith("C"))

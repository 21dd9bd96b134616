"""Performs effects of kind `telegram`: each message at most once, to known chats.

The outbox would rather repeat a message, and tells nobody its number.
"""

import asyncio
from typing import Any, Final

from orchestrator.domain.chat_messages import (
    ChatFile,
    ChatMessage,
    ChatMessenger,
    ChatRemoval,
    ChatText,
    KnownPeople,
    MessageDoubtful,
    MessageRefused,
    Rows,
)
from orchestrator.domain.file_path import parse_path
from orchestrator.gate.call.effect import BeforeImage, Call
from orchestrator.gate.call.gate_deps import PolicySource
from orchestrator.gate.call.kinds import telegram_methods
from orchestrator.gate.call.kinds.telegram import find_file_place
from orchestrator.gate.call.ports import CallResult, Reconciled, Rejected, Succeeded, Unknown
from orchestrator.performers.files.folder import FileContent, FileRefused, Folder
from orchestrator.performers.files.performer import DIGEST, SIZE, SeenFiles
from orchestrator.performers.former_files import LoadBlob, load_no_blob
from state.canonical import hash_text
from state.journal.blobs import get_blob_prefix, unpack_file

MAX_PHOTO: Final = 10 * 1024 * 1024
MAX_DOCUMENT: Final = 50 * 1024 * 1024
NAME: Final = "name"


class TelegramPerformer:
    portal = ""
    is_application = True

    def __init__(
        self,
        messenger: ChatMessenger,
        people: KnownPeople,
        policies: PolicySource,
        folder: Folder | None = None,
        load_blob: LoadBlob = load_no_blob,
    ) -> None:
        self._messenger = messenger
        self._people = people
        self._policies = policies
        self._folder, self._load_blob = folder, load_blob
        self._seen = SeenFiles()
        self._titles: dict[int, str] = {}

    async def execute(self, call: Call) -> CallResult:
        chat = int(call.params["chat_id"])
        try:
            message = await self._build_message(call)
        except FileRefused as refused:
            return Rejected(code=refused.code, detail=str(refused), sent=False)
        result = await self._messenger.deliver(message, lambda: self._is_known(chat))
        match result:
            case MessageRefused():
                return Rejected(code=result.code, detail=result.detail, sent=result.sent, free_at=result.free_at)
            case MessageDoubtful():
                return Unknown(detail=result.detail)
        return Succeeded(
            result={"chat_id": chat, "message_id": result.message_id},
            entity="message",
            note="the message showed this text already" if result.is_unchanged else "",
        )

    async def read_before(self, call: Call) -> BeforeImage | Rejected:
        """Name of the chat, size and checksum of the file; rejected for an unknown chat."""
        chat = int(call.params["chat_id"])
        if not self._is_known(chat):
            return Rejected(
                code="telegram-chat-unknown", detail=f"{chat} is neither a person with access nor listed in telegram_chats", sent=False
            )
        images: dict[str, dict[str, Any] | None] = {f"chat:{chat}": {NAME: await self._find_name(chat)}}
        if (place := find_file_place(call)) is not None and not _is_planned(call):
            try:
                file = await self._load_file(call)
            except FileRefused as refused:
                return Rejected(code=refused.code, detail=str(refused), sent=False)
            self._seen.record(call, file.digest)
            images[place] = {SIZE: len(file.data), DIGEST: file.digest}
        return images

    async def reconcile(self, call: Call, before: BeforeImage) -> Reconciled:
        """Always unclear: a bot cannot read its messages."""
        del call, before
        return Reconciled(verdict="unclear", detail="Telegram does not tell whether a message was sent; look into the chat")

    def _is_known(self, chat: int) -> bool:
        return chat in self._policies.now().telegram_chats or self._people.find_present_name(chat) is not None

    async def _find_name(self, chat: int) -> str:
        name = self._people.find_present_name(chat)
        if name:
            return name
        if not self._titles.get(chat):
            self._titles[chat] = await self._messenger.find_title(chat)
        return self._titles[chat]

    async def _load_file(self, call: Call) -> FileContent:
        limit = MAX_PHOTO if call.method == telegram_methods.SEND_PHOTO else MAX_DOCUMENT
        content = await (self._load_kept(call, limit) if telegram_methods.FILE in call.params else self._read_folder(call, limit))
        if not content.data:
            raise FileRefused("telegram-file-empty", "Telegram takes no empty files")
        return content

    async def _load_kept(self, call: Call, limit: int) -> FileContent:
        """Its checksum is that with which the call was decided."""
        file_params = call.params[telegram_methods.FILE]
        digest, prefix = str(file_params.get("digest") or ""), get_blob_prefix(str(file_params.get("run") or ""))
        text = await self._load_blob(digest) if digest and prefix else None
        if text is None or not text.startswith(prefix) or await asyncio.to_thread(hash_text, text) != digest:
            raise FileRefused("telegram-file-gone", "the run does not keep this file, or not any more")
        data = await asyncio.to_thread(unpack_file, text)
        if len(data) > limit:
            raise FileRefused("file-too-large", f"the file has more than {limit} bytes")
        return FileContent(data=data)

    async def _read_folder(self, call: Call, limit: int) -> FileContent:
        if self._folder is None:
            raise FileRefused("telegram-no-folder", "no folder of files is set (FILES_DIR)")
        parts = parse_path(str(call.params["path"]))
        content = await asyncio.to_thread(self._folder.read, parts, limit=limit)
        if content is None:
            raise FileRefused("file-missing", "there is no such file")
        return content

    async def _build_message(self, call: Call) -> ChatMessage:
        chat, params = int(call.params["chat_id"]), call.params
        if call.method == telegram_methods.REMOVE:
            return ChatRemoval(chat=chat, message_id=params["message_id"])
        buttons: Rows = tuple(tuple((str(one["text"]), str(one["url"])) for one in row) for row in params.get("inline_keyboard", ()))
        if find_file_place(call) is None:
            return ChatText(chat=chat, text=params["text"], buttons=buttons, message_id=params.get("message_id"))
        file = await self._load_file(call)
        if file.digest != self._seen.take(call):
            raise FileRefused("file-changed", "the file was changed in the meantime")
        return ChatFile(
            chat=chat,
            kind="photo" if call.method == telegram_methods.SEND_PHOTO else "document",
            name=params[telegram_methods.FILE]["name"] if telegram_methods.FILE in params else parse_path(str(params["path"]))[-1],
            content=file.data,
            caption=params.get("caption", ""),
            buttons=buttons,
        )


def _is_planned(call: Call) -> bool:
    """Only a real run fetches such a file."""
    file_params = call.params.get(telegram_methods.FILE)
    return file_params is not None and not file_params.get("digest")

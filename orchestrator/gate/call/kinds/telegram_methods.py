import unicodedata
from collections.abc import Mapping
from typing import Annotated, Final, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, StrictInt, StrictStr, model_validator

from orchestrator.domain.address import Address, is_chat
from orchestrator.domain.card_view import count_units
from orchestrator.domain.file_path import format_path
from orchestrator.gate.call.kinds.file_methods import KindParams
from orchestrator.gate.call.kinds.method import KindMethod, build_kind_method

KIND: Final = "telegram"
MAX_TEXT: Final = 4096
"""In UTF-16 units."""
MAX_CAPTION: Final = 1024
"""Under a photo or document, in UTF-16 units."""
MAX_LABEL: Final = 64
MAX_NAME: Final = 255
MAX_URL: Final = 2048
_FARTHEST: Final = 2**52


def _parse_chat(value: object) -> object:
    """A number, digits or the key of a person or group; any other value stays."""
    if not isinstance(value, str):
        return value
    chat = value.strip()
    digits = Address.parse(chat).chat if is_chat(chat) and not Address.parse(chat).thread else chat
    return int(digits) if digits.isascii() and digits.removeprefix("-").isdecimal() and len(digits) <= len(str(_FARTHEST)) + 1 else value


def _check_chat(chat: int) -> int:
    if not 0 < abs(chat) < _FARTHEST:
        msg = "give the number of a chat, or the key of a person"
        raise ValueError(msg)
    return chat


def _check_words(text: str) -> str:
    if not any(unicodedata.category(char)[0] not in "CZM" for char in text):
        msg = "it is empty"
        raise ValueError(msg)
    return _check_sendable(text)


def _check_sendable(text: str) -> str:
    if "\0" in text or any(unicodedata.category(char) == "Cs" for char in text):
        msg = "it contains a character that cannot be sent"
        raise ValueError(msg)
    return text


def _check_text(text: str) -> str:
    if count_units(text) > MAX_TEXT:
        msg = f"a message has at most {MAX_TEXT} characters, this text has {count_units(text)}; split it"
        raise ValueError(msg)
    return _check_words(text)


def _check_caption(text: str) -> str:
    if count_units(text) > MAX_CAPTION:
        msg = (
            f"the text under a file has at most {MAX_CAPTION} characters, this one has {count_units(text)}; send it as a message of its own"
        )
        raise ValueError(msg)
    return _check_sendable(text)


def _check_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host, parts = None, urlsplit("")
    if parts.scheme not in {"http", "https"} or not host or parts.username is not None or not url.isascii() or not url.isprintable():
        msg = "give an address such as https://example.com/page, in ASCII, without a name before the host"
        raise ValueError(msg)
    if " " in url or "\\" in url:
        msg = "an address contains no spaces and backslashes"
        raise ValueError(msg)
    return url


Chat = Annotated[StrictInt, BeforeValidator(_parse_chat), AfterValidator(_check_chat)]
MessageId = Annotated[StrictInt, Field(gt=0, lt=2**31)]
Text = Annotated[StrictStr, AfterValidator(_check_text)]
Caption = Annotated[StrictStr, AfterValidator(_check_caption)]
FilePath = Annotated[StrictStr, AfterValidator(format_path)]


class Button(KindParams):
    """It opens a web page. Buttons that answer a run belong to its questions."""

    text: Annotated[StrictStr, Field(max_length=MAX_LABEL), AfterValidator(_check_words)]
    url: Annotated[StrictStr, Field(max_length=MAX_URL), AfterValidator(_check_url)]


Keyboard = Annotated[tuple[Annotated[tuple[Button, ...], Field(min_length=1, max_length=8)], ...], Field(max_length=20)]


class ToChat(KindParams):
    """The policy lists groups and outsiders; people who use the bot are known."""

    chat_id: Chat


class SendText(ToChat):
    text: Text
    inline_keyboard: Keyboard = ()


class RunFile(KindParams):
    """Its content cannot change: `digest` is the checksum of its blob."""

    digest: Annotated[StrictStr, Field(pattern=r"^([0-9a-f]{64})?$")] = ""
    """Empty in a plan, for which nothing is fetched; such a file is never sent."""
    run: Annotated[StrictStr, Field(max_length=MAX_NAME)] = ""
    """The run whose blob it is. The run itself says so, whatever its engine gives."""
    name: Annotated[StrictStr, Field(min_length=1, max_length=MAX_NAME), AfterValidator(_check_words)]
    host: Annotated[StrictStr, Field(max_length=MAX_NAME)] = ""
    """The host from which it was fetched; empty for a file that a person sent."""


class SendFile(ToChat):
    path: FilePath = ""
    file: RunFile | None = None
    caption: Caption = ""
    inline_keyboard: Keyboard = ()

    @model_validator(mode="after")
    def _check_one_file(self) -> Self:
        if bool(self.path) == (self.file is not None):
            msg = "exactly one of path and file is needed"
            raise ValueError(msg)
        return self


class EditText(SendText):
    """`message_id` was the result of the effect that sent the message."""

    message_id: MessageId


class RemoveMessage(ToChat):
    message_id: MessageId


FILE: Final = "file"
SEND_PHOTO, SEND_DOCUMENT = "telegram.send_photo", "telegram.send_document"
EDIT, REMOVE = "telegram.edit_message", "telegram.delete_message"
METHODS: Final[Mapping[str, KindMethod]] = {
    method.spec.name: method
    for method in (
        build_kind_method("telegram.send_message", "N", "action", SendText, entity="message"),
        build_kind_method(SEND_PHOTO, "N", "action", SendFile, entity="message"),
        build_kind_method(SEND_DOCUMENT, "N", "action", SendFile, entity="message"),
        build_kind_method(EDIT, "N", "action", EditText, entity="message"),
        build_kind_method(REMOVE, "D", "delete", RemoveMessage, entity="message"),
    )
}

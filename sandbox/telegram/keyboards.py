"""Reads and checks `reply_markup` as strictly as Telegram does: the fields of a button and the lengths of its values."""

from collections.abc import Iterator
from typing import Any

from sandbox.telegram.text import is_empty
from sandbox.telegram.wire import JsonObject, bad_request

STYLES = frozenset({"danger", "success", "primary"})
_ACTIONS = (
    "callback_data", "url", "copy_text", "web_app", "disabled", "login_url", "switch_inline_query",
    "switch_inline_query_current_chat", "switch_inline_query_chosen_chat",
)  # fmt: skip
_DATA_LIMIT = 64
_COPY_LIMIT = 256
_BUTTON_LIMIT = 100


def read_markup(markup: Any) -> JsonObject | None:
    """Return the checked `reply_markup` of a call, or None if there is none. Raises `ApiError` 400 for a markup that Telegram refuses."""
    if markup is None:
        return None
    if not isinstance(markup, dict):
        raise bad_request("object expected as reply markup")
    if "inline_keyboard" in markup:
        rows = markup["inline_keyboard"]
        if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
            raise bad_request('field "inline_keyboard" must be an Array of Arrays')
        checked = [[_button(button) for button in row] for row in rows if row]
        if sum(len(row) for row in checked) > _BUTTON_LIMIT:
            raise bad_request("reply markup is too long")
        return {"inline_keyboard": checked} if checked else None
    if any(kind in markup for kind in ("force_reply", "keyboard", "remove_keyboard")):
        return markup
    raise bad_request("can't parse reply keyboard markup JSON object")


def inline_only(markup: JsonObject | None) -> JsonObject | None:
    """Return `markup` if it is an inline keyboard, otherwise None. The Bot API includes only inline keyboards in a Message object."""
    return markup if markup and "inline_keyboard" in markup else None


def buttons_of(message: JsonObject) -> Iterator[JsonObject]:
    """Yield the buttons under a message, row by row."""
    for row in message.get("reply_markup", {}).get("inline_keyboard", []):
        yield from row


def _button(button: Any) -> JsonObject:
    if not isinstance(button, dict) or is_empty(str(button.get("text") or "")):
        raise bad_request('can\'t parse inline keyboard button: field "text" must be of type String and not empty')
    actions = [name for name in _ACTIONS if name in button]
    if not actions:
        raise bad_request("inline keyboard button text buttons are unallowed in the inline keyboard")
    if len(actions) > 1:
        raise bad_request("inline keyboard button must have exactly one action")
    if button.get("style") is not None and button["style"] not in STYLES:
        raise bad_request("can't parse inline keyboard button: invalid button style specified")
    _check_action(button)
    return button


def _check_action(button: JsonObject) -> None:
    if "callback_data" in button:
        size = len(str(button["callback_data"]).encode())
        if not 1 <= size <= _DATA_LIMIT:
            raise bad_request("BUTTON_DATA_INVALID")
    if "copy_text" in button:
        text = (button["copy_text"] or {}).get("text", "")
        if not 1 <= len(text) <= _COPY_LIMIT:
            raise bad_request("BUTTON_COPY_TEXT_INVALID")
    if "url" in button and not str(button["url"]).startswith(("http://", "https://", "tg://")):
        raise bad_request("BUTTON_URL_INVALID")

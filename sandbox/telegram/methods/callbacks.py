"""The method answerCallbackQuery, with which the bot answers a click once and within a time limit."""

from sandbox.telegram.storage import callbacks
from sandbox.telegram.text import utf16_length
from sandbox.telegram.wire import Params, bad_request
from sandbox.telegram.world import World

TOAST_LIMIT = 200
_TOO_OLD = "query is too old and response timeout expired or query ID is invalid"


def answer_callback_query(world: World, params: Params) -> bool:
    """Answer a click and return True: the button stops showing a progress sign, and the answer's text is shown for a moment.

    Raises `ApiError` 400 if the click is unknown, too old, or answered already.
    """
    callback = callbacks.find(world.db, params.text("callback_query_id"))
    if callback is None or callback["answer"] is not None:
        raise bad_request(_TOO_OLD)
    if world.now() - callback["pressed_at"] > world.settings.callback_answer_seconds:
        raise bad_request(_TOO_OLD)
    text = params.text("text")
    if utf16_length(text) > TOAST_LIMIT:
        raise bad_request("MESSAGE_TOO_LONG")
    answer = {"text": text, "show_alert": params.flag("show_alert"), "url": params.text("url"), "at": world.now()}
    callbacks.answer(world.db, callback["id"], answer)
    world.hub.publish("callback", callback["chat_id"], callback_id=callback["id"], user_id=callback["user_id"], **answer)
    return True

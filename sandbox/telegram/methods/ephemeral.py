"""Ephemeral messages, which only one person of a group sees: sending, editing and deleting them (Bot API 10.2, 10.3)."""

from sandbox.telegram.keyboards import inline_only, read_markup
from sandbox.telegram.methods.chats import require_open_chat
from sandbox.telegram.methods.editing import NOT_MODIFIED
from sandbox.telegram.methods.reading import read_text
from sandbox.telegram.storage import callbacks, messages, people
from sandbox.telegram.storage.messages import EPHEMERAL, StoredMessage
from sandbox.telegram.views import show_message
from sandbox.telegram.wire import JsonObject, Params, bad_request
from sandbox.telegram.world import World

_TOO_OLD = "query is too old and response timeout expired or query ID is invalid"


def receiver_of(world: World, chat: JsonObject, params: Params) -> JsonObject:
    """Return the fields that mark a new message as visible to one person only; an empty object if it is for everybody.

    The call may name a click that the message answers. Raises `ApiError` 400 in a private chat, for a person who is not in the group, and
    if that click was made by somebody else, was made in another chat, or is too old.
    """
    given = params.structure("ephemeral_message_parameters")
    if given is None and params.has("receiver_user_id"):
        given = {"receiver_user_id": params.integer("receiver_user_id"), "callback_query_id": params.text("callback_query_id")}
    if given is None:
        return {}
    if not isinstance(given, dict) or not isinstance(given.get("receiver_user_id"), int):
        raise bad_request("can't parse ephemeral message parameters JSON object")
    if chat["type"] == "private":
        raise bad_request("ephemeral messages can be sent only to groups and supergroups")
    person = people.find_person(world.db, given["receiver_user_id"])
    if person is None or person.id not in people.members_of(world.db, chat["id"]):
        raise bad_request("USER_NOT_PARTICIPANT")
    mark: JsonObject = {"receiver": person.user()}
    if press := given.get("callback_query_id"):
        replaced = _pressed(world, chat, person.id, str(press))
        if given.get("replace_callback_query_message"):
            mark["replaces"] = replaced
    return {EPHEMERAL: mark}


def edit_text(world: World, params: Params) -> bool:
    """Change the text and the buttons of an ephemeral message (visible to one person), and return True."""
    message = _own(world, params)
    text, entities = read_text(params)
    return _apply(world, message, params, {"text": text, "entities": entities})


def edit_reply_markup(world: World, params: Params) -> bool:
    """Change only the buttons of an ephemeral message (visible to one person), and return True."""
    return _apply(world, _own(world, params), params, {})


def delete(world: World, params: Params) -> bool:
    """Delete an ephemeral message (visible to one person), and return True."""
    message = _own(world, params)
    messages.mark_deleted(world.db, message.message_id)
    show_message(world, StoredMessage(message.body, deleted=True, reactions=[]))
    return True


def _pressed(world: World, chat: JsonObject, person_id: int, callback_id: str) -> int:
    press = callbacks.find(world.db, callback_id)
    if press is None or press["user_id"] != person_id or press["chat_id"] != chat["id"]:
        raise bad_request(_TOO_OLD)
    if world.now() - press["pressed_at"] > world.settings.callback_answer_seconds:
        raise bad_request(_TOO_OLD)
    return int(press["message_id"])


def _own(world: World, params: Params) -> StoredMessage:
    chat = require_open_chat(world, params)
    found = messages.find(world.db, chat["id"], params.integer("ephemeral_message_id"))
    mark = found.body.get(EPHEMERAL) if found and not found.deleted else None
    if found is None or mark is None or mark["receiver"]["id"] != params.integer("receiver_user_id"):
        raise bad_request("message to edit not found")
    return found


def _apply(world: World, message: StoredMessage, params: Params, content: JsonObject) -> bool:
    keyboard = inline_only(read_markup(params.structure("reply_markup")))
    changed = {**message.body, **content, "reply_markup": keyboard}
    changed = {name: value for name, value in changed.items() if value not in (None, [], "")}
    if changed == message.body:
        raise bad_request(NOT_MODIFIED)
    messages.replace(world.db, changed)
    show_message(world, StoredMessage(changed, deleted=False, reactions=[]))
    return True

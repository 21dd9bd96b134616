"""The methods getChat and getChatMember, and functions that return the chat, topic or message that a call names.

Such a function raises the Bot API's error if there is no such chat, topic or message.
"""

from sandbox.telegram.storage import messages, people, standings
from sandbox.telegram.storage.messages import StoredMessage
from sandbox.telegram.wire import ApiError, JsonObject, Params, bad_request
from sandbox.telegram.world import World


def require_chat(world: World, params: Params) -> JsonObject:
    """Return the Chat object for the parameter `chat_id`.

    Raises `ApiError` if there is no such chat, if the bot was removed from it, or if the group became a supergroup.
    """
    given = params.text("chat_id")
    if not given:
        raise bad_request("chat_id is empty")
    chat = people.find_chat(world.db, int(given)) if given.lstrip("-").isdigit() else None
    if chat is None:
        raise bad_request("chat not found")
    match standings.state_of(world.db, chat["id"]):
        case "kicked":
            raise ApiError(403, f"Forbidden: bot was kicked from the {chat['type']} chat")
        case "left":
            raise ApiError(403, f"Forbidden: bot is not a member of the {chat['type']} chat")
        case "migrated":
            moved = standings.moved_to(world.db, chat["id"]) or 0
            raise ApiError(400, "Bad Request: group chat was upgraded to a supergroup chat", migrate_to_chat_id=moved)
        case _:
            return chat


def require_open_chat(world: World, params: Params) -> JsonObject:
    """Return the Chat object for the parameter `chat_id`, if the bot may write there.

    Raises `ApiError` as `require_chat` does, and 403 if the person blocked the bot or never started it.
    """
    chat = require_chat(world, params)
    match standings.state_of(world.db, chat["id"]):
        case "blocked":
            raise ApiError(403, "Forbidden: bot was blocked by the user")
        case "unstarted":
            raise ApiError(403, "Forbidden: bot can't initiate conversation with a user")
        case "deactivated":
            raise ApiError(403, "Forbidden: user is deactivated")
        case _:
            return chat


def require_thread(world: World, chat: JsonObject, params: Params) -> JsonObject:
    """Return the fields that place a message in the topic `message_thread_id`; an empty object if the call names no topic.

    Raises `ApiError` 400 if the group has no such topic.
    """
    thread = params.integer("message_thread_id")
    if not thread:
        return {}
    if chat["type"] == "private":
        return {"message_thread_id": thread}
    if standings.find_topic(world.db, chat["id"], thread) is None:
        raise bad_request("message thread not found")
    return {"message_thread_id": thread, "is_topic_message": True}


def require_message(world: World, params: Params, doing: str) -> StoredMessage:
    """Return the message that the call names by chat id and message id.

    Raises `ApiError` 400 "message to … not found"; `doing` is the word in place of the dots, such as "edit".
    """
    chat = require_open_chat(world, params)
    found = messages.find(world.db, chat["id"], params.integer("message_id"))
    if found is None or found.deleted or messages.EPHEMERAL in found.body:
        raise bad_request(f"message to {doing} not found")
    return found


def get_chat(world: World, params: Params) -> JsonObject:
    """Return the Bot API's ChatFullInfo object for a chat, with its required fields."""
    chat = require_chat(world, params)
    return {**chat, "accent_color_id": 0, "max_reaction_count": 1, "accepted_gift_types": _NO_GIFTS}


def get_chat_member(world: World, params: Params) -> JsonObject:
    """Return the Bot API's ChatMember object, which says whether a person is in a chat."""
    chat = require_chat(world, params)
    person = people.find_person(world.db, params.integer("user_id"))
    if person is None:
        raise ApiError(400, "Bad Request: user not found")
    inside = person.id in people.members_of(world.db, chat["id"])
    return {"status": "member" if inside else "left", "user": person.user()}


_NO_GIFTS = {
    "unlimited_gifts": False,
    "limited_gifts": False,
    "unique_gifts": False,
    "premium_subscription": False,
    "gifts_from_channels": False,
}

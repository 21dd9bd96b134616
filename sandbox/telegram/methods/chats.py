"""Finding the chat and the message that a call names, with the Bot API's sentences when there is none."""

from sandbox.telegram.storage import messages, people
from sandbox.telegram.storage.messages import StoredMessage
from sandbox.telegram.wire import ApiError, JsonObject, Params, bad_request
from sandbox.telegram.world import World


def require_chat(world: World, params: Params) -> JsonObject:
    """Give the Chat that `chat_id` names; raise `ApiError` 400 when the bot cannot know it."""
    given = params.text("chat_id")
    if not given:
        raise bad_request("chat_id is empty")
    chat = people.find_chat(world.db, int(given)) if given.lstrip("-").isdigit() else None
    if chat is None:
        raise bad_request("chat not found")
    return chat


def require_message(world: World, params: Params, doing: str) -> StoredMessage:
    """Give the message that the call names; raise `ApiError` 400 "message to … not found"."""
    chat = require_chat(world, params)
    found = messages.find(world.db, chat["id"], params.integer("message_id"))
    if found is None or found.deleted:
        raise bad_request(f"message to {doing} not found")
    return found


def get_chat(world: World, params: Params) -> JsonObject:
    """Give the ChatFullInfo of a chat, with the fields that are required there."""
    chat = require_chat(world, params)
    return {**chat, "accent_color_id": 0, "max_reaction_count": 1, "accepted_gift_types": _NO_GIFTS}


def get_chat_member(world: World, params: Params) -> JsonObject:
    """Tell whether a person sits in a chat."""
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

"""The methods sendChatAction and sendMessageDraft, which show for a short time that the bot is working. They create no message."""

from sandbox.telegram import text as texts
from sandbox.telegram.methods.chats import require_open_chat, require_thread
from sandbox.telegram.views import draft_view
from sandbox.telegram.wire import Params, bad_request
from sandbox.telegram.world import ACTION_SECONDS, DRAFT_SECONDS, Draft, World

_ACTIONS = frozenset({
    "typing", "upload_photo", "record_video", "upload_video", "record_voice", "upload_voice", "upload_document",
    "choose_sticker", "find_location", "record_video_note", "upload_video_note",
})  # fmt: skip


def send_chat_action(world: World, params: Params) -> bool:
    """Show an action of the bot, such as "typing…", for five seconds or until its next message, and return True."""
    chat = require_open_chat(world, params)
    require_thread(world, chat, params)
    action = params.text("action")
    if action not in _ACTIONS:
        raise bad_request("wrong parameter action in request")
    world.actions[chat["id"]] = (action, world.now() + ACTION_SECONDS)
    world.hub.publish("action", chat["id"], action=action, seconds=ACTION_SECONDS)
    return True


def send_message_draft(world: World, params: Params) -> bool:
    """Show a draft (an unfinished answer) in a private chat, and return True. Raises `ApiError` 400 for other chats.

    A draft that the person has stopped is accepted, but not shown again.
    """
    chat = require_open_chat(world, params)
    if chat["type"] != "private":
        raise bad_request("TEXTDRAFT_PEER_INVALID")
    draft_id = params.integer("draft_id")
    if draft_id == 0:
        raise bad_request("RANDOM_ID_INVALID")
    text, entities = texts.formatted_text(params.text("text"), params.text("parse_mode"), params.structure("entities"))
    texts.require_length(text, texts.MESSAGE_LIMIT, "message is too long")
    if world.stopped.get(chat["id"]) == draft_id:
        return True
    expires = world.now() + DRAFT_SECONDS
    draft = Draft(draft_id, text, entities, params.flag("can_stop"), expires, keep_on_stop=params.flag("keep_on_stop"))
    world.drafts[chat["id"]] = draft
    world.hub.publish("draft", chat["id"], draft=draft_view(chat["id"], draft), seconds=DRAFT_SECONDS)
    return True

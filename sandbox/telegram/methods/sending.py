"""The methods with which the bot sends messages (sendMessage, sendDocument, sendPhoto, sendVoice), and getFile."""

from sandbox.telegram import attachments
from sandbox.telegram.clock import unix
from sandbox.telegram.keyboards import inline_only, read_markup
from sandbox.telegram.methods.chats import require_open_chat, require_thread
from sandbox.telegram.methods.ephemeral import receiver_of
from sandbox.telegram.methods.reading import read_caption, read_photo, read_text, stored_file
from sandbox.telegram.storage import files, messages
from sandbox.telegram.storage.messages import EPHEMERAL, StoredMessage, over_the_wire
from sandbox.telegram.storage.people import BOT
from sandbox.telegram.views import show_message
from sandbox.telegram.wire import JsonObject, Params, bad_request
from sandbox.telegram.world import World


def send_message(world: World, params: Params) -> JsonObject:
    """Send a text and return its Message object.

    Raises `ApiError` 400 for an empty or too long text, an unknown chat, and invalid entities or buttons.
    """
    chat = require_open_chat(world, params)
    text, entities = read_text(params)
    content: JsonObject = {"text": text, **({"entities": entities} if entities else {})}
    return _put(world, chat, params, content)


def send_document(world: World, params: Params) -> JsonObject:
    """Send a file of at most 50 MB, given as an upload or as the file_id of a stored file, and return its Message object."""
    chat = require_open_chat(world, params)
    stored = stored_file(world, params.file("document"))
    return _put(world, chat, params, {"document": attachments.document(stored), **read_caption(params)})


def send_photo(world: World, params: Params) -> JsonObject:
    """Send a PNG or JPEG and return its Message object. Raises `ApiError` 400 IMAGE_PROCESS_FAILED for other content."""
    chat = require_open_chat(world, params)
    return _put(world, chat, params, {"photo": read_photo(world, params.file("photo")), **read_caption(params)})


def send_voice(world: World, params: Params) -> JsonObject:
    """Send a voice message, given as an upload or as the file_id of a stored file, and return its Message object."""
    chat = require_open_chat(world, params)
    stored = stored_file(world, params.file("voice"))
    return _put(world, chat, params, {"voice": attachments.voice(stored, params.integer("duration")), **read_caption(params)})


def get_file(world: World, params: Params) -> JsonObject:
    """Return the path from which a file can be downloaded for an hour.

    Raises `ApiError` 400 for an unknown file and for one above 20 MB.
    """
    stored = files.find(world.db, params.text("file_id"))
    if stored is None:
        raise bad_request("wrong file_id or the file is temporarily unavailable")
    if stored["size"] > world.settings.download_limit:
        raise bad_request("file is too big")
    files.open_link(world.db, stored["path"], until=world.now() + world.settings.file_link_seconds)
    return {
        "file_id": stored["file_id"],
        "file_unique_id": stored["file_id"][3:19],
        "file_size": stored["size"],
        "file_path": stored["path"],
    }


def _put(world: World, chat: JsonObject, params: Params, content: JsonObject) -> JsonObject:
    markup = read_markup(params.structure("reply_markup"))
    receiver = receiver_of(world, chat, params)
    body: JsonObject = {"from": BOT, "chat": chat, "date": unix(world.clock()), **require_thread(world, chat, params), **content}
    replied = _replied(world, chat["id"], params)
    if replied is not None:
        body["reply_to_message"] = replied
    if keyboard := inline_only(markup):
        body["reply_markup"] = keyboard
    stored = messages.insert(world.db, {**body, **_client_only(markup), **receiver})
    if EPHEMERAL not in stored:
        for shown in (world.drafts, world.stopped, world.actions):
            shown.pop(chat["id"], None)
    show_message(world, StoredMessage(stored, deleted=False, reactions=[]))
    return over_the_wire(stored)


def _client_only(markup: JsonObject | None) -> JsonObject:
    """Return the fields of a prompt to reply (ForceReply), which clients show but the Bot API does not return in a Message object."""
    if not markup or not markup.get("force_reply"):
        return {}
    return {"force_reply": {"placeholder": markup.get("input_field_placeholder", "")}}


def _replied(world: World, chat_id: int, params: Params) -> JsonObject | None:
    reply = params.structure("reply_parameters") or {}
    if not isinstance(reply, dict):
        raise bad_request("can't parse reply parameters JSON object")
    wanted = reply.get("message_id") or params.integer("reply_to_message_id")
    if not wanted:
        return None
    found = messages.find(world.db, chat_id, int(wanted))
    if found is not None and not found.deleted and EPHEMERAL not in found.body:
        return without_reply(found.body)
    if reply.get("allow_sending_without_reply") or params.flag("allow_sending_without_reply"):
        return None
    raise bad_request("message to be replied not found")


def without_reply(body: JsonObject) -> JsonObject:
    """Return a Message object as it is included in another message as the one replied to: without its own `reply_to_message`."""
    return {name: value for name, value in over_the_wire(body).items() if name != "reply_to_message"}

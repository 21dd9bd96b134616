"""sendMessage, sendDocument, sendPhoto, sendChatAction, sendMessageDraft: what the bot puts into a chat."""

from sandbox.telegram import text as texts
from sandbox.telegram.clock import unix
from sandbox.telegram.images import picture_size
from sandbox.telegram.keyboards import inline_only, read_markup
from sandbox.telegram.methods.chats import require_chat
from sandbox.telegram.storage import files, messages
from sandbox.telegram.storage.messages import StoredMessage
from sandbox.telegram.storage.people import BOT
from sandbox.telegram.views import draft_view, show_message
from sandbox.telegram.wire import ApiError, JsonObject, Params, Upload, bad_request
from sandbox.telegram.world import ACTION_SECONDS, DRAFT_SECONDS, Draft, World

_UPLOAD_LIMIT = 50 * 1024 * 1024
_ACTIONS = frozenset({
    "typing", "upload_photo", "record_video", "upload_video", "record_voice", "upload_voice", "upload_document",
    "choose_sticker", "find_location", "record_video_note", "upload_video_note",
})  # fmt: skip


def send_message(world: World, params: Params) -> JsonObject:
    """Send a text; raise `ApiError` 400 for an empty or long one, an unknown chat, unreadable entities or buttons."""
    chat = require_chat(world, params)
    text, entities = read_text(params)
    content: JsonObject = {"text": text, **({"entities": entities} if entities else {})}
    return _put(world, chat, params, content)


def read_text(params: Params) -> tuple[str, list[JsonObject]]:
    """Read `text` with its entities within the limits of a message."""
    text, entities = texts.formatted_text(params.text("text"), params.text("parse_mode"), params.structure("entities"))
    if not text:
        raise bad_request("message text is empty")
    texts.require_length(text, texts.MESSAGE_LIMIT, "message is too long")
    return text, entities


def read_caption(params: Params) -> JsonObject:
    """Read `caption` with its entities within the limits of a caption."""
    caption, entities = texts.formatted_text(params.text("caption"), params.text("parse_mode"), params.structure("caption_entities"))
    texts.require_length(caption, texts.CAPTION_LIMIT, "message caption is too long")
    content: JsonObject = {"caption": caption} if caption else {}
    return {**content, **({"caption_entities": entities} if entities else {})}


def send_document(world: World, params: Params) -> JsonObject:
    """Send a file of at most 50 MB, uploaded or by file_id."""
    chat = require_chat(world, params)
    stored = _stored_file(world, params.file("document"))
    document = {
        "file_id": stored["file_id"],
        "file_unique_id": stored["file_id"][3:19],
        "file_name": stored["name"],
        "mime_type": stored["mime"],
        "file_size": stored["size"],
    }
    return _put(world, chat, params, {"document": document, **read_caption(params)})


def send_photo(world: World, params: Params) -> JsonObject:
    """Send a PNG or JPEG; raise `ApiError` 400 IMAGE_PROCESS_FAILED for anything else."""
    chat = require_chat(world, params)
    given = params.file("photo")
    stored = _stored_file(world, given)
    size = picture_size((world.files_dir / stored["path"]).read_bytes())
    if size is None:
        raise bad_request("IMAGE_PROCESS_FAILED")
    photo = {
        "file_id": stored["file_id"],
        "file_unique_id": stored["file_id"][3:19],
        "width": size[0],
        "height": size[1],
        "file_size": stored["size"],
    }
    return _put(world, chat, params, {"photo": [photo], **read_caption(params)})


def get_file(world: World, params: Params) -> JsonObject:
    """Give the path under which a file can be fetched."""
    stored = files.find(world.db, params.text("file_id"))
    if stored is None:
        raise bad_request("wrong file_id or the file is temporarily unavailable")
    return {
        "file_id": stored["file_id"],
        "file_unique_id": stored["file_id"][3:19],
        "file_size": stored["size"],
        "file_path": stored["path"],
    }


def send_chat_action(world: World, params: Params) -> bool:
    """Show "typing…" for five seconds or until the bot's next message."""
    chat = require_chat(world, params)
    action = params.text("action")
    if action not in _ACTIONS:
        raise bad_request("wrong parameter action in request")
    world.actions[chat["id"]] = (action, world.now() + ACTION_SECONDS)
    world.hub.publish("action", chat["id"], action=action, seconds=ACTION_SECONDS)
    return True


def send_message_draft(world: World, params: Params) -> bool:
    """Stream a preview of an answer into a private chat; raise `ApiError` 400 elsewhere."""
    chat = require_chat(world, params)
    if chat["type"] != "private":
        raise bad_request("TEXTDRAFT_PEER_INVALID")
    draft_id = params.integer("draft_id")
    if draft_id == 0:
        raise bad_request("RANDOM_ID_INVALID")
    text, entities = texts.formatted_text(params.text("text"), params.text("parse_mode"), params.structure("entities"))
    texts.require_length(text, texts.MESSAGE_LIMIT, "message is too long")
    draft = Draft(draft_id, text, entities, params.flag("can_stop"), world.now() + DRAFT_SECONDS)
    world.drafts[chat["id"]] = draft
    world.hub.publish("draft", chat["id"], draft=draft_view(chat["id"], draft), seconds=DRAFT_SECONDS)
    return True


def _put(world: World, chat: JsonObject, params: Params, content: JsonObject) -> JsonObject:
    markup = read_markup(params.structure("reply_markup"))
    body: JsonObject = {"from": BOT, "chat": chat, "date": unix(world.clock()), **content}
    thread = params.integer("message_thread_id")
    if thread:
        body["message_thread_id"] = thread
    replied = _replied(world, chat["id"], params)
    if replied is not None:
        body["reply_to_message"] = replied
    if keyboard := inline_only(markup):
        body["reply_markup"] = keyboard
    stored = messages.insert(world.db, {**body, **_client_only(markup)})
    world.drafts.pop(chat["id"], None)
    world.actions.pop(chat["id"], None)
    show_message(world, StoredMessage(stored, deleted=False, reactions=[]))
    return {name: value for name, value in stored.items() if name != "force_reply"}


def _client_only(markup: JsonObject | None) -> JsonObject:
    """Give what the person's application shows and the Message object does not repeat."""
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
    if found is not None and not found.deleted:
        return without_reply(found.body)
    if reply.get("allow_sending_without_reply") or params.flag("allow_sending_without_reply"):
        return None
    raise bad_request("message to be replied not found")


def without_reply(body: JsonObject) -> JsonObject:
    """Give a message as it appears inside another one: never with a reply of its own."""
    return {name: value for name, value in body.items() if name not in {"reply_to_message", "force_reply"}}


def _stored_file(world: World, given: Upload | str) -> JsonObject:
    if isinstance(given, Upload):
        if len(given.content) > _UPLOAD_LIMIT:
            raise ApiError(413, "Request Entity Too Large")
        if not given.content:
            raise bad_request("file must be non-empty")
        return files.store(world.db, world.files_dir, given)
    found = files.find(world.db, given)
    if found is None:
        raise bad_request("wrong file identifier/HTTP URL specified")
    return found

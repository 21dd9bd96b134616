"""Reads the content of a message (text, caption, file) from the parameters of a call, and checks the limits of the Bot API."""

from sandbox.telegram import attachments
from sandbox.telegram import text as texts
from sandbox.telegram.storage import files
from sandbox.telegram.wire import ApiError, JsonObject, Params, Upload, bad_request
from sandbox.telegram.world import World

_UPLOAD_LIMIT = 50 * 1024 * 1024
_PHOTO_LIMIT = 10 * 1024 * 1024
_MOST_SIDES = 10_000
"""Pixels of a photo's width and height together."""
_LARGEST_RATIO = 20


def read_text(params: Params) -> tuple[str, list[JsonObject]]:
    """Return the parameter `text` and its entities. Raises `ApiError` 400 if the text is empty or too long for a message."""
    text, entities = texts.formatted_text(params.text("text"), params.text("parse_mode"), params.structure("entities"))
    if texts.is_empty(text):
        raise bad_request("message text is empty")
    texts.require_length(text, texts.MESSAGE_LIMIT, "message is too long")
    return text, entities


def read_caption(params: Params) -> JsonObject:
    """Return the fields `caption` and `caption_entities` of a message. Raises `ApiError` 400 if the caption is too long."""
    caption, entities = texts.formatted_text(params.text("caption"), params.text("parse_mode"), params.structure("caption_entities"))
    texts.require_length(caption, texts.CAPTION_LIMIT, "message caption is too long")
    content: JsonObject = {"caption": caption} if caption else {}
    return {**content, **({"caption_entities": entities} if entities else {})}


def read_photo(world: World, given: Upload | str) -> list[JsonObject]:
    """Return the sizes of a PNG or JPEG. Raises `ApiError` 400 for other content, and for a photo beyond the limits of the Bot API."""
    stored = stored_file(world, given)
    sizes = attachments.photo_sizes(world, stored)
    if sizes is None:
        raise bad_request("IMAGE_PROCESS_FAILED")
    if stored["size"] > _PHOTO_LIMIT:
        raise bad_request("file is too big for a photo")
    width, height = sizes[-1]["width"], sizes[-1]["height"]
    if width + height > _MOST_SIDES or max(width, height) > _LARGEST_RATIO * min(width, height):
        raise bad_request("PHOTO_INVALID_DIMENSIONS")
    return sizes


def stored_file(world: World, given: Upload | str) -> JsonObject:
    """Return the stored file for an upload of at most 50 MB, which is stored first, or for the file_id of an earlier file."""
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

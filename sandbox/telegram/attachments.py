"""Builds the Bot API objects for stored files: Document, PhotoSize, Voice."""

from sandbox.telegram.images import picture_size
from sandbox.telegram.wire import JsonObject
from sandbox.telegram.world import World


def document(stored: JsonObject) -> JsonObject:
    """Return the Bot API's Document object for a stored file."""
    return {**_file(stored), "file_name": stored["name"], "mime_type": stored["mime"]}


def voice(stored: JsonObject, duration: int) -> JsonObject:
    """Return the Bot API's Voice object for a stored file; `duration` is in seconds."""
    return {**_file(stored), "duration": duration, "mime_type": stored["mime"]}


def photo(world: World, stored: JsonObject) -> list[JsonObject] | None:
    """Return a stored picture as the Bot API's list of PhotoSize objects, with one element; None if the file is no PNG or JPEG."""
    size = picture_size((world.files_dir / stored["path"]).read_bytes())
    return None if size is None else [{**_file(stored), "width": size[0], "height": size[1]}]


def _file(stored: JsonObject) -> JsonObject:
    return {"file_id": stored["file_id"], "file_unique_id": stored["file_id"][3:19], "file_size": stored["size"]}

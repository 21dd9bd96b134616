"""A stored file as the Bot API shows it in a message: Document, PhotoSize, Voice."""

from sandbox.telegram.images import picture_size
from sandbox.telegram.wire import JsonObject
from sandbox.telegram.world import World


def document(stored: JsonObject) -> JsonObject:
    """Return the Document object of a file."""
    return {**_file(stored), "file_name": stored["name"], "mime_type": stored["mime"]}


def voice(stored: JsonObject, duration: int) -> JsonObject:
    """Return the Voice object of a file."""
    return {**_file(stored), "duration": duration, "mime_type": stored["mime"]}


def photo(world: World, stored: JsonObject) -> list[JsonObject] | None:
    """Return the sizes of a picture; None if the file is no PNG or JPEG."""
    size = picture_size((world.files_dir / stored["path"]).read_bytes())
    return None if size is None else [{**_file(stored), "width": size[0], "height": size[1]}]


def _file(stored: JsonObject) -> JsonObject:
    return {"file_id": stored["file_id"], "file_unique_id": stored["file_id"][3:19], "file_size": stored["size"]}

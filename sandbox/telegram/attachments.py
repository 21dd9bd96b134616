"""Builds the Bot API objects for stored files: Document, PhotoSize, Voice."""

from sandbox.telegram.images import draw_thumbnail, fit_into, picture_size
from sandbox.telegram.storage import files
from sandbox.telegram.wire import JsonObject, Upload
from sandbox.telegram.world import World

_THUMBNAIL = 90
"""Pixels of the longer side of a photo's smallest size."""


def document(stored: JsonObject) -> JsonObject:
    """Return the Bot API's Document object for a stored file."""
    return {**_file(stored), "file_name": stored["name"], "mime_type": stored["mime"]}


def voice(stored: JsonObject, duration: int) -> JsonObject:
    """Return the Bot API's Voice object for a stored file; `duration` is in seconds."""
    return {**_file(stored), "duration": duration, "mime_type": stored["mime"]}


def photo_sizes(world: World, stored: JsonObject) -> list[JsonObject] | None:
    """Return a stored picture as the Bot API's list of PhotoSize objects, the largest last; None if the file is no PNG or JPEG.

    A picture of more than 90 pixels has a thumbnail with a file_id of its own. Telegram's are smaller copies; here it is a grey area.
    """
    size = picture_size((world.files_dir / stored["path"]).read_bytes())
    if size is None:
        return None
    sizes = [{**_file(stored), "width": size[0], "height": size[1]}]
    small = fit_into(size, _THUMBNAIL)
    if small != size:
        upload = Upload("thumbnail.png", "image/png", draw_thumbnail(*small, mark=stored["file_id"]))
        thumbnail = files.store(world.db, world.files_dir, upload, place="thumbnails")
        sizes.insert(0, {**_file(thumbnail), "width": small[0], "height": small[1]})
    return sizes


def _file(stored: JsonObject) -> JsonObject:
    return {"file_id": stored["file_id"], "file_unique_id": stored["file_id"][3:19], "file_size": stored["size"]}

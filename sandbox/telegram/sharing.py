"""Sends files, contacts and forwarded messages as simulated people: voice messages, documents, pictures, forwarded correspondence."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from sandbox.telegram import attachments
from sandbox.telegram.acting import Around, CannotActError, Sent, plain, put, send
from sandbox.telegram.speech import seconds_of, voice_file
from sandbox.telegram.storage import files
from sandbox.telegram.storage.people import Person
from sandbox.telegram.wire import JsonObject, Upload
from sandbox.telegram.world import World


def send_file(
    world: World, person: Person, kind: Literal["document", "photo"], around: Around, *, upload: Upload, caption: str
) -> tuple[Sent, JsonObject]:
    """Send a document or picture as `person`. Return the ids of the message and its update, and the stored file.

    Raises `CannotActError` for a picture that is no PNG or JPEG.
    """
    stored = files.store(world.db, world.files_dir, upload, place=f"{kind}s")
    content: JsonObject | None = {"document": attachments.document(stored)}
    if kind == "photo":
        sizes = attachments.photo_sizes(world, stored)
        content = {"photo": sizes} if sizes else None
    if content is None:
        raise CannotActError(f"{upload.name} is no PNG or JPEG")
    return put(world, person, around, {**content, **plain("caption", caption.strip())}), stored


def share_contact(world: World, person: Person, around: Around, contact: JsonObject) -> Sent:
    """Send a Contact object as `person`, and return the ids of the message and its update."""
    return put(world, person, around, {"contact": contact})


def say_aloud(
    world: World, person: Person, around: Around, *, words: str, recording: bytes | None, seconds: int | None
) -> tuple[Sent, JsonObject]:
    """Send a voice message as `person`. Return the ids of the message and its update, and the stored file.

    Without a recording, the file is silent and contains `words` as a tag, for the fake transcription service.
    """
    lasting = seconds_of(words) if seconds is None else seconds
    upload = Upload("voice.oga", "audio/ogg", recording or voice_file(words, lasting))
    stored = files.store(world.db, world.files_dir, upload, place="voice")
    return put(world, person, around, {"voice": attachments.voice(stored, lasting)}), stored


def forward(world: World, person: Person, around: Around, texts: Sequence[str], *, comment: str, comment_first: bool) -> list[Sent]:
    """Forward messages with these `texts` as `person`, with a comment of that person; return the ids of each message and its update.

    All messages arrive at once, as from a Telegram client. With `comment_first` the comment comes before the forwarded messages, as
    Telegram's clients send it; otherwise after them, as a comment that a person writes by hand.
    """
    if around.origin is None and around.forward_from is None:
        raise CannotActError("a forwarded message comes from somebody: forward_from or origin")
    bare = replace(around, origin=None, forward_from=None)
    own = send(world, person, comment, bare) if comment and comment_first else []
    others = [sent for text in texts for sent in send(world, person, text, around)]
    late = send(world, person, comment, bare) if comment and not comment_first else []
    return own + others + late

"""Large values that are stored apart from their events in the table of blobs, each under the SHA-256 of its text (its digest).

Equal answers of the portal share one blob. A blob of a run belongs to that run alone, because its text begins with the run's key: so it can
be removed with the run, and nothing else misses it.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from typing import Any, Final

from state import canonical
from state.journal.run_index import PREFIX

BLOB_TYPES: Final = ("CallSucceeded", "NodeDone", "RunStarted", "RunWoken")
"""The types of the events that may speak of blobs."""
_END: Final = "\n"


def get_blob_prefix(key: str) -> str:
    """Return how the texts of the blobs of the run `key` begin; "" for a session, whose blobs may be shared."""
    return f"{key}{_END}" if key.startswith(PREFIX) else ""


def parse_blob(text: str) -> Any:
    """Return the value that the text of a blob holds. Raises ValueError if it holds none."""
    return canonical.loads(text.partition(_END)[2] if text.startswith(PREFIX) else text)


def pack_file(key: str, content: bytes) -> tuple[str, str]:
    """Return (digest, text) of the blob that holds a file which a person sent to the run `key`; `unpack_file` gives the content again.

    The file is base64 in JSON, because a blob is hashed, moved between databases and read as text everywhere. It is a third larger for
    that, but backups, retention and the erasure of a person know it without a table of its own.
    """
    text = f'{get_blob_prefix(key)}"{b64encode(content).decode("ascii")}"'
    return canonical.hash_text(text), text


def unpack_file(text: str) -> bytes:
    """Return the content of the file that the text of a blob holds. Raises ValueError if it holds none."""
    value = parse_blob(text)
    if not isinstance(value, str):
        raise ValueError("the blob holds no file")  # noqa: TRY004 - as for every other text that is no file
    return b64decode(value, validate=True)


def list_digests(kind: str, data: Mapping[str, Any]) -> Iterator[str]:
    """Yield the digests of the blobs that an event speaks of, given by its type and data."""
    match kind:
        case "CallSucceeded":
            found = [data.get("result_blob")]
        case "NodeDone":
            found = [data.get("output_blob")]
        case "RunStarted":
            found = [data.get("digest"), *(one.get("digest") for one in data.get("pinned") or ())]
        case "RunWoken":
            found = [_find_sent(data.get("value"))]
        case _:
            found = []
    return (str(one) for one in found if one)


def _find_sent(answer: object) -> object:
    """Return the digest of the photo or document that a person sent as an answer, None if they sent none."""
    sent = answer.get("sent") if isinstance(answer, Mapping) else None
    return sent.get("digest") if isinstance(sent, Mapping) else None

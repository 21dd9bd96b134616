"""Large values, stored under the SHA-256 of their text (the digest).

A run's text begins with the run's key, so that it can be removed with the run.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from typing import Any, Final

from state import canonical
from state.journal.run_index import PREFIX

BLOB_TYPES: Final = ("BulkFrozen", "CallSucceeded", "NodeDone", "RunStarted", "RunWoken")
_END: Final = "\n"
_OF_FILES: Final = "bulk_changes"


def get_blob_prefix(key: str) -> str:
    """Return "" for a session, whose blobs may be shared."""
    return f"{key}{_END}" if key.startswith(PREFIX) else ""


def parse_blob(text: str) -> Any:
    """Raises ValueError if the text holds no value."""
    return canonical.loads(text.partition(_END)[2] if text.startswith(PREFIX) else text)


def pack_file(key: str, content: bytes) -> tuple[str, str]:
    """Return (digest, text)."""
    text = f'{get_blob_prefix(key)}"{b64encode(content).decode("ascii")}"'
    return canonical.hash_text(text), text


def unpack_file(text: str) -> bytes:
    """Raises ValueError if the text holds no file."""
    value = parse_blob(text)
    if not isinstance(value, str):
        raise ValueError("the blob holds no file")  # noqa: TRY004 - as for every other text that is no file
    return b64decode(value, validate=True)


def is_personal_text(started: Mapping[str, Any]) -> bool:
    """Whether the text of a run is what one person asked for, such as a frozen file of changes, and no definition of the company."""
    return bool(started.get("engine") == _OF_FILES)


def list_digests(kind: str, data: Mapping[str, Any]) -> Iterator[str]:
    match kind:
        case "BulkFrozen":
            digests = [data.get("file")]
        case "CallSucceeded":
            digests = [data.get("result_blob"), *_list_kept(data.get("files") or {})]
        case "NodeDone":
            digests = [data.get("output_blob")]
        case "RunStarted":
            own = "" if is_personal_text(data) and not data.get("actor") else data.get("digest")  # it went with who asked for it
            digests = [own, *(one.get("digest") for one in data.get("pinned") or ())]
        case "RunWoken":
            digests = [_find_sent(data.get("value"))]
        case _:
            digests = []
    return (str(one) for one in digests if one)


def _list_kept(files: Mapping[str, Any]) -> Iterator[object]:
    return (file.get("digest") for record in files.values() for field in record.values() for file in field["was"])


def _find_sent(answer: object) -> object:
    sent = answer.get("sent") if isinstance(answer, Mapping) else None
    return sent.get("digest") if isinstance(sent, Mapping) else None

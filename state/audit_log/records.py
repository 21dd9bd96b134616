"""Maps users to log files, and encodes and parses audit records; opens no file."""

import logging
from collections.abc import Iterator, Mapping
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import orjson
from pydantic import BaseModel

from state.canonical import to_storable_text

log = logging.getLogger(__name__)

CHAIN = "chain"
LONGEST_NAME = 120

_MANY_USERS = "http:"
"""Begins the keys of tokens of the HTTP API, each with several users."""

_SAFE = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789-_")


def find_log_user(person: str, session: str) -> str:
    """Return the user whose log tells of `person` in `session`: for a token the user that it named (S004-48)."""
    return session if person.startswith(_MANY_USERS) and session.startswith(f"{person}:") else person


def find_log_owner(user: str) -> str:
    """Return the person with whom the log is erased: "http:site" for "http:site:42"."""
    return ":".join(user.split(":", 2)[:2]) if user.startswith(_MANY_USERS) else user


@lru_cache(maxsize=1024)  # pathlib takes as long as the write itself, and this is called for every record
def build_log_path(folder: Path, user: str) -> Path:
    """Return a path inside `folder` that is different for each user, whatever the id contains."""
    return folder / f"{build_file_name(user)}.jsonl"


def build_file_name(user: str) -> str:
    """Escape bytes as %xx; the end of a long name is replaced by a hash."""
    raw = user.encode("utf-8", "surrogatepass")
    name = "".join(chr(byte) if byte in _SAFE else f"%{byte:02x}" for byte in raw)
    if len(name) > LONGEST_NAME:
        # "%%" never occurs in an escaped name, so the two kinds of name cannot collide.
        return f"{name[:40]}%%{sha256(raw).hexdigest()}"
    return name or "%"


def parse_user(log_file: Path) -> str:
    """Return the name itself if it is hashed or not UTF-8."""
    name = log_file.name.removesuffix(".jsonl")
    if name == "%":
        return ""
    try:
        return name if "%%" in name else unquote_to_bytes(name).decode()
    except UnicodeDecodeError:
        return name


def is_log_of(file_name: str, person: str) -> bool:
    """Return True also for a hashed name that may be the person's."""
    stem = file_name.removesuffix(".jsonl")
    if stem == build_file_name(person):
        return True
    users = build_file_name(f"{person}:")
    known, _, is_hashed = stem.partition("%%")
    return person.startswith(_MANY_USERS) and (known.startswith(users) or (bool(is_hashed) and users.startswith(known)))


def parse_record(line: bytes) -> Iterator[dict[str, Any]]:
    """Yield nothing for an empty or incomplete line."""
    if not line.strip():
        return
    try:
        yield orjson.loads(line)
    except orjson.JSONDecodeError:
        # This is the end of a line that a crashed writer left, or the beginning of one that another process is writing right now.
        log.warning("a torn record was left out", extra={"action": "interaction_log.torn"})


def encode_record(record: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(record, default=_render_foreign, option=orjson.OPT_NON_STR_KEYS)
    except (TypeError, orjson.JSONEncodeError):
        return orjson.dumps(_to_plain(record), option=orjson.OPT_NON_STR_KEYS)


def _render_foreign(value: object) -> object:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return list(value)
    return str(value)


def _to_plain(value: Any) -> Any:
    match value:
        case None | bool() | float():
            return value
        case str():
            return to_storable_text(value)
        case int():
            return value if abs(value) < 1 << 53 else str(value)
        case Mapping():
            return {to_storable_text(str(key)): _to_plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_to_plain(item) for item in value]
        case _:
            return _to_plain(_render_foreign(value))

"""Searches rows and files for a person's key, names and secrets. Changes nothing.

What they said was stored under those secrets only, or in deleted rows.
"""

import gzip
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from state.audit_log.archives import open_archive
from state.audit_log.interaction_log import DamagedArchive, list_logs_of, list_users, read_records
from state.audit_log.records import build_log_path, find_log_owner
from state.sql.person_rows import StoredText

OPS = "ops"
"""Its journal records who was erased, when and by whom."""
_CHUNK = 1 << 22


@dataclass(frozen=True, kw_only=True)
class Trace:
    """`place` is a row or file; `owner` is "" for nobody's."""

    place: str
    owner: str
    text: str


def search_texts(rows: Iterable[StoredText], texts: Sequence[str]) -> Iterator[Trace]:
    """One match for each row and text."""
    patterns = _compile(texts)
    for row in rows:
        content = row.text.encode(errors="replace")
        for text, pattern in patterns.items():
            if pattern.search(content):
                yield Trace(place=row.place, owner=row.owner, text=text)


def search_logs(folder: Path, texts: Sequence[str]) -> Iterator[Trace]:
    owners = {build_log_path(folder, user).name: find_log_owner(user) for user in list_users(folder)}
    for path in sorted(folder.rglob("*")):
        owner = next((user for name, user in owners.items() if path.name.lstrip(".").startswith(name)), "")
        for text in search_file(path, texts):
            yield Trace(place=path.name, owner=owner, text=text)


def search_file(path: Path, texts: Sequence[str]) -> list[str]:
    """Unpacks .gz; a damaged one is read as far as possible."""
    if not path.is_file():
        return []
    left = _compile(texts)
    overlap = max((len(text.encode()) + 1 for text in texts), default=1)
    present: list[str] = []
    try:
        with open_archive(path) as file:
            tail = b""
            while left and (chunk := file.read(_CHUNK)):
                window = tail + chunk
                hits = [text for text, pattern in left.items() if pattern.search(window)]
                present += hits
                for text in hits:
                    del left[text]
                tail = window[-overlap:]
    except (EOFError, zlib.error, gzip.BadGzipFile):
        pass
    return present


def _compile(texts: Sequence[str]) -> dict[str, re.Pattern[bytes]]:
    """Whole words: tg:7 is not in tg:71."""
    return {text: re.compile(rb"(?<![0-9A-Za-z_])%b(?![0-9A-Za-z_])" % re.escape(text.encode())) for text in texts}


def collect_log_names(folder: Path, person: str) -> set[str]:
    names = set()
    for user in list_logs_of(folder, person):
        for record in read_records(folder, user):
            for who in (record.get("requested_by"), record.get("decided_by")):
                if isinstance(who, dict) and who.get("key") == person:
                    names.add(str(who.get("name", "")))
    return names - {""}


def find_log_names(folder: Path, person: str) -> set[str]:
    """Empty if an archive of the log is damaged."""
    try:
        return collect_log_names(folder, person)
    except DamagedArchive:
        return set()

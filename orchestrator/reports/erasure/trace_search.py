"""Looks for what a person wrote in every row of the database and every byte of the files: proves an erasure. Ring 2; changes nothing."""

import gzip
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, cast

from state.audit_log.interaction_log import build_log_path, list_users, read_records
from state.sql.erasure import StoredText

LONGEST, SHORTEST, SHORTEST_NAME = 48, 10, 3
AT_MOST = 400
"""Looking for more takes longer and proves no more: each text of the person gives at least one while there is room."""
_CHUNK = 1 << 22
# Where JSON would write something else than the character itself.
_JSON_ESCAPED = re.compile(r'["\\\x00-\x1f\x7f-\x9f\u2028\u2029]+')
# Names of methods and fields, which a model's answer is full of, and ids of calls, which stand in what a button said: they stay in clear.
_IDENTIFIER = re.compile(r"[a-z]+(?:[._][a-z0-9]+)+|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*|[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4,12}){4}", re.ASCII)
_KEY = re.compile(r"[a-z]+:-?[0-9]+", re.ASCII)
_STRUCTURE = frozenset(
    {
        *("method", "slot", "code", "field", "kind", "entity", "verb", "url", "status", "key", "role", "locale", "time_zone", "mode"),
        *("currency", "target", "targets", "timer", "nonce", "at", "answers", "via", "origin", "type", "event", "handler"),
        "person",
    }
)


@dataclass
class Probes:
    """What to look for. Filled text by text; long texts give several pieces."""

    names: set[str] = field(default_factory=set)
    pieces: dict[str, None] = field(default_factory=dict)

    def add_name(self, name: str) -> None:
        """A name is looked for as a whole; a key that stands where nobody knew the name stays, as everywhere."""
        if len(name) >= SHORTEST_NAME and not _KEY.fullmatch(name):
            self.names.add(name)

    def add_texts(self, value: Any) -> None:
        """Every text in a JSON-like value, but those that are the program's own words."""
        match value:
            case str():
                self.pieces.update(dict.fromkeys(split_pieces(value)))
            case Mapping():
                for key, item in value.items():
                    of_a_button = key == "words" and isinstance(item, list)  # the program's own, not the person's
                    if key not in _STRUCTURE and not key.endswith("_id") and not of_a_button:
                        self.add_texts(item)
            case list() | tuple():
                for item in value:
                    self.add_texts(item)

    @property
    def all(self) -> list[str]:
        """What is looked for: the names and as many pieces as `AT_MOST` leaves, spread over the whole."""
        room = max(0, AT_MOST - len(self.names))
        pieces = list(self.pieces)
        step = max(1, -(-len(pieces) // room)) if room else 1
        return [*sorted(self.names), *(pieces[::step] if room else [])]


def split_pieces(text: str) -> list[str]:
    """Stretches of `text` that stand in any file as they are."""
    parts = (part.strip() for part in _JSON_ESCAPED.split(text))
    return [part[:LONGEST] for part in parts if len(part) >= SHORTEST and not _IDENTIFIER.fullmatch(part) and not _KEY.fullmatch(part)]


@dataclass(frozen=True, kw_only=True)
class Trace:
    """A place that holds a probe: `owner` is whose record it is, "" for nobody's, and `probe` what was found."""

    place: str
    owner: str
    probe: str


def search_texts(texts: Iterable[StoredText], probes: Sequence[str]) -> Iterator[Trace]:
    """The rows of the database that hold one."""
    for stored in texts:
        for probe in probes:
            if probe in stored.text:
                yield Trace(place=stored.place, owner=stored.owner, probe=probe)


def search_logs(folder: Path, probes: Sequence[str]) -> Iterator[Trace]:
    """The files beside the audit logs and themselves, archives included, that hold one; their owner is whose log it is."""
    owners = {build_log_path(folder, user).name: user for user in list_users(folder)}
    for path in sorted(folder.rglob("*")):
        owner = next((user for name, user in owners.items() if path.name.lstrip(".").startswith(name)), "")
        for probe in search_file(path, probes):
            yield Trace(place=path.name, owner=owner, probe=probe)


def search_file(path: Path, probes: Sequence[str]) -> list[str]:
    """The probes that stand in a file's bytes, packed ones unpacked first; one that is damaged is read as far as it goes."""
    if not path.is_file():
        return []
    left = {probe: probe.encode() for probe in probes}
    overlap = max((len(raw) for raw in left.values()), default=1)
    found: list[str] = []
    try:
        with _open(path) as file:
            tail = b""
            while left and (chunk := file.read(_CHUNK)):
                window = tail + chunk
                hits = [probe for probe, raw in left.items() if raw in window]
                found += hits
                for probe in hits:
                    del left[probe]
                tail = window[-overlap:]
    except (EOFError, zlib.error, gzip.BadGzipFile):
        pass
    return found


def collect_log_names(folder: Path, person: str) -> set[str]:
    """The names that the person's own log gives them."""
    names = set()
    if folder.is_dir() and person in list_users(folder):
        for record in read_records(folder, person):
            for who in (record.get("requested_by"), record.get("decided_by")):
                if isinstance(who, dict) and who.get("key") == person:
                    names.add(str(who.get("name", "")))
    return names - {""}


def _open(path: Path) -> BinaryIO:
    return cast("BinaryIO", gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")

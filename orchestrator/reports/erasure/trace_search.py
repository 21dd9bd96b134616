"""Searches every row of the database and every byte of the files for a person's texts, to prove an erasure. Changes nothing.

Who is erased again has no texts left that could be searched for; then it tells what the earlier erasure left unproven.
"""

import gzip
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, cast

from orchestrator.reports.reading.journal_reader import read_stream
from state.audit_log.interaction_log import DamagedArchive, build_log_path, list_logs_of, list_users, read_records
from state.audit_log.records import find_log_owner
from state.events.people import PersonErased
from state.journal.encryption import DamagedCiphertext
from state.journal.store import StoreUnwritable
from state.sql.person_rows import StoredText
from state.sql.store import SqlStore

OPS = "ops"
"""The session whose journal records who was erased, when and by whom."""
_NOTHING = "nothing of the person is known any more to search for"
LONGEST, SHORTEST, SHORTEST_NAME = 48, 10, 3
AT_MOST = 400
"""The most texts to search for: more would take longer and prove no more. If there are more, they are picked evenly."""
_CHUNK = 1 << 22
# JSON writes these characters in another form.
_JSON_ESCAPED = re.compile(r'["\\\x00-\x1f\x7f-\x9f\u2028\u2029]+')
# Names of methods and fields, of which model answers are full, and ids of calls, which stand in button texts, stay unencrypted.
_IDENTIFIER = re.compile(r"[a-z]+(?:[._][a-z0-9]+)+|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*|[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4,12}){4}", re.ASCII)
_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4,12}){4}"
# Keys of people, records and runs, and ids of blocks, which are made of a record and a run.
_KEY = re.compile(rf"[a-z]+:-?[0-9]+(?::{_UUID})?|run:{_UUID}(?:/.*)?", re.ASCII)
_KEPT_FIELDS = frozenset({"ts", "fingerprint", "essence", "nonce", "slot", "cause", "code"})
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z", re.ASCII)
_DAY = len("2026-11-25")
_STRUCTURE = frozenset(
    {
        *("method", "slot", "code", "field", "kind", "entity", "verb", "url", "status", "key", "role", "locale", "time_zone", "mode"),
        *("currency", "target", "targets", "timer", "nonce", "at", "answers", "via", "origin", "type", "event", "handler"),
        "person",
        # of runs: what they execute, and where their values come from
        *("engine", "definition", "parent", "parent_node", "run", "origins", "digest"),
        # of schedules: their moments, and when they come
        *("due", "next", "cron", "zone"),
    }
)


@dataclass
class Probes:
    """The texts of one person to search for after an erasure. A long text is split into several pieces."""

    names: set[str] = field(default_factory=set)
    pieces: dict[str, None] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)
    """Texts that stay in the records by design, such as the id of a card; they are not searched for."""

    def add_name(self, name: str) -> None:
        """Add a name, which is searched for as a whole. Very short names are ignored.

        A key such as "tg:7" in place of a name is ignored, too, because an erasure does not remove people's keys from the records.
        """
        if len(name) >= SHORTEST_NAME and not _KEY.fullmatch(name):
            self.names.add(name)

    def add_texts(self, value: Any) -> None:
        """Add every text in a JSON-like value that may come from a person.

        Ids, fields with fixed values (such as `method`) and button labels are left out, because the program wrote them.
        """
        match value:
            case str():
                self.pieces.update(dict.fromkeys(split_pieces(value)))
            case Mapping():
                for key, item in value.items():
                    of_a_button = key == "words" and isinstance(item, list)  # words on a button are the program's, not the person's
                    if key not in _STRUCTURE and not key.endswith("_id") and not of_a_button:
                        self.add_texts(item)
            case list() | tuple():
                for item in value:
                    self.add_texts(item)

    def add_kept(self, name: str, value: Any) -> None:
        """Note the value of the field `name` that an erasure leaves in the records: an id, hash, code, time, or the node of a run.

        An answer for the HTTP API repeats ids, hashes and times of cards, and the result of a run the codes of what was refused; without
        this they would count as texts of the person. So would a day that a person named, if a time that stays begins with it.
        """
        if not isinstance(value, str):
            return
        if name in _KEPT_FIELDS or name.endswith(("_id", "_at")):
            self.kept.add(value[:LONGEST])
        if name == "node":  # a definition of the company's names it, and so are its parts
            self.kept.update((value[:LONGEST], *value.split("/")))
        if _TIME.fullmatch(value):
            self.kept.update((value[:LONGEST], value[:_DAY]))

    @property
    def all(self) -> list[str]:
        """The list of texts to search for: all names, then pieces of texts, at most `AT_MOST` in all (pieces are picked evenly)."""
        room = max(0, AT_MOST - len(self.names))
        pieces = [piece for piece in self.pieces if piece not in self.kept]
        step = max(1, -(-len(pieces) // room)) if room else 1
        return [*sorted(self.names), *(pieces[::step] if room else [])]


def split_pieces(text: str) -> list[str]:
    """Split `text` at the characters that JSON escapes, and return the pieces worth searching for, each cut to `LONGEST` characters.

    A piece without such characters has the same bytes in every file. Short pieces, identifiers and keys are left out.
    """
    parts = (part.strip() for part in _JSON_ESCAPED.split(text))
    return [part[:LONGEST] for part in parts if len(part) >= SHORTEST and not _IDENTIFIER.fullmatch(part) and not _KEY.fullmatch(part)]


@dataclass(frozen=True, kw_only=True)
class Trace:
    """One match: the place (a row or a file) where `probe` was found; `owner` is the person to whom the place belongs, "" for nobody."""

    place: str
    owner: str
    probe: str


def search_texts(texts: Iterable[StoredText], probes: Sequence[str]) -> Iterator[Trace]:
    """Yield one match for each database row and each probe that the row contains."""
    for stored in texts:
        for probe in probes:
            if probe in stored.text:
                yield Trace(place=stored.place, owner=stored.owner, probe=probe)


def search_logs(folder: Path, probes: Sequence[str]) -> Iterator[Trace]:
    """Yield one match for each log file, archives included, and each probe it contains; its owner is the person whose log it is."""
    owners = {build_log_path(folder, user).name: find_log_owner(user) for user in list_users(folder)}
    for path in sorted(folder.rglob("*")):
        owner = next((user for name, user in owners.items() if path.name.lstrip(".").startswith(name)), "")
        for probe in search_file(path, probes):
            yield Trace(place=path.name, owner=owner, probe=probe)


def search_file(path: Path, probes: Sequence[str]) -> list[str]:
    """Return the probes that occur in the bytes of a file. A .gz file is unpacked; a damaged one is read as far as possible."""
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
    """Return the names that the records of a person's own audit logs give for this person."""
    names = set()
    for user in list_logs_of(folder, person):
        for record in read_records(folder, user):
            for who in (record.get("requested_by"), record.get("decided_by")):
                if isinstance(who, dict) and who.get("key") == person:
                    names.add(str(who.get("name", "")))
    return names - {""}


def find_log_names(folder: Path, person: str) -> set[str]:
    """Return the names under which a person appears in their own audit log; an empty set if an archive of the log is damaged."""
    try:
        return collect_log_names(folder, person)
    except DamagedArchive:
        return set()


def find_unproven_erasure(store: SqlStore, person: str) -> str:
    """Return why the last erasure of a person that searched for their texts is no proof; "" if it is one, or if nobody was erased.

    A record from before the program counted the searched texts counts as a search if it removed anything.
    """
    try:
        stored = [event for event in read_stream(store, f"session:{OPS}") if event.type == PersonErased.__name__]
    except (DamagedCiphertext, StoreUnwritable):
        return f"{_NOTHING}, and the record of the earlier erasure cannot be read"
    mine = [(event.ts, PersonErased.from_data(event.data)) for event in stored]
    searched = [(ts, said) for ts, said in mine if said.person == person and (said.probes > 0 or (said.probes < 0 and said.removed))]
    erased = [row.erased_at for row in store.open_erasure().list_keys() if row.person == person and row.erased_at]
    if not searched:
        return f"{_NOTHING}, and an earlier erasure was broken off before its search" if erased else ""
    ts, last = searched[-1]
    if max(erased, default="") > ts:
        return f"{_NOTHING}, and the erasure of {max(erased)} was broken off before its search"
    if last.remains:
        return f"{_NOTHING}, and the erasure of {ts} found {last.remains} places that still held their texts: look whether they are gone"
    return f"{_NOTHING}, and the erasure of {ts} could not prove that all is gone" if last.unproven else ""


def _open(path: Path) -> BinaryIO:
    return cast("BinaryIO", gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")

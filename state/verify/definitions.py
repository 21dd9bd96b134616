"""Compares the stored definitions with the journal, and their texts with the digests; people decide which is right."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

import orjson
from sqlalchemy import Table, select

from state.events import codec
from state.events.definitions import DefinitionPublished, DefinitionSaved, DefinitionSwitched
from state.findings import Finding
from state.journal.stream_turn import STREAM, format_writers, parse_writers
from state.model.definitions import Writer
from state.sql.record_index import Ask, decode_texts
from state.sql.tables import definition_history, definition_keys, definition_sources, definition_texts, definitions, events

MAX_NAMED: Final = 20
TRIES: Final = 3
_TYPES: Final = frozenset(one.__name__ for one in (DefinitionSaved, DefinitionPublished, DefinitionSwitched))
_NAMES: Final[Mapping[Table, tuple[str, ...]]] = {
    definition_keys: ("kind", "key", "enabled", "active_version", "last_version", "drafts", "revision"),
    definitions: ("kind", "key", "version", "status", "revision", "digest", "writers", "published_by", "edition", "source"),
    definition_history: ("seq", "kind", "key", "version", "what", "by", "digest"),
}
"""Columns that follow from the readable part of the records."""
_KEYS: Final[Mapping[Table, int]] = {definition_keys: 2, definitions: 3, definition_history: 5}
_TEXTS: Final[Mapping[Table, tuple[str, str]]] = {
    definition_texts: ("document", "definition text"),
    definition_sources: ("text", "definition source"),
}
_Row = dict[str, Any]


@dataclass
class _Expected:
    rows: dict[Table, dict[tuple[Any, ...], _Row]] = field(default_factory=lambda: {table: {} for table in _NAMES})
    digests: dict[Table, set[str]] = field(default_factory=lambda: {table: set() for table in _TEXTS})

    def add_event(self, seq: int, kind: str, data: Mapping[str, Any]) -> None:
        place = str(data["kind"]), str(data["definition"])
        unborn = {"enabled": 1, "active_version": 0, "last_version": 0, "drafts": 0, "revision": 1}
        head = self.rows[definition_keys].setdefault(place, dict(zip(("kind", "key"), place, strict=True)) | unborn)
        if kind == DefinitionSwitched.__name__:
            head |= {"enabled": int(data["enabled"]), "revision": head["revision"] + 1}
            self._add_history(seq, "switched_on" if data["enabled"] else "switched_off", data)
        elif kind == DefinitionSaved.__name__:
            self._save(head, seq, data)
        else:
            self._publish(head, seq, data)

    def _save(self, head: _Row, seq: int, data: Mapping[str, Any]) -> None:
        place = head["kind"], head["key"], data["version"]
        if place not in self.rows[definitions]:
            head |= {"last_version": data["version"], "drafts": head["drafts"] + 1}
        old = self.rows[definitions].get(place, {"writers": "[]", "status": "draft", "published_by": "", "edition": 0})
        writers = format_writers([*parse_writers(old["writers"]), Writer(key=data["by"], user=data["user"])])
        place_columns = dict(zip(("kind", "key", "version"), place, strict=True))
        source = data.get("source_digest", "")
        columns = {"revision": data["revision"], "digest": data["digest"], "writers": writers, "source": source}
        self.rows[definitions][place] = {**old, **place_columns, **columns}
        self.digests[definition_texts].add(data["digest"])
        self.digests[definition_sources] |= {source} - {""}
        self._add_history(seq, data["what"], data)

    def _publish(self, head: _Row, seq: int, data: Mapping[str, Any]) -> None:
        row = self.rows[definitions][head["kind"], head["key"], data["version"]]
        head["drafts"] -= row["status"] == "draft"
        row |= {"status": "published", "revision": data["revision"], "published_by": data["by"], "edition": data.get("edition", 0)}
        head |= {"active_version": data["version"], "revision": head["revision"] + 1}
        self._add_history(seq, "published", data)
        if data["replaced"]:
            before = self.rows[definitions][head["kind"], head["key"], data["replaced"]]
            before["revision"] += 1
            self._add_history(seq, "deactivated", {**data, "version": data["replaced"], "digest": before["digest"]})

    def _add_history(self, seq: int, what: str, data: Mapping[str, Any]) -> None:
        values = (seq, data["kind"], data["definition"], data["version"], what, data["by"], data["digest"])
        row = dict(zip(_NAMES[definition_history], values, strict=True))
        self.rows[definition_history][values[: _KEYS[definition_history]]] = row


def check_definition_texts(ask: Ask) -> Iterator[Finding]:
    """Memory holds one text at a time."""
    for table, (column, noun) in _TEXTS.items():
        for (digest,) in decode_texts(ask(select(table.c.digest).order_by(table.c.digest))):
            for (content,) in ask(select(table.c[column]).where(table.c.digest == digest)):
                raw = content.encode() if isinstance(content, str) else content
                if not isinstance(raw, bytes) or sha256(raw).hexdigest() != digest:
                    yield Finding(kind="damaged", place=f"{noun} {digest}", why="it is not what its digest says")


def find_definition_differences(ask: Ask) -> list[Finding]:
    """The comparison is repeated if somebody changes a definition meanwhile. Only for an intact chain."""
    findings: list[Finding] = []
    for _ in range(TRIES):
        read = decode_texts(ask(select(events.c.seq, events.c.type, events.c.v, events.c.data).where(events.c.stream == STREAM)))
        findings = _compare(ask, read)
        if not findings or len(ask(select(events.c.seq).where(events.c.stream == STREAM))) == len(read):
            break
    more = len(findings) - MAX_NAMED
    return findings[:MAX_NAMED] + ([_build_finding(definitions, f"{more} more such differences")] if more > 0 else [])


def _compare(ask: Ask, read: Iterable[tuple[Any, ...]]) -> list[Finding]:
    expected = _Expected()
    for seq, kind, version, text in sorted(read):
        if kind in _TYPES:
            try:
                expected.add_event(seq, kind, codec.upcast(kind, version, orjson.loads(text)))
            except (LookupError, ValueError, TypeError) as error:
                why = f"it does not fit the records before it: {error!r}"
                return [Finding(kind="inconsistent", place=STREAM, seq=seq, why=why)]
    findings = [finding for table, rows in expected.rows.items() for finding in _compare_table(ask, table, rows)]
    return [*findings, *(finding for table, digests in expected.digests.items() for finding in _compare_texts(ask, table, digests))]


def _compare_texts(ask: Ask, table: Table, expected: set[str]) -> Iterator[Finding]:
    _, noun = _TEXTS[table]
    stored = {digest for (digest,) in decode_texts(ask(select(table.c.digest)))}
    for digest in sorted(expected - stored):
        yield Finding(kind="missing", place=f"{noun} {digest}", why="it is gone")
    for digest in sorted(stored - expected):
        yield Finding(kind="note", place=f"{noun} {digest}", why="no record speaks of it")


def _compare_table(ask: Ask, table: Table, rows: Mapping[tuple[Any, ...], _Row]) -> Iterator[Finding]:
    names, of_key = _NAMES[table], _KEYS[table]
    stored = {row[:of_key]: row for row in decode_texts(ask(select(*(table.c[name] for name in names))))}
    for key in sorted({*rows, *stored}):
        expected, there = rows.get(key), stored.get(key)
        place = " ".join(str(part) for part in key)
        if expected is None:
            yield _build_finding(table, f"no record bears out the row {place}")
        elif there is None:
            yield _build_finding(table, f"the row {place} is missing")
        else:
            pairs = [(name, value, expected[name]) for name, value in zip(names, there, strict=True) if value != expected[name]]
            wrong = [f"{name} is {value!r}, its records say {right!r}" for name, value, right in pairs]
            if wrong:
                yield _build_finding(table, f"the row {place} is wrong: {'; '.join(wrong)}")


def _build_finding(table: Table, why: str) -> Finding:
    return Finding(kind="inconsistent", place=f"table {table.name}", why=why)

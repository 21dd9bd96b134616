"""Anchors: an anchor is a line of text with the number and hash of the last record of every event stream and audit log at one moment.

It is to be kept where nobody who can write the journal can change it. A hash chain alone does not show that its end was cut off
or that all of it was rewritten, but a comparison with an anchor does.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from state.audit_log.archives import list_logs
from state.audit_log.chain import FIELD
from state.audit_log.interaction_log import DamagedArchive, find_user, read_records
from state.audit_log.log_files import build_lock_path, parse_head
from state.audit_log.records import is_log_of
from state.canonical import dumps, hash_text
from state.clock import format_iso
from state.findings import Finding
from state.journal.store import Store

VERSION = 1
Heads = Mapping[str, tuple[int, str]]


class NoAnchor(ValueError):
    """Raised if a file holds no anchor (a line with the last record of each stream and log), or one that was changed."""


@dataclass(frozen=True, kw_only=True)
class Anchor:
    """The heads of all event streams and audit logs at the time `at`, to compare the journal with later.

    A head is the number and hash of the last record.
    """

    at: str
    streams: Heads
    logs: Heads

    @property
    def digest(self) -> str:
        """The SHA-256 over the time and all heads (last records) of the anchor, in hex."""
        return hash_text(dumps([self.at, self.streams, self.logs]))

    def render_line(self) -> str:
        """Return the anchor, with the heads (last records) of all streams and logs, as one line of JSON."""
        return dumps({"anchor": VERSION, "at": self.at, "digest": self.digest, "streams": self.streams, "logs": self.logs})

    def render_short(self) -> str:
        """Return a line of JSON with only the time and the digest.

        It proves that the line of `render_line`, stored elsewhere, is unchanged.
        """
        return dumps({"anchor": VERSION, "at": self.at, "digest": self.digest})


def take_anchor(store: Store, logs: Path, now: datetime) -> Anchor:
    """Return an anchor: the number and hash of the last record that each stream and log has now.

    Raises StoreUnwritable if the database cannot be read.
    """
    return Anchor(
        at=format_iso(now), streams={stream: (seq, hash_) for stream, seq, hash_ in store.list_heads()}, logs=_read_log_heads(logs)
    )


def read_anchors(text: str) -> list[Anchor]:
    """Return the anchors in `text`, the content of a file with one on each line, in the order of the lines.

    What a syslog wrote before an anchor is skipped. Raises NoAnchor if there is no anchor or one was changed.
    """
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        begin = line.find('{"anchor":')
        if begin >= 0:
            found.append(_parse_anchor(line[begin:], number))
    whole = [anchor for anchor in found if anchor is not None]
    if not whole:
        raise NoAnchor("the file holds no anchor")
    return whole


def group_by_stream(anchors: Sequence[Anchor]) -> dict[str, list[tuple[int, str]]]:
    """Return by stream the heads that the anchors name, each once: number and hash of what was then the last record."""
    found: dict[str, list[tuple[int, str]]] = {}
    for anchor in anchors:
        for stream, head in anchor.streams.items():
            if head not in found.setdefault(stream, []):
                found[stream].append(head)
    return found


def check_logs(anchors: Sequence[Anchor], folder: Path, erased: Mapping[str, str] | None = None) -> Iterator[Finding]:
    """Yield findings for audit logs in `folder` that no longer agree with an anchor, which names the last record of each log at one time.

    A log does not agree if it ends before that record, or has another record with that number. The hash chain within a log is checked
    elsewhere. `erased` maps erased people to the time of their erasure, after which their own log is gone and others' logs are rewritten.
    """
    present = _read_log_heads(folder)
    for name in sorted({name for anchor in anchors for name in anchor.logs}):
        now = present.get(name, (0, ""))
        mine = [(anchor, *anchor.logs[name]) for anchor in anchors if name in anchor.logs]
        hashes = {**_read_hashes(folder, name, {number for _, number, _ in mine}), now[0]: now[1]}
        for anchor, number, hash_ in mine:
            if number <= now[0] and hashes.get(number, hash_) == hash_:  # a record that was removed with its archive cannot be compared
                continue
            excuse = _explain_erasure(folder, name, {person: at for person, at in (erased or {}).items() if at > anchor.at})
            if excuse:
                why = f"{excuse}: it cannot be compared with the anchor of {anchor.at}"
                yield Finding(kind="note", place=name, why=why, file=str(folder / name))
            elif now[0] < number:
                why = f"the log ends at {now[0]}, it was anchored at {number}"
                yield Finding(kind="cut", place=name, seq=now[0] + 1, why=why, file=str(folder / name))
            else:
                why = f"record {number} is not the one that was anchored"
                yield Finding(kind="damaged", place=name, seq=number, why=why, file=str(folder / name))


def _read_hashes(folder: Path, name: str, numbers: Collection[int]) -> dict[int, str]:
    """Return, by number, the hashes of the log's records with the numbers `numbers`, as far as they exist and can be read."""
    found = {}
    with suppress(DamagedArchive, OSError):  # reported by the check of the log itself
        for record in read_records(folder, find_user(folder / name)):
            link = record.get(FIELD)
            if isinstance(link, dict) and link.get("n") in numbers:
                found[int(link["n"])] = str(link.get("hash"))
    return found


def _explain_erasure(folder: Path, name: str, erased: Mapping[str, str]) -> str:
    """Return why the log `name` may differ from its anchor (the last record noted earlier): a person was erased; "" if that is not why.

    The log itself was deleted, if it is the log of an erased person, or it was rewritten without their data. `erased` maps the people
    erased since the anchor was made to the time of their erasure.
    """
    user = find_user(folder / name)
    owner = next((person for person in erased if is_log_of(name, person)), "")
    if owner:
        return f"the log was deleted when its person was erased ({erased[owner]})"
    if not erased:
        return ""
    since = min(erased.values())
    told = (record for record in read_records(folder, user) if record.get("type") == "rewritten")
    return next((f"the log was rewritten ({at}) when somebody was erased" for one in told if (at := str(one["timestamp"])) >= since), "")


def _parse_anchor(text: str, number: int) -> Anchor | None:
    """Return the anchor (last record of each stream and log) in a line of a file; None for a line of `render_short`.

    Raises NoAnchor, naming the line's `number`, if the line is invalid or was changed.
    """
    try:
        held: dict[str, Any] = orjson.loads(text)
        if held["anchor"] > VERSION:
            raise NoAnchor(f"line {number} was written by a newer version of this program")
        if "streams" not in held:
            return None
        anchor = Anchor(at=held["at"], streams=_parse_heads(held["streams"]), logs=_parse_heads(held["logs"]))
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise NoAnchor(f"line {number} is no anchor: {error}") from None
    if anchor.digest != held["digest"]:
        raise NoAnchor(f"line {number} was changed: its digest does not fit")
    return anchor


def _parse_heads(held: Any) -> Heads:
    return {str(name): (int(seq), str(hash_)) for name, (seq, hash_) in held.items()}


def _read_log_heads(folder: Path) -> dict[str, tuple[int, str]]:
    if not folder.is_dir():
        return {}
    found = {}
    for log in list_logs(folder):
        path = build_lock_path(log)
        head = parse_head(path.read_bytes()) if path.exists() else None
        if head is not None:
            found[log.name] = (head.n, head.hash)
    return found
